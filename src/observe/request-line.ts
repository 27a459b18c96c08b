import { type Log, lineWriter } from './log.ts';

/** What the log says of one finished request. */
export interface LoggedRequest {
  requestId: string;
  account: string;
  keyId: string;
  endpoint: string;
  alias: string;
  /** `provider/model`, or null when none answered. */
  target: string | null;
  status: number;
  /** `ok` or the failure's class. */
  class: string;
  stream: boolean;
  ms: number;
  firstTokenMs: number | null;
  inputTokens: number;
  outputTokens: number;
  /** Who says so: `upstream`, `counted`, `estimated`, or `none` (then it is nothing). */
  usageSource: string;
  /** End-user id of the request. */
  user: string | null;
}

/**
 * Writes one line at `info` a finished request. From a template, since writing an object of these fields as JSON costs
 * 1.2 µs and this 0.15; who asked for what is mostly the same as in the line before, so it is escaped once.
 */
export function requestLog(log: Log): (request: LoggedRequest, attempts: number) => void {
  const write = lineWriter(log, 'request');
  let last: LoggedRequest | null = null;
  let who = '';
  return (request, attempts) => {
    if (last === null || !sameWho(last, request)) {
      last = request;
      who = whoOf(request);
    }
    const { user } = request;
    write(
      `"requestId":"${request.requestId}",${who},"status":${request.status},"class":"${request.class}","attempts":${attempts},"stream":${request.stream},"ms":${request.ms},"firstTokenMs":${request.firstTokenMs},"inputTokens":${request.inputTokens},"outputTokens":${request.outputTokens},"usageSource":"${request.usageSource}"${user === null ? '' : `,"user":${JSON.stringify(user)}`}`,
    );
  };
}

function sameWho(a: LoggedRequest, b: LoggedRequest): boolean {
  return (
    a.keyId === b.keyId &&
    a.alias === b.alias &&
    a.target === b.target &&
    a.endpoint === b.endpoint &&
    a.account === b.account
  );
}

function whoOf({ account, keyId, endpoint, alias, target }: LoggedRequest): string {
  return JSON.stringify({ account, keyId, endpoint, model: alias, target }).slice(1, -1);
}
