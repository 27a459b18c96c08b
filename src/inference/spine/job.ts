import type { Failure } from '../../kernel/failure.ts';
import type { StreamMark, UpstreamDialect } from '../dialects/dialect.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import type { GivenId } from '../dialects/named-objects.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { Loss } from '../neutral/loss.ts';
import type { RequestNeeds } from '../neutral/request.ts';
import type { Usage, UsageSource } from '../neutral/usage.ts';
import type { AttemptRecord, Route, RouteAttempt, RouteCandidate, Verdict } from '../routing/route.ts';
import type { UpstreamUpload } from '../transport/upstream-call.ts';
import type { Answer } from './answer.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { OnGiven } from './pass-through.ts';
import type { SpineServices } from './services.ts';
import type { Bytes, Client, Sink } from './sink.ts';
import type { Trial } from './trial.ts';

/** What one attempt sends, and who reads its answer. */
export interface PreparedBody {
  bytes: Buffer | string;
  /** Sent instead of `bytes`: what is never whole in memory, and no JSON. */
  upload?: UpstreamUpload & { contentType: string };
  /** An answer is asked for as a stream. */
  streamed: boolean;
  /** What its errors come in. */
  upstreamDialect: UpstreamDialect;
  /** Asked for something else than a conversation. */
  endpoint?: 'embeddings' | 'speech' | ForwardedEndpointId;
  /** Path and query below the base URL, where the endpoint's format makes them of more than the model. */
  path?: string;
  /** Of what is sent, for when the upstream does not say what it used. */
  inputTokensEstimate: number;
  /** Reads its answer; told that one's Content-Type, '' when there is none. */
  reader(contentType: string, onGiven?: OnGiven): AnswerReader;
}

/** One logical request on its way: what stays the same over its attempts, and what they leave behind. */
export interface Job<C = Bytes> {
  requestId: string;
  /** Whose turns it takes. */
  tenant: string;
  alias: string;
  /** End-user id, for the ledger. */
  user: string | null;
  client: Client;
  /** Where the answer goes. */
  sink: Sink<C>;
  newRoute(): Route;
  /** Another way to an answer when every target has failed without one; null = none. Ends the client's answer. */
  lastResort: (() => Promise<void>) | null;
  /** What `newRoute` chooses from. */
  candidates: readonly RouteCandidate[];
  /** A route over some of the candidates, for `n` choices in one call, of at most `attemptsMax` attempts. */
  routeOver(candidates: readonly RouteCandidate[], n: number, attemptsMax: number): Route;
  needs: RequestNeeds;
  /** As the hedge policy's `after`. */
  hedgeAfter: number | null;
  /** The client wants a stream. */
  stream: boolean;
  inputTokensEstimate: number;
  /** Monotonic ms at which everything must have ended. */
  deadlineMs: number;
  /** Sent with every answer: limits. */
  headers: readonly string[];
  /** Milli-units that an answer costs; a failure before the first token costs nothing. */
  costMilli: number;
  /** Of which each costs the same; as the plan's. */
  calls: number;
  /** The caller's own, lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** What one attempt does for `answer`; a Failure when the request cannot be said to its target. */
  trial(answer: Answer<C>): Trial | Failure | Promise<Trial | Failure>;
  progress: JobProgress;
  /** The field that names what lives at a provider, so that only its credential can answer; null: any may. */
  bound: string | null;
  /** Told of ids that an answer gives out, before the client sees them; absent: it gives none. */
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
  /** How many calls are charged: of choices that are a call each, those that reached the client, or were sent where none did. */
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
    status: 0,
    class: 'ok',
  };
}

/** What attempts need of the world. */
export type AttemptParts = Pick<SpineServices, 'clock' | 'transport'>;

/** What a request's attempts need, which may run beside each other. */
export type ContestParts = Pick<SpineServices, 'clock' | 'transport' | 'silence'>;
