import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/** The web tools that answer in one call. */
export type ToolName = 'search' | 'scrape' | 'map';

/** Cost of a tool call, held at once before anything is fetched. */
export interface ToolCharge {
  tool: ToolName;
  /** Further pages that it may read: each at the cost of a scrape. */
  pagesMax: number;
}

/** A call whose body was found right. */
export interface ToolJob {
  charge: ToolCharge;
  /** Equal calls may have the same answer, for which this one waits until then (monotonic ms); absent: they may not. */
  sharedUntilMs?: number;
  /** Rejects only for a fault of ours. `signal`: nobody waits for the answer any more. */
  run(signal: AbortSignal): Promise<ToolAnswer | Failure>;
}

export interface ToolAnswer {
  kind: 'answer';
  /** Members other than `success` and `warning`, which the route writes. */
  body: JsonObject;
  /** In words, for `warning`. */
  warnings: readonly string[];
  /** How many of the held pages were read and are charged; absent: all. */
  pages?: number;
  /** It is complete, and depends on nothing of its caller's. */
  lasting?: true;
}
