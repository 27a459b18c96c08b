import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/** The web tools that answer in one call. */
export type ToolName = 'search' | 'scrape' | 'map';

/** What a call of a tool is charged, held at once before anything is fetched. */
export interface ToolCharge {
  tool: ToolName;
  /** Pages that it may read beside: each at the cost of a scrape. */
  pagesMax: number;
}

/** A call whose body was found right. */
export interface ToolJob {
  charge: ToolCharge;
  /** Never rejects but for a fault of ours. `signal`: nobody waits for the answer any more. */
  run(signal: AbortSignal): Promise<ToolAnswer | Failure>;
}

export interface ToolAnswer {
  kind: 'answer';
  /** Beside `success` and `warning`, which the route writes. */
  body: JsonObject;
  /** In words, for `warning`. */
  warnings: readonly string[];
  /** Of the pages that were held for, how many were read and are charged; unsaid: all. */
  pages?: number;
}

/** Given by the composition: holds the cost of a call. Rejects for a fault of ours alone. */
export interface ToolMeter<Call> {
  hold(call: Call, charge: ToolCharge): Promise<ToolHold | Failure>;
}

/** Must be settled, once. */
export interface ToolHold {
  kind: 'held';
  /** Answer headers: limits, cost. Flat name, value… */
  readonly headers: readonly string[];
  /** Units of the tool with so many pages. */
  costOf(pages: number): number;
  /** `status`: what the caller gets. A refused, failed or abandoned call costs nothing, but for what `worked`. */
  settle(end: ToolEnd): void;
}

export interface ToolEnd {
  status: number;
  failure: Failure | null;
  aborted: boolean;
  /** It failed, or nobody waited, after it had kept a thread or the browser busy: it is paid. */
  worked?: boolean;
  /** As the answer's. */
  pages?: number;
}
