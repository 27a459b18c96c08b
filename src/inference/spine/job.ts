import type { Delivered } from '../../books/metering/admission.ts';
import type { StreamMark, UpstreamDialect } from '../../formats/dialects/dialect.ts';
import type { ForwardedEndpointId } from '../../formats/dialects/forwarded/endpoint.ts';
import type { GivenId } from '../../formats/dialects/named-objects.ts';
import type { Usage, UsageSource } from '../../formats/neutral/usage.ts';
import type { Trace } from '../../kernel/trace.ts';
import type {
  AgentCallRecord,
  AttemptRecord,
  McpCallRecord,
  RouteAttempt,
  RouteQuery,
  RouteRecord,
} from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { UpstreamUpload } from '../../upstream/transport/upstream-call.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { OnGiven } from './pass-through.ts';
import type { SpineServices } from './services.ts';
import type { Bytes, Client, Sink } from './sink.ts';

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
  /** Reads its answer; gets that one's Content-Type, '' if there is none. */
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
  /** Tag in its body by which its use is summed; null or absent: none. */
  tag?: string | null;
  /** The conversation or run that its body names; null or absent: none. */
  session?: string | null;
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
  /** The caller has set the deadline, earlier than that of the model. */
  isCallersDeadline: boolean;
  /** Sent with every answer: limits. */
  headers: readonly string[];
  /** Milli-units that an answer costs; a failure before the first token costs nothing. */
  costMilli: number;
  /** Headers of the caller with lower-case names; of them only an allow-list reaches an upstream. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  progress: JobProgress;
  /** The field that names what lives at a provider, so that only its credential can answer; null: any may. */
  bound: string | null;
  /** Takes ids that an answer gives out, before the client sees them; null: it gives none. */
  given: ((attempt: RouteAttempt, ids: readonly GivenId[]) => void) | null;
  /** Gets each attempt that has ended; absent: nobody wants it. */
  attempted?: ((attempt: AttemptRecord) => void) | undefined;
  /** Counts the attempts of the whole request, the one that runs left out; null: those of `progress`. */
  attemptsMade: (() => number) | null;
  /** Its reservation: limits may count what it came to before it is settled. Absent: nothing is held. */
  held?: { settle(ended: EndedJob, doneMilli: undefined, counts: 'in limits'): void };
  /** Called when it has ended, in whatever way: they give back what is held for it. Absent: nothing is. */
  atEnd?: (() => void)[];
}

/** Progress so far; settlement and the explanation read it whatever way the request ends. */
export interface JobProgress
  extends Pick<RouteRecord, 'losses' | 'verdicts' | 'passThrough' | 'cacheAgeMs' | 'cacheSimilarity'> {
  attempts: AttemptRecord[];
  malformedLines: number;
  /** The attempt that reached the caller; null when none did. */
  answeredBy: RouteAttempt | null;
  delivered: Exclude<Delivered, 'abandoned'>;
  /** Number of calls that are charged: of choices with a call each, those delivered, or sent if none was. */
  calls: number;
  /** Place of the caller's stream, when its dialect needs it for a cut one. */
  mark: StreamMark | undefined;
  firstTokenMs: number | null;
  /** Monotonic ms of its end; absent: it is settled at its end. */
  endedMs?: number;
  usage: Usage | null;
  usageSource: UsageSource;
  /**
   * USD in addition to the cost of `usage` at the price of the target that answered: of answers that failed their
   * model's check, of attempts that the client left, and the higher cost of other models of a joined request. Negative if
   * they cost less.
   */
  besideUsd: number;
  /** USD that a kept answer saved; absent: it is no kept answer. */
  savedUsd?: number;
  /** The caller's deadline ended an attempt whose provider worked. Absent: it did not. */
  ranOut?: boolean;
  /** Gives out an answer that failed the check of its model, should none come that passes; null: there is none. */
  heldBack: (() => Promise<void>) | null;
  /** Headers with the limits of the caller's credential, of the refusal that is the caller's; absent: there is none. */
  callersLimits?: readonly string[];
  /** HTTP status sent, or that of the failure; 499 when the caller left first. */
  status: number;
  /** `ok`, `aborted` or the failure's kind. */
  class: string;
}

export type AttemptParts = Pick<SpineServices, 'clock' | 'transport'>;

/** Services that a request's attempts need, which may run concurrently. */
export type ContestParts = Pick<SpineServices, 'clock' | 'transport' | 'silence' | 'health' | 'retryBudget' | 'random'>;

/** The parts of a job that settlement reads. */
export type EndedJob = Pick<Job, 'tag' | 'session' | 'variant' | 'stream'> & {
  progress: Omit<JobProgress, 'answeredBy'> & {
    answeredBy: { target: Pick<Target, 'id' | 'price' | 'priceShare'> } | null;
  };
  client: Pick<Client, 'disconnected' | 'committed'>;
  mcp?: McpCallRecord | undefined;
  agent?: AgentCallRecord | undefined;
};
