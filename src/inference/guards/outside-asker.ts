import { type DataFacts, type DataRule, dataBar } from '../../config/data-rules.ts';
import {
  BadAnswer,
  type OutsideCheck,
  type OutsideExchange,
  type OutsideQuestion,
  type OutsideVerdict,
} from '../../guards/outside/outside-check.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { putNewest } from '../../kernel/put-newest.ts';
import { createTurns } from '../../kernel/sharing/turns.ts';
import { webhookHeaders } from '../../kernel/web/webhook-headers.ts';
import type { Authorizer, Transport } from '../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../upstream/transport/whole-answer.ts';
import { dataRefused } from '../models/narrowed.ts';
import { tooLong } from './guard-failures.ts';

/** The caller whose texts a guard reads. */
export interface QuestionOwner {
  tenant: string;
  /** Its data rules. */
  rules: readonly DataRule[];
}

/** Nobody may be asked: the data rules of the caller forbid it, or the texts are too long. */
export interface BarredQuestion {
  barred: Failure;
}

/** Asks the service of one guard for a caller; null: no answer in time that the check can read. Never rejects. */
export type AskOutside = (
  question: OutsideQuestion,
  caller: QuestionOwner,
) => Promise<OutsideVerdict | BarredQuestion | null>;

/** How a service is reached. */
export interface OutsideService {
  check: OutsideCheck;
  deadlineMs: number;
  /** Name of its guard. */
  guard: string;
  /** Facts of the service for data rules; null: no service is asked. */
  facts: DataFacts | null;
  /** Sent with each request. */
  headers: Readonly<Record<string, string>>;
  /** Signs requests as Standard Webhooks does; absent: none is signed. */
  secret?: string | undefined;
  /** Proof of who asks that is no fixed header. */
  authorize?: Authorizer | undefined;
  /** Asks in another way than by a POST. */
  answer?: ((body: JsonValue, deadline: AbortSignal, rules: readonly DataRule[]) => Promise<unknown>) | undefined;
  /** Gets why there is no answer, without texts and secrets, at most once a minute. */
  warn(why: string): void;
}

/** Concurrent questions of a guard. Tenants take turns; what waits beyond its deadline counts as not answered. */
const placesMax = 64;
const waitingMax = 1_024;
const waitingBytesMax = 64 * 1024 * 1024;
/** Requests that one question may need: texts of more than these are not looked at. */
const exchangesMax = 16;
/** Unanswered questions of a tenant in a row after which it waits for a while, and tenants that are remembered for it. */
const failuresMax = 5;
const failedMax = 1_000;
const restMs = 5_000;
/** Accounts whose questions the service failed one after the other, with no answer between, after which nobody asks it. */
const accountsFailedMax = 3;
const failedInARowMs = 30_000;
const warnEveryMs = 60_000;
const answerBytesMax = 4 * 1024 * 1024;

/** The one asker of a guard, over the connections that all upstreams share. Redirects are not followed. */
export function createAsker(transport: Transport, clock: Clock, service: OutsideService): AskOutside {
  const turns = createTurns({ name: 'Questions of a guard', places: placesMax, waitingMax, waitingBytesMax });
  /** By tenant: what one sends may be why its questions fail, and must not keep those of others from the service. */
  const failed = new Map<string, { failures: number; restsUntilMs: number }>();
  const standing = createStanding();
  let warnedMs = Number.NEGATIVE_INFINITY;
  const none = (why: string) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - warnedMs >= warnEveryMs) {
      warnedMs = nowMs;
      service.warn(why);
    }
    return null;
  };
  return async (question, { tenant, rules }) => {
    const bar = service.facts === null ? null : dataBar(rules, service.facts);
    if (bar !== null) return { barred: dataRefused(`guard '${service.guard}'`, [bar]) };
    const nowMs = clock.monotonicMs();
    const state = failed.get(tenant);
    if (standing.rests(nowMs) || (state !== undefined && nowMs < state.restsUntilMs))
      return none('it failed several times and is not asked for a moment');
    // After a rest one question tries; the others go on being refused.
    if (state !== undefined && state.failures >= failuresMax) state.restsUntilMs = nowMs + restMs;
    const deadline = AbortSignal.timeout(service.deadlineMs);
    const bytes = question.texts.reduce((sum, { text }) => sum + 2 * text.length, 0);
    const turn = await turns.take(tenant, deadline, bytes).catch(() => null);
    if (turn === null) return none(`${placesMax} questions were under way until its deadline`);
    const waitedMs = clock.monotonicMs() - nowMs;
    try {
      const exchanges = service.check(question);
      if (exchanges.length > exchangesMax) {
        none(`the texts need more than ${exchangesMax} requests`);
        return { barred: tooLong(service.guard, question.on) };
      }
      const verdicts = await Promise.all(
        exchanges.map((exchange) => answerTo(transport, clock, service, { exchange, deadline, rules })),
      );
      failed.delete(tenant);
      standing.answered();
      return together(verdicts);
    } catch (error) {
      if (error instanceof FailureError && error.failure.kind === 'rule-refused') return { barred: error.failure };
      const failures = (failed.get(tenant)?.failures ?? 0) + 1;
      const restsUntilMs = failures >= failuresMax ? clock.monotonicMs() + restMs : Number.NEGATIVE_INFINITY;
      putNewest(failed, tenant, { failures, restsUntilMs }, failedMax);
      // Questions of others, for which it waited, may be why there was no time left.
      if (isByService(error) && waitedMs < service.deadlineMs / 10) standing.failed(tenant, clock.monotonicMs());
      return none(whyOf(error));
    } finally {
      turn.giveBack();
    }
  };
}

