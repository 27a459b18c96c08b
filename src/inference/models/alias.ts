import type { PlanBook } from '../../books/metering/plan-book.ts';
import type { Config, ModelConfig, ModelType, QualityConfig } from '../../config/schema.ts';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import type { TranscriptionEngine } from '../../engines/transcription-engine.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import type { Preference } from '../../routing/prefer.ts';
import type { HedgePolicy, RouteCandidate, Verdict } from '../../routing/route.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { PriceList } from './price-list.ts';

export interface ModelTableParts {
  models: Config['models'];
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** Every one of a provider with `all_models` is an alias; without `models`, of every provider that does not say no. */
  known: KnownModels;
  /** Null: not loaded. */
  prices: PriceList | null;
  /** Providers whose list nobody has read yet. */
  unheard: readonly string[];
  /** Models of this process: always aliases. */
  engines: ReadonlyMap<string, Pick<EmbeddingEngine, 'model' | 'dimensions'>>;
  /** The same for those that speak. */
  speechEngines?: ReadonlyMap<string, Pick<SpeechEngine, 'model'>>;
  transcriptionEngines?: ReadonlyMap<string, Pick<TranscriptionEngine, 'model'>>;
  /** Whether conversations for an unknown model go to another one. */
  unknownModels: 'nearest' | 'refuse';
  /** The plans as of now. */
  plans(): PlanBook;
  nowS: number;
}

/** Models of the providers' own lists, by the operator's name of the provider. */
export type KnownModels = ReadonlyMap<string, readonly DiscoveredModel[]>;

export interface AliasCache {
  /** How long an answer is kept. */
  ttlMs: number;
  /** The callers that share answers. */
  scope: 'key' | 'account' | 'plan' | 'all';
  /** Keeps answers that call tools. */
  toolCalls: boolean;
  /** Absent: only equal questions have the same answer. */
  semantic?: SemanticRule;
}

export interface SemanticRule {
  /** The alias that embeds questions. */
  model: string;
  /** Shares from 0 to 1. */
  errorMax: number;
  sample: number;
  /** Wait for an embedding. */
  deadlineMs: number;
  /** The alias that compares answers; absent: nobody is asked. */
  judge?: string | undefined;
}

/** Variants of a model, and what stays with one of them. */
export interface Variants {
  sticky: 'key' | 'user' | 'session';
  /** With `rollback: auto`: names their definition. */
  shape?: string;
  all: readonly Variant[];
}

export interface Variant {
  weight: number;
  /** The model with the targets of the variant, and its name. */
  alias: Alias;
  /** `NAME` or `NAME@REF` of a prompt. */
  prompt?: string | undefined;
  parameters: NonNullable<ModelConfig['variants']>[string]['parameters'];
}

/** A second place for a share of requests, which callers do not see. */
export interface Shadow {
  /** From 0 to 1. */
  share: number;
  /** The model with the targets of the shadow, as the variant `shadow`. */
  alias: Alias;
}

/** Variants that were taken out, as this process last read them. */
export interface OutVariants {
  /** The variants that take part; null: all do. */
  without(alias: string, shape: string, all: readonly Variant[]): readonly Variant[] | null;
}

/** A model that callers name, with everything a request needs to know of it. */
export interface Alias {
  id: string;
  type: ModelType;
  /** `model_type` in the list. It never decides how the model may be used. */
  listedAs: ModelType;
  tier: string | null;
  /** Units a request costs, times the endpoint's own cost. */
  cost: number;
  attempts: number;
  hedge: HedgePolicy;
  /** Absent: weights and load decide among targets of one priority. */
  prefer?: Preference;
  /** Absent: what a content filter refuses is refused. */
  onFilter?: 'next';
  /** The model's name in its answers; absent: as the format has it. */
  answerModel?: 'asked' | 'upstream';
  /** Absent: no answer is checked. */
  quality?: QualityConfig;
  /** One of its targets has the provider's cache used. */
  promptCache?: 'auto';
  /** Absent: no answer is kept for equal requests. */
  cache?: AliasCache;
  /** Names of guards; absent: it names none. */
  guards?: readonly string[];
  /** Rules send its requests to models of several prices, so that none is shown; absent: its first target's is. */
  pricesDiffer?: true;
  ownedBy: string;
  createdS: number;
  /** Length of its vectors as the configuration or the contract declares it; null when neither does. */
  dimensions: number | null;
  /** Value in the list: the declared length, or the publicly known one of its model. */
  listedDimensions: number | null;
  /** Voices by the name that callers use; absent: none is renamed. */
  voices?: Readonly<Record<string, string>>;
  /** Aliases that transcribe and speak for it in realtime sessions; absent: its targets hold those themselves. */
  realtime?: { transcription: string; speech: string; voice: string };
  /** Accounts and plans that may use it, besides the rules of plans and keys; absent: everybody. */
  only?: { accounts: ReadonlySet<string>; plans: ReadonlySet<string> };
  /** Shares of its requests that run otherwise; absent: all run alike. */
  variants?: Variants;
  /** Where a share of its requests is sent as well; absent: nowhere. */
  shadow?: Shadow;
  /** The variant whose targets it has; absent: none is chosen. */
  variant?: string;
  /** Targets that may not answer this caller or request, with the reason; absent: all may. */
  barred?: readonly Verdict[];
  /** Its own targets (rank 0), then its fallbacks' (rank 1…). */
  candidates: readonly RouteCandidate[];
  /** Longest time a request may take, ms. */
  totalMs: number;
}
