import type { Principal } from '../../books/auth/principal.ts';
import type { CacheUse } from '../../books/ledger/settled-request.ts';
import type { Admitted, Claim, Delivered, Reservation } from '../../books/metering/admission.ts';
import type { StreamMark, UpstreamDialect } from '../../formats/dialects/dialect.ts';
import type { ForwardedEndpointId } from '../../formats/dialects/forwarded/endpoint.ts';
import type { GivenId } from '../../formats/dialects/named-objects.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import { sumOf, type Usage, type UsageSource } from '../../formats/neutral/usage.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Trace } from '../../kernel/trace.ts';
import type {
  AttemptRecord,
  HedgeReason,
  McpCallRecord,
  RouteAttempt,
  RouteQuery,
  RouteRecord,
  RoutingWishes,
  Verdict,
} from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { UpstreamUpload } from '../../upstream/transport/upstream-call.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { OnGiven } from './pass-through.ts';
import type { SpineServices } from './services.ts';
import type { Bytes, Client, HeaderList, Sink } from './sink.ts';
import type { AttemptSeen } from './trial.ts';

/** Body of one attempt, and the reader of its answer. */
export interface PreparedBody {
  bytes: Buffer | string;
  /** Sent instead of `bytes`: a body that is never whole in memory, and not JSON. */
  upload?: UpstreamUpload & { contentType: string };
  /** The answer is requested as a stream. */
  streamed: boolean;
  /** Dialect of its errors. */
  upstreamDialect: UpstreamDialect;
  /** Asked for something else than a conversation. */
  endpoint?: 'embeddings' | 'speech' | ForwardedEndpointId;
  /** Path and query below the base URL, where the endpoint's format makes them of more than the model. */
  path?: string;
  /** A header that the endpoint's format wants. */
  header?: readonly [name: string, value: string] | undefined;
  /** Size of the sent body, for when the upstream gives no usage. */
  inputTokensEstimate: number;
  /** Reads its answer; told that one's Content-Type, '' when there is none. */
  reader(contentType: string, onGiven?: OnGiven): AnswerReader;
}

/** One logical request on its way: what stays the same over its attempts, and what they leave behind. */
export interface Job<C = Bytes> {
  requestId: string;
  /** Endpoint as the ledger names it. */
  endpoint: string;
  /** Null: nobody traces it. */
  trace: Trace | null;
  /** Tenant whose turns it takes. */
  tenant: string;
  /** Input of routing. */
  query: RouteQuery;
  /** End-user id, for the ledger. */
  user: string | null;
  /** What its body says that its use is summed by; null or absent: nothing. */
  tag?: string | null;
  /** The variant of its model; null or absent: it has none. */
  variant?: string | null;
  client: Client;
  /** Receiver of the answer. */
  sink: Sink<C>;
  /** The client wants a stream. */
  stream: boolean;
  inputTokensEstimate: number;
  /** Wall-clock ms of arrival: the prices of then apply. */
  atMs: number;
  /** Monotonic ms at which the request arrived, and at which everything must have ended. */
  startedMs: number;
  deadlineMs: number;
  /** Sent with every answer: limits. */
  headers: readonly string[];
  /** Milli-units that an answer costs; a failure before the first token costs nothing. */
  costMilli: number;
  /** Of which each costs the same; as in the plan. */
  calls: number;
  /** The caller's own, lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  progress: JobProgress;
  /** The field that names what lives at a provider, so that only its credential can answer; null: any may. */
  bound: string | null;
  /** Takes ids that an answer gives out, before the client sees them; null: it gives none. */
  given: ((attempt: RouteAttempt, ids: readonly GivenId[]) => void) | null;
  /** Counts the attempts of the whole request, the one that runs left out; null: those of `progress`. */
  attemptsMade: (() => number) | null;
}