/** The service as all accounts see it. After each rest it takes as many accounts again, so that none decides alone. */
function createStanding() {
  /** When the service failed each of them. */
  const failed = new Map<string, number>();
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  return {
    rests: (nowMs: number) => nowMs < restsUntilMs,
    answered: () => failed.clear(),
    failed(tenant: string, nowMs: number): void {
      for (const [one, ms] of failed) if (ms < nowMs - failedInARowMs) failed.delete(one);
      failed.set(tenant, nowMs);
      if (failed.size < accountsFailedMax) return;
      failed.clear();
      restsUntilMs = nowMs + restMs;
    },
  };
}

class ServerFault extends BadAnswer {}

const serviceFaults: readonly string[] = ['connect', 'connect-timeout', 'dns', 'tls', 'timed-out'];

/** Whether it is the service that fails, whatever it is asked: a reset may be the crash that one odd text causes. */
function isByService(error: unknown): boolean {
  if (error instanceof NoAnswer) return serviceFaults.includes(error.kind);
  return error instanceof ServerFault || error instanceof DOMException;
}

async function answerTo(
  transport: Transport,
  clock: Clock,
  { headers, secret, authorize, deadlineMs, answer }: OutsideService,
  { exchange, deadline, rules }: { exchange: OutsideExchange; deadline: AbortSignal; rules: readonly DataRule[] },
): Promise<OutsideVerdict> {
  const { url, headers: more, body: json, read } = exchange;
  if (answer !== undefined) return read(await Promise.race([answer(json, deadline, rules), lateAt(deadline)]));
  const { origin, pathname, search } = new URL(url);
  const body = JSON.stringify(json);
  const signed =
    secret === undefined ? {} : webhookHeaders({ id: `msg_${randomBase62(24)}`, body }, secret, clock.wallMs());
  const all = { 'content-type': 'application/json', accept: 'application/json', ...headers, ...more, ...signed };
  const { status, bytes } = await wholeAnswer(
    transport,
    { origin, path: `${pathname}${search}`, method: 'POST', headers: Object.entries(all).flat(), body, authorize },
    { connectTimeoutMs: deadlineMs, bytesMax: answerBytesMax, deadline },
  );
  if (status < 200 || status > 299)
    throw new (status < 500 ? BadAnswer : ServerFault)(`it answered with the status ${status}`);
  return read(JSON.parse(bytes.toString('utf8')));
}

/** Only words of ours: those of a SyntaxError may repeat the question. */
function whyOf(error: unknown): string {
  if (error instanceof BadAnswer) return error.message;
  if (error instanceof SyntaxError) return 'its answer is not JSON';
  if (error instanceof NoAnswer) return `no connection or no whole answer (${error.kind})`;
  return error instanceof DOMException ? 'it did not answer before the deadline' : 'the request could not be made';
}

/** Rejects at the deadline. */
function lateAt(deadline: AbortSignal): Promise<never> {
  return new Promise((_, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }));
}

function together(verdicts: readonly OutsideVerdict[]): OutsideVerdict {
  const verdict =
    verdicts.find(({ action: verdict }) => verdict === 'block') ??
    verdicts.find(({ action: verdict }) => verdict !== undefined);
  return {
    findings: verdicts.flatMap(({ findings }) => findings),
    ...(verdict?.action !== undefined && { action: verdict.action }),
    sentences: verdicts.reduce((sum, { sentences = 0 }) => sum + sentences, 0),
  };
}
