import type { DialectId } from '../formats/dialects/dialect.ts';
import type { PromptCaching } from '../formats/dialects/prompt-cache.ts';
import type { ImageModelFacts } from '../formats/media/images/format.ts';
import type { VideoFacts } from '../formats/media/videos/format.ts';
import type { Price } from '../formats/neutral/price.ts';
import type { ThinkTags } from '../formats/neutral/tagged-thoughts.ts';
import type { Timestamps } from '../formats/neutral/transcript.ts';

/** One provider + upstream model behind an alias, with everything resolved that a request needs to know. */
export interface Target {
  /** `provider/model`: names it in breakers, ledger and explanations. */
  id: string;
  /** Key of its health, where that is not `id`: an endpoint whose failures say nothing of the others. */
  healthId?: string;
  provider: string;
  /** Upstream model id. */
  model: string;
  /** 1 is tried first. */
  priority: number;
  weight: number;
  /** The dialect that it is asked in, unless the caller speaks one of `alsoSpeaks`. */
  dialect: DialectId;
  alsoSpeaks?: readonly DialectId[];
  credentials: readonly Credential[];
  capabilities: Capabilities;
  timeouts: Timeouts;
  /** While its first tokens usually take longer, others are asked first; absent: however long they take. */
  maxFirstTokenMs?: number;
  /** Tokens; null when unknown, which never filters. */
  contextWindow: number | null;
  maxOutputTokens: number | null;
  /** Day on which its provider shuts it down, YYYY-MM-DD; absent: none is announced. */
  retiresOn?: string;
  /** Null when unknown. */
  price: Price | null;
  /** The share of the list's price that `price` is: of batches, for example. Absent: all of it. */
  priceShare?: number;
  /** The zero-key simulator: labelled, free. */
  simulated: boolean;
  /** False: a converted answer is requested whole. */
  stream: boolean;
  /** A whole answer is requested as a stream in the caller's own format, too, so that silence shows soon. */
  wholeByStream?: boolean;
  /** Where its texts hold its thoughts; absent: they do not. */
  thinkTags?: ThinkTags;
  /** How its requests use the cache of its provider; absent: nothing is done for it. */
  promptCaching?: PromptCaching;
  /** How it makes vectors; absent when its provider does not. */
  embedding?: EmbeddingTarget;
  /** How it makes pictures; absent when it does not. */
  image?: ImageModelFacts;
  /** How it makes videos; absent when it does not. */
  video?: VideoFacts;
  /** How it writes down speech; only as its endpoint sees it. */
  transcription?: TranscriptionTarget;
  /** Region, training and retention of its provider; absent: nobody knows. */
  data?: { region: string | null; trains: boolean | null; retentionMs: number | null };
  /** Extra top-level body fields that the operator set for this target. */
  body: Readonly<Record<string, unknown>>;
}

/** Facts of a target for requests for embeddings. */
export interface EmbeddingTarget {
  /** Most inputs of one call. */
  batch: number;
  /** Most tokens of one call, by estimate; null when unknown. */
  batchTokens: number | null;
  takesTokens: boolean;
  /** Length of its vectors as its alias declares it; null when nobody says. */
  dimensions: number | null;
  /** Accepts a wish for another length; `always`: it gets the declared one, too. */
  resizes: 'never' | 'asked' | 'always';
  /** Vectors of one space can be compared; null when nobody says. */
  space: string | null;
}

/** Facts of a target for requests for transcripts. */
export interface TranscriptionTarget {
  timestamps: Timestamps;
  /** It can tell speakers apart. */
  speakers: boolean;
  translates: boolean;
  /** Null: any file can be brought to it. */
  fileBytesMax: number | null;
}

export interface Credential {
  /** `provider#0`…: never the secret, which only the provider's encoder sees. */
  id: string;
  /** Each request brings its own: what the upstream says of one holds for no other request. Absent: it is the operator's. */
  callers?: true;
  weight: number;
  /** Requests per minute that this credential may carry; null = no limit known. */
  rpm: number | null;
}

export interface Capabilities {
  vision: boolean;
  tools: boolean;
  reasoning: boolean;
  audioIn: boolean;
  /** Parts with files, such as PDFs. */
  files: boolean;
  logprobs: boolean;
  jsonSchema: boolean;
  /** `n` > 1 in one call. */
  nativeN: boolean;
  /** False: only whole answers are requested, from which the caller's stream is made. */
  streaming: boolean;
}

/** Capabilities of a target without chat. */
export const noCapabilities: Capabilities = {
  vision: false,
  tools: false,
  reasoning: false,
  audioIn: false,
  files: false,
  logprobs: false,
  jsonSchema: false,
  nativeN: false,
  streaming: false,
};

/** All in ms. */
export interface Timeouts {
  connectMs: number;
  firstTokenMs: number;
  /** `firstTokenMs` is built in: long prompts have longer. */
  firstTokenGrows?: true;
  idleMs: number;
  totalMs: number;
}