/** Progress so far; settlement and the explanation read it whatever way the request ends. */
export interface JobProgress {
  attempts: AttemptRecord[];
  losses: readonly Loss[];
  malformedLines: number;
  verdicts: readonly Verdict[];
  passThrough: boolean;
  /** The attempt that reached the caller; null when none did. */
  answeredBy: RouteAttempt | null;
  delivered: 'nothing' | 'partial' | 'whole';
  /** How many calls are charged: of choices that are a call each, those that reached the client, or were sent where none did. */
  calls: number;
  /** Place of the caller's stream, when its dialect needs it for a cut one. */
  mark: StreamMark | undefined;
  firstTokenMs: number | null;
  usage: Usage | null;
  usageSource: UsageSource;
  /**
   * USD beside what `usage` costs at the price of the target that answered: of answers that failed their model's check,
   * and what other models of a joined request cost more than that one. Negative where they cost less.
   */
  besideUsd: number;
  /** USD that a kept answer saved; absent: it is no kept answer. */
  savedUsd?: number;
  /** Age of the kept answer, ms; absent: it is none. */
  cacheAgeMs?: number;
  /** Of the question that the kept answer was for; absent: it was this one. */
  cacheSimilarity?: number;
  /** Gives out an answer that failed the check of its model, should none come that passes; null: there is none. */
  heldBack: (() => Promise<void>) | null;
  /** HTTP status sent, or that of the failure; 499 when the caller left first. */
  status: number;
  /** `ok`, `aborted` or the failure's kind. */
  class: string;
}

export function newProgress(calls = 1): JobProgress {
  return {
    attempts: [],
    losses: [],
    malformedLines: 0,
    verdicts: [],
    passThrough: false,
    answeredBy: null,
    delivered: 'nothing',
    calls,
    mark: undefined,
    firstTokenMs: null,
    usage: null,
    usageSource: 'none',
    besideUsd: 0,
    heldBack: null,
    status: 0,
    class: 'ok',
  };
}

/** What attempts need of the outside. */
export type AttemptParts = Pick<SpineServices, 'clock' | 'transport'>;

/** What a request's attempts need, which may run beside each other. */
export type ContestParts = Pick<SpineServices, 'clock' | 'transport' | 'silence' | 'health' | 'retryBudget' | 'random'>;

/** An attempt that has ended, as its `Answer` leaves it. */
export interface EndedAttempt {
  attempt: RouteAttempt;
  firstTokenMs: number | null;
  hedge: HedgeReason | null;
}

/** Adds one ended attempt to the explanation; its usage is the request's if it served the client. */
export function recordAttempt<C>(
  job: TracedJob<C>,
  ended: EndedAttempt,
  seen: AttemptSeen,
  outcome: Fault | null,
  nowMs: number,
): void {
  const { progress, trace, startedMs: arrivedMs } = job;
  const { attempt, firstTokenMs } = ended;
  const { usage, usageSource, status, bytes } = seen;
  if (progress.answeredBy === attempt || (seen.kept === true && usage !== null)) {
    progress.usage = usage === null || progress.usage === null ? usage : sumOf(progress.usage, usage);
    if (progress.usageSource !== 'counted') progress.usageSource = usageSource;
    progress.firstTokenMs ??= firstTokenMs;
    progress.malformedLines += seen.malformedLines ?? 0;
  } else if (seen.told === true && outcome?.class === 'cancelled' && progress.answeredBy === null) {
    // The client left before any content: the possible cost is known, and our estimate would be a guess.
    progress.usage = usage;
    progress.usageSource = 'upstream';
  }
  const { target, credential, startedMs } = attempt;
  const record: AttemptRecord = {
    target: target.id,
    provider: target.provider,
    model: target.model,
    credential: credential.id,
    class: outcome?.class ?? 'ok',
    status,
    startMs: startedMs - arrivedMs,
    ms: nowMs - startedMs,
    firstTokenMs,
    bytes,
    usage,
    usageSource,
    costUsd: usage === null || target.price === null ? null : usdOf(usage, target.price, job.atMs),
    message: outcome?.message ?? null,
  };
  progress.attempts.push(record);
  if (trace !== null) traceAttempt(trace, job, ended, seen, record);
}

type TracedJob<C> = Pick<Job<C>, 'progress' | 'atMs' | 'startedMs' | 'trace' | 'providers' | 'endpoint' | 'stream'>;

