import { type Fault, type FaultClass, fault } from '../../formats/neutral/outcome.ts';
import type { Clock } from '../../kernel/clock.ts';
import { isObject, parsedJson } from '../../kernel/json.ts';
import { retryAfterMs } from '../../routing/retry-after.ts';
import type { Transport, UpstreamHeaders } from '../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../upstream/transport/whole-answer.ts';
import { mergeHits, type SearchHit } from './merge-hits.ts';
import type { EngineRequest, EngineSettings, SearchEngine, SearchQuery } from './search-engine.ts';

export interface QueryParts {
  transport: Transport;
  clock: Clock;
  /** Removes known secrets, and what looks like one, from an engine's words. */
  scrub(message: string, known: { secrets: readonly string[]; hosts: readonly string[] }): string;
}

export type EngineOutcome = { class: 'ok'; hits: readonly SearchHit[]; warnings: readonly string[] } | Fault;

/** One query to one engine, once. Never rejects. */
export async function queryEngine(
  parts: QueryParts,
  { driver, settings }: { driver: SearchEngine; settings: EngineSettings },
  query: SearchQuery,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<EngineOutcome> {
  const request = driver.encode(query, settings);
  if ('cannot' in request) return fault('caller_fault', request.cannot, 400);
  const answer = await askEngine(parts.transport, request, timeoutMs, signal);
  if (answer.kind === 'failed') return fault(answer.class, answer.message);
  if (answer.status !== 200) {
    const known = {
      secrets: [settings.apiKey].filter((key) => key !== ''),
      hosts: [request.url.host, request.url.hostname],
    };
    return faultOfAnswer(driver, answer, parts.clock.wallMs(), (message) => parts.scrub(message, known));
  }
  const decoded = driver.decode(parsedJson(answer.bytes.toString('utf8')), query);
  if (decoded === null) return fault('malformed', 'its answer does not follow its API', 200);
  const warnings = decoded.warning === undefined ? [] : [decoded.warning];
  return { class: 'ok', hits: mergeHits(decoded.hits, query, request.skip), warnings };
}

/** Bytes of an error's body that are searched for its message. */
const errorBytesMax = 64 * 1024;

/** Meaning of an answer without success. `clean`: takes secrets and addresses out of the engine's own words. */
function faultOfAnswer(
  engine: SearchEngine,
  answer: Extract<EngineAnswer, { kind: 'answer' }>,
  wallMs: number,
  clean: (message: string) => string,
): Fault {
  const { status, headers, bytes } = answer;
  const text = messageIn(bytes.subarray(0, errorBytesMax).toString('utf8'));
  const known = engine.faultOfStatus?.(status, text) ?? null;
  const words = clean(text);
  const message = known?.message ?? (words === '' ? `answered ${status}` : `answered ${status}: ${words}`);
  return {
    ...fault(known?.class ?? classOfStatus(status), message, status),
    retryAfterMs: status === 429 || status === 503 ? retryAfterMs(headers, wallMs) : null,
  };
}

function classOfStatus(status: number): FaultClass {
  if (status === 401 || status === 403) return 'bad_credential';
  if (status === 402) return 'quota_exhausted';
  if (status === 429) return 'rate_limited';
  if (status === 404 || status === 410) return 'model_unavailable';
  if (status === 451) return 'region_blocked';
  if (status === 408 || status >= 500) return 'transient';
  // Redirects too: an engine that has moved is one whose base_url is wrong.
  return status >= 400 ? 'caller_fault' : 'malformed';
}

/** The words of an error body, in the shapes that engines use; '' for pages and bodies without any. */
function messageIn(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return text.length <= 200 && !text.includes('<') ? text.trim() : '';
  }
  if (!isObject(body)) return '';
  const { error, detail, message } = body;
  const found = [error, detail, message].flatMap((one) => {
    if (typeof one === 'string') return [one];
    if (!isObject(one)) return [];
    return [one.code, one.error, one.detail, one.message].filter((word) => typeof word === 'string');
  });
  return found.join(': ');
}

/** Larger answers of an engine are a fault of it: twenty hits are some 50 KB. */
const answerBytesMax = 4 * 1024 * 1024;
const connectTimeoutMs = 3_000;

type EngineAnswer =
  | { kind: 'answer'; status: number; headers: UpstreamHeaders; bytes: Buffer }
  | { kind: 'failed'; class: FaultClass; message: string };

/** One exchange with an engine; follows no redirect. Never rejects: what does not come in `timeoutMs` is a stall. */
async function askEngine(
  transport: Transport,
  { method, url, headers, body }: EngineRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const failed = (why: FaultClass, message: string) => ({ kind: 'failed', class: why, message }) as const;
  const request = { origin: url.origin, path: url.pathname + url.search, method, body };
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs))]);
  const bounds = { connectTimeoutMs, bytesMax: answerBytesMax, deadline };
  try {
    const answer = await wholeAnswer(transport, { ...request, headers: Object.entries(headers).flat() }, bounds);
    return answer.status === 0 ? failed('transient', 'it gave no answer') : { kind: 'answer', ...answer };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (signal.aborted) return failed('cancelled', 'the caller no longer waits for it');
    switch (error.kind) {
      case 'timed-out':
        return failed('stall_first_token', `timed out after ${Math.round(timeoutMs / 100) / 10} s`);
      case 'too-large':
        return failed('malformed', `its answer is larger than ${answerBytesMax} bytes`);
      case 'connect-timeout':
        return failed('stall_first_token', error.message);
      default:
        return failed(error.kind === 'decode' ? 'malformed' : 'transient', error.message);
    }
  }
}
