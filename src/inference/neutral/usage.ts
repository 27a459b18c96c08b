/** What one attempt or request used. All counts are non-negative integers; absent means not said. */
export interface Usage {
  /** All input tokens, cached and cache-writing ones included. */
  inputTokens: number;
  outputTokens: number;
  /** Part of `inputTokens` read from the provider's cache. */
  cachedInputTokens?: number;
  /** Part of `inputTokens` written to the provider's cache. */
  cacheWriteTokens?: number;
  /** Part of `outputTokens`. */
  reasoningTokens?: number;
  /** Kinds beyond tokens: speech input, audio, pictures. */
  characters?: number;
  audioMs?: number;
  images?: number;
  /** Searches billed: Cohere's reranking counts one for a query and 100 documents, and no tokens. */
  searchUnits?: number;
}

/** Who says so: the upstream; our count of what passed; a reservation's estimate; work an abandoned attempt did. */
export type UsageSource = 'upstream' | 'counted' | 'estimated' | 'abandoned' | 'none';