function traceAttempt<C>(
  trace: Trace,
  { providers, endpoint, stream }: TracedJob<C>,
  { attempt, hedge }: EndedAttempt,
  { answeredAs = null, finishReason = null }: Pick<AttemptSeen, 'answeredAs' | 'finishReason'>,
  record: AttemptRecord,
): void {
  const connection = providers.get(record.provider)?.connection;
  trace.attempt({
    part: attempt,
    endpoint,
    provider: record.provider,
    type: connection?.provider.id ?? record.provider,
    origin: connection?.origin ?? null,
    credential: record.credential,
    model: record.model,
    answeredAs,
    finishReason,
    streamed: stream,
    number: attempt.number,
    hedge,
    startedMs: attempt.startedMs,
    ms: record.ms,
    firstTokenMs: record.firstTokenMs,
    status: record.status,
    class: record.class,
    message: record.message,
    usage: record.usage,
    usageSource: record.usageSource,
    costUsd: record.costUsd,
  });
}

/** The upstream's usage; else, for an answer that ran, our count of what passed over the estimated input. */
export function usageOf(
  inputTokensEstimate: number,
  reader: AnswerReader | null,
  served: boolean,
  outcome: Fault | null,
): Pick<AttemptSeen, 'usage' | 'usageSource' | 'told'> {
  // Searches are all that some rerankers tell: the tokens are ours to count.
  if (reader?.usage?.searchUnits !== undefined && reader.usage.inputTokens === 0) {
    const usage = { ...reader.usage, inputTokens: inputTokensEstimate };
    return { usage, usageSource: served ? 'counted' : 'abandoned' };
  }
  if (reader?.usage != null) {
    const { usage } = reader;
    return served ? { usage, usageSource: 'upstream' } : { usage, usageSource: 'abandoned', told: true };
  }
  // It answered 200 or was left while it ran: the provider may well charge its input, so the books say so.
  const ran = served || reader !== null || outcome?.class === 'cancelled' || outcome?.class.startsWith('stall_');
  if (!ran) return { usage: null, usageSource: 'none' };
  const usage = { inputTokens: inputTokensEstimate, outputTokens: reader?.outputTokensSeen ?? 0 };
  return { usage, usageSource: served ? 'counted' : 'abandoned' };
}

/** Facts of an admitted call that its row in the ledger keeps. */
export interface ChargedCall {
  requestId: string;
  clientRequestId: string | null;
  principal: Principal;
  admitted: Admitted;
  /** What its use is summed by, of `x-culvert-tag`; null: its body may say so. */
  tag: string | null;
  /** Null: nobody traces it. */
  trace: Trace | null;
  /** What the cache of its model did; absent: nothing. */
  cacheUse?: CacheUse;
  /** The prompt that it or its variant names, as `name@3`; absent: none. */
  prompt?: string;
  /** What steps say of it, as headers; absent: none applies. */
  stepHeaders?: (() => HeaderList) | undefined;
  /** Of its headers, the session; absent: it has none. */
  wishes?: Pick<RoutingWishes, 'session'>;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
}

/** What a call costs at most, and the names under which the ledger keeps it. */
export interface Charge {
  endpoint: string;
  /** The model, or what is there in its place; '' for none. */
  alias: string;
  tier: string | null;
  costMilli: number;
  /** The end user and tag that the body names; absent or null: none. */
  user?: string | null;
  tag?: string | null;
  /** Tokens; 0 if absent. */
  inputTokensEstimate?: number;
}

/** The parts of a job that settlement reads. */
export type EndedJob = Pick<Job, 'user' | 'tag' | 'variant' | 'stream'> & {
  progress: Omit<JobProgress, 'answeredBy'> & {
    answeredBy: { target: Pick<Target, 'id' | 'price' | 'priceShare'> } | null;
  };
  client: Pick<Client, 'gone' | 'committed'>;
  mcp?: McpCallRecord | undefined;
};

type HoldParts = Pick<SpineServices, 'admission' | 'settlement' | 'clock' | 'finished'>;

