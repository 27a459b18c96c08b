/**
 * The port of traces and GenAI metrics (docs/telemetry.md). When OpenTelemetry is off there is no `Traces`, and every
 * `Trace` is `null`. Nothing here throws or waits, and nobody waits for it. Times are monotonic ms unless noted
 * otherwise.
 */
export interface Traces {
  /** A request, or work of our own such as a page of a crawl, begins. It must be ended once. */
  begin(start: TraceStart): Trace;
}

export interface TraceStart {
  /** Wall-clock and monotonic ms of its beginning. */
  atMs: number;
  startedMs: number;
  /** The caller's headers, with `traceparent` and `tracestate`; null: the trace begins here. */
  headers: Readonly<Record<string, string | string[] | undefined>> | null;
}

/** One request's place in a trace. */
export interface Trace {
  /** 32 hex digits: what logs and errors name. */
  readonly id: string;
  /** By which a conversation's requests are known as one; null: by nothing. */
  session: string | null;
  /** The prompt that the request names, as `name@3`; null: none. */
  prompt: string | null;
  /** The kind of failure that the caller got before anything was booked; null: none. */
  refused: string | null;
  /** Request and answer as JSON, for keys whose content is captured; null for all others. */
  content: TracedContent | null;
  /** An attempt at a model has ended. */
  attempt(attempt: TracedAttempt): void;
  /** Another part has ended that may take its time: a store, a cache, a guard. */
  step(step: TracedStep): void;
  /** It has been settled: what its record says. */
  settled(record: TracedRecord): void;
  /**
   * `traceparent` and the headers that go with it, as a flat list. The call that sends them is a child of `part`, a
   * running attempt.
   */
  passOn(part: object): readonly string[];
  /** The last word, at `endedMs`. */
  end(end: TraceEnd, endedMs: number): void;
}

/** Messages as the GenAI conventions write them. */
export interface TracedContent {
  input: string;
  output: string;
}

/** Facts of one call of a model that trace, route record and ledger all keep. */
export interface AttemptFacts {
  /** Its name in the configuration. */
  provider: string;
  model: string;
  credential: string;
  /** HTTP status; null: none came. */
  status: number | null;
  /** Ms from dispatch to its end, and to first content (null: none came). */
  ms: number;
  firstTokenMs: number | null;
  costUsd: number | null;
  /** Words of its fault, without secrets; null: it had none. */
  message: string | null;
}

/** Result of one call of a model, at a provider or in this process. */
export interface TracedAttempt extends AttemptFacts {
  /** Identifies it to `passOn`. */
  part: object;
  /** Endpoint as the ledger names it: `chat`, `embeddings`… */
  endpoint: string;
  /** The provider's type in the catalog. */
  type: string;
  /** Scheme, host and port; null: it runs in this process. */
  origin: string | null;
  /** The answer's own name for its model, and why it ended; null: it did not say. */
  answeredAs: string | null;
  finishReason: string | null;
  streamed: boolean;
  number: number;
  /** Why it ran next to another one; null: it did not. */
  hedge: string | null;
  startedMs: number;
  /** `ok` or the fault's class. */
  class: string;
  usage: TracedUsage | null;
  usageSource: string;
}

export interface TracedUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

export interface TracedStep {
  name: string;
  startedMs: number;
  endedMs: number;
  /** The class of the failure; null: none. */
  error: string | null;
}

/** From a settled request's record. */
export interface TracedRecord {
  endpoint: string;
  alias: string;
  target: string | null;
  class: string;
  costMilli: number;
  costUsd: number | null;
  user: string | null;
  tag: string | null;
  variant: string | null;
}

export interface TraceEnd {
  requestId: string;
  /** The id that the caller gave the request, or that of the request it belongs to; null: neither. */
  clientRequestId: string | null;
  /** HTTP status; null: the call did not come by HTTP. */
  method: string | null;
  /** The route, such as `/v1/chat/completions`, or the name of the work. */
  route: string;
  status: number;
  account: string;
  keyId: string;
  /** The page that it was about; null: the route says all. */
  about: string | null;
}
