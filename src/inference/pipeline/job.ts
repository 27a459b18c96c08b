import type { Failure } from '../../kernel/failure.ts';
import type { StreamMark, UpstreamDialect } from '../dialects/dialect.ts';
import type { ForwardedEndpoint } from '../dialects/forwarded/endpoint.ts';
import type { GivenId } from '../dialects/named-objects.ts';
import type { Loss } from '../neutral/loss.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { RequestNeeds } from '../neutral/request.ts';
import type { Usage, UsageSource } from '../neutral/usage.ts';
import type { AttemptRecord, Route, RouteAttempt, RouteCandidate, Verdict } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import type { UpstreamUpload } from '../transport/upstream-call.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { Caller } from './caller.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { EncodedBody } from './conversation-body.ts';
import type { EventSink } from './converted.ts';
import type { RequestMedia } from './request-media.ts';
import type { Services } from './services.ts';

/** What one attempt sends, and who reads its answer. */
export interface PreparedBody extends EncodedBody {
  /** What its errors come in, and its answer where it is no `forwarded` one. */
  upstreamDialect: UpstreamDialect;
  /** Asked for something else than a conversation. Embeddings are gathered, for whoever asked to read. */
  endpoint?: 'embeddings' | 'speech';
  /** Path and query below the base URL, where the endpoint's format makes them of more than the model. */
  path?: string;
  /** Sent instead of `bytes`: what is never whole in memory, and no JSON. */
  upload?: UpstreamUpload & { contentType: string };
  /** Content-Type of the answer that the caller gets, where that is not JSON. */
  answerType?: string;
  /** Reads its answer where that is none of a conversation; told the answer's Content-Type, '' when there is none. */
  answerReader?(contentType: string): AnswerReader;
  /** The endpoint of one format that is asked: its answer is read in passing and never converted. */
  forwarded?: ForwardedEndpoint;
}

/** One logical request on its way: what stays the same over its attempts, and what they leave behind. */
export interface Job {
  requestId: string;
  /** Whose turns it takes. */
  tenant: string;
  alias: string;
  /** End-user id, for the ledger. */
  user: string | null;
  caller: Caller;
  newRoute(): Route;
  /** Another way to an answer when every target has failed without one; null = none. Ends the caller's answer. */
  lastResort: (() => Promise<void>) | null;
  /** What `newRoute` chooses from. */
  candidates: readonly RouteCandidate[];
  /** A route over some of the candidates, for `n` choices in one call, of at most `attemptsMax` attempts. */
  routeOver(candidates: readonly RouteCandidate[], n: number, attemptsMax: number): Route;
  needs: RequestNeeds;
  /** As the hedge policy's `after`. */
  hedgeAfter: number | null;
  /** The caller wants a stream. */
  stream: boolean;
  includeUsage: boolean;
  inputTokensEstimate: number;
  /** Monotonic ms at which everything must have ended. */
  deadlineMs: number;
  /** Sent with every answer: limits. */
  headers: readonly string[];
  /** Milli-units that an answer costs; a failure before the first token costs nothing. */
  costMilli: number;
  /** The caller's own, lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  prepare(target: Target): PreparedBody | Failure | Promise<PreparedBody | Failure>;
  /** A way of its own to make an attempt, which it ends and records; absent: one call of one prepared body. */
  tryTarget?(attempt: RouteAttempt, route: Route): Promise<Fault | null>;
  /** What the request names by URL, for targets that take it inline. */
  media: RequestMedia;
  /** Where a converted answer's events go; replaced by the fan-out of n > 1. */
  sink(): EventSink;
  progress: JobProgress;
  /** The field that names what lives at a provider, so that only its credential can answer; null: any may. */
  bound: string | null;
  /** Told of ids that an answer gives out, before the caller sees them; absent: it gives none. */
  given?(attempt: RouteAttempt, ids: readonly GivenId[]): void;
  /** Attempts of the whole request, the one that runs left out; `x-culvert-attempts`. */
  attemptsMade(): number;
}

/** What has happened so far; read by settlement and the explanation whatever way the request ends. */
export interface JobProgress {
  attempts: AttemptRecord[];
  losses: readonly Loss[];
  malformedLines: number;
  verdicts: readonly Verdict[];
  passThrough: boolean;
  /** The attempt that reached the caller; null when none did. */
  answeredBy: RouteAttempt | null;
  delivered: 'nothing' | 'partial' | 'whole';
  /** Of several choices that are a call each, how many reached the caller, or were sent where none did; 1 otherwise. */
  calls: number;
  /** Where the caller's stream stands, when its dialect needs to know that of a cut one. */
  mark: StreamMark | undefined;
  firstTokenMs: number | null;
  usage: Usage | null;
  usageSource: UsageSource;
  /** HTTP status sent, or that of the failure; 499 when the caller left first. */
  status: number;
  /** `ok`, `aborted` or the failure's kind. */
  class: string;
}

export function newProgress(): JobProgress {
  return {
    attempts: [],
    losses: [],
    malformedLines: 0,
    verdicts: [],
    passThrough: false,
    answeredBy: null,
    delivered: 'nothing',
    calls: 1,
    mark: undefined,
    firstTokenMs: null,
    usage: null,
    usageSource: 'none',
    status: 0,
    class: 'ok',
  };
}

/** What attempts need of the world. */
export type AttemptParts = Pick<Services, 'clock' | 'transport'>;

/** What a request's attempts need, which may run beside each other. */
export type ContestParts = Pick<Services, 'clock' | 'transport' | 'silence'>;
