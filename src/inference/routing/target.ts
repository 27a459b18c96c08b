import type { DialectId } from '../dialects/dialect.ts';

/** One provider + upstream model behind an alias, with everything resolved that a request needs to know. */
export interface Target {
  /** `provider/model`: names it in breakers, ledger and explanations. */
  id: string;
  provider: string;
  /** Upstream model id. */
  model: string;
  /** 1 is tried first. */
  priority: number;
  weight: number;
  dialect: DialectId;
  credentials: readonly Credential[];
  capabilities: Capabilities;
  timeouts: Timeouts;
  /** Tokens; null when unknown, which never filters. */
  contextWindow: number | null;
  maxOutputTokens: number | null;
  /** USD per million tokens; null when unknown. */
  price: Price | null;
  /** The zero-key simulator: labelled, free. */
  simulated: boolean;
  /** False: a converted answer is asked whole. */
  stream: boolean;
  /** Extra top-level body fields the operator set for this target. */
  body: Readonly<Record<string, unknown>>;
}

export interface Credential {
  /** `provider#0`…: never the secret, which only the provider's encoder sees. */
  id: string;
  weight: number;
  /** Requests per minute that this credential may carry; null = no limit known. */
  rpm: number | null;
}

export interface Capabilities {
  vision: boolean;
  tools: boolean;
  reasoning: boolean;
  audioIn: boolean;
  logprobs: boolean;
  jsonSchema: boolean;
  /** `n` > 1 in one call. */
  nativeN: boolean;
}

/** All in ms. */
export interface Timeouts {
  connectMs: number;
  firstTokenMs: number;
  idleMs: number;
  totalMs: number;
}

export interface Price {
  input: number;
  output: number;
  cachedInput: number | null;
}
