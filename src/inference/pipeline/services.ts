import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Random } from '../../kernel/random.ts';
import type { Admission } from '../../metering/admission.ts';
import type { UsageEvent } from '../../metering/ledger.ts';
import type { PlanBook } from '../../metering/plan-book.ts';
import type { Settlement } from '../../metering/settlement.ts';
import type { StorageBook } from '../../metering/storage-book.ts';
import type { Spool } from '../../net/spool.ts';
import type { SharedTranscoder } from '../audio/transcode.ts';
import type { EmbeddingEngine } from '../engines/embedding-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { TranscriptionEngine } from '../engines/transcription-engine.ts';
import type { Health } from '../routing/health.ts';
import type { RetryBudget } from '../routing/retry-budget.ts';
import type { SilenceWatch } from '../routing/silence.ts';
import type { Transport } from '../transport/upstream-call.ts';
import type { BodyReader } from './body-reader.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { EmbeddingCodec } from './embedding-codec.ts';
import type { MediaFetcher } from './fetch-media.ts';
import type { PictureFetcher } from './fetch-picture.ts';
import type { HostedFiles } from './hosted-files.ts';
import type { Idempotency } from './idempotency.ts';
import type { ImageCodec } from './image-codec.ts';
import type { ModelTable } from './model-table.ts';
import type { ProviderObjects } from './provider-objects.ts';
import type { TokenCounter } from './token-counter.ts';
import type { VoiceLists } from './voice-lists.ts';

/** What a conversation needs, which is served from the first moment of a start; lives as long as the process. */
export interface ConversationServices {
  clock: Clock;
  random: Random;
  transport: Transport;
  health: Health;
  retryBudget: RetryBudget;
  silence: SilenceWatch;
  /** The plans in force. */
  plans(): PlanBook;
  admission: Admission;
  settlement: Settlement;
  bodies: BodyReader;
  media: MediaFetcher;
  idempotency: Idempotency;
  /** Loaded at the first request that names or gives what lives at a provider. */
  objects(): Promise<ProviderObjects>;
  /** The configuration in force. A request takes it once, at its beginning, and keeps it to its end. */
  snapshot(): Snapshot;
  /** Told of every settled request: log, metrics. */
  finished(event: UsageEvent): void;
  /** Of keys that `telemetry.log.bodies` names. */
  logBodies(bodies: LoggedBodies): void;
}

/** What every request of every endpoint needs. */
export interface Services extends ConversationServices {
  tokenCounter: TokenCounter;
  embeddingCodec: EmbeddingCodec;
  /** Models of this process that make vectors, by their id. */
  engines: ReadonlyMap<string, EmbeddingEngine>;
  /** Models of this process, or of a child of it, that speak, by their id. */
  speechEngines: ReadonlyMap<string, SpeechEngine>;
  /** The same for those that write down speech. */
  transcriptionEngines: ReadonlyMap<string, TranscriptionEngine>;
  /** The voices that servers list themselves. */
  voiceLists: VoiceLists;
  transcoder: SharedTranscoder;
  /** Where uploads wait. */
  spool: Spool;
  imageCodec: ImageCodec;
  /** Of upstreams that name what they made by URL. */
  pictures: PictureFetcher;
  /** Generated files that callers fetch by a link. */
  files: HostedFiles;
  /** How much accounts keep. */
  storage: StorageBook;
}

/** What was asked and answered, for the log: bounded and without credentials already. */
export interface LoggedBodies {
  requestId: string;
  /** `account/name`. */
  key: string;
  path: string;
  status: number;
  request: string;
  answer: string;
  /** Why there is no answer, or none to its end. */
  error?: string;
}

/** One state of the configuration, replaced whole by a reload. */
export interface Snapshot {
  config: Config;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  models: ModelTable;
  /** A confirmed SearXNG of this machine, where the configuration names no search engine. */
  localSearch: string | null;
}