/** A call whose cost is held. It ends in `settle` or `release`, in a `finally`; only the first counts. */
export interface HeldCall {
  readonly kind: 'held';
  readonly claim: Claim;
  readonly reserved: Reservation;
  /** Monotonic ms at which its work began. */
  startedMs: number;
  /** Whatever way the call ended. `doneMilli`: as settlement's, less than was held. `counts`: in metrics. */
  settle(ended: EndedJob, doneMilli?: number, counts?: 'a request' | 'no request'): void;
  /** Gives all of it back: it was held for calls that have rows of their own. */
  release(): void;
}

/**
 * Holds what a call costs: the only way to a reservation. Nothing that costs runs before it. The failure when the plan
 * has no room for it.
 */
export async function holdCall(services: HoldParts, call: ChargedCall, charge: Charge): Promise<HeldCall | Failure> {
  const { requestId, principal, admitted, atMs, trace } = call;
  const { endpoint, alias, tier, costMilli, inputTokensEstimate = 0, user = null } = charge;
  const tag = call.tag ?? charge.tag ?? null;
  // biome-ignore format: one literal, since a spread would be a copy for every request.
  const claim: Claim = { requestId, principal, admitted, endpoint, alias, tier, user, tag, costMilli, inputTokensEstimate, atMs, trace };
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return reserved;
  const held: HeldCall = {
    kind: 'held',
    claim,
    reserved,
    startedMs: call.startedMs,
    settle(ended, doneMilli, counts = 'a request') {
      const { progress, client, stream } = ended;
      const aborted = client.gone && progress.delivered !== 'whole';
      const target = progress.answeredBy?.target ?? null;
      const event = services.settlement.settle(reserved, {
        claim,
        clientRequestId: call.clientRequestId,
        delivery: deliveryOf(progress, aborted),
        doneMilli,
        status: aborted && !client.committed ? 499 : progress.status,
        class: aborted ? 'aborted' : progress.class,
        stream,
        aborted,
        ms: services.clock.monotonicMs() - held.startedMs,
        firstTokenMs: progress.firstTokenMs,
        target: target?.id ?? null,
        price: target?.price ?? null,
        usage: progress.usage,
        usageSource: progress.usageSource,
        besideUsd: progress.besideUsd,
        savedUsd: progress.savedUsd ?? null,
        cacheUse: call.cacheUse,
        user: ended.user,
        tag: call.tag ?? ended.tag ?? null,
        session: call.wishes?.session ?? null,
        variant: ended.variant ?? null,
        route: routeOf(call, alias, ended),
      });
      if (event === null || counts === 'no request') return;
      trace?.settled(event);
      services.finished(event, trace);
    },
    release() {
      const progress = { ...newProgress(), status: 200 };
      const ended = { user: null, stream: false, progress, client: { gone: false, committed: true } };
      held.settle(ended, undefined, 'no request');
    },
  };
  return held;
}

function routeOf(call: ChargedCall, alias: string, { progress, mcp }: EndedJob): RouteRecord {
  const { verdicts, attempts, losses, passThrough, malformedLines, cacheAgeMs, cacheSimilarity } = progress;
  const route: RouteRecord = { alias, verdicts, attempts, losses, passThrough };
  const share = progress.answeredBy?.target.priceShare;
  if (share !== undefined) route.priceShare = share;
  if (malformedLines > 0) route.malformedLines = malformedLines;
  if (mcp !== undefined) route.mcp = mcp;
  if (call.prompt !== undefined) route.prompt = call.prompt;
  if (cacheAgeMs !== undefined) route.cacheAgeMs = cacheAgeMs;
  if (cacheSimilarity !== undefined) route.cacheSimilarity = cacheSimilarity;
  if (call.stepHeaders !== undefined) route.steps = call.stepHeaders();
  return route;
}

function deliveryOf(progress: Pick<JobProgress, 'delivered' | 'attempts'>, aborted: boolean): Delivered {
  if (progress.delivered === 'whole') return 'whole';
  if (progress.delivered === 'partial') return 'part';
  return aborted && progress.attempts.length > 0 ? 'abandoned' : 'nothing';
}
