import type { CalledMcp, McpCallRecord } from '../inference/routing/route.ts';
import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/** The web tools that answer in one call. */
export type ToolName = 'search' | 'scrape' | 'map';

/** Cost of a tool call, held at once before anything is fetched. */
export interface ToolCharge {
  /** `mcp`: a call of an MCP server elsewhere. */
  tool: ToolName | 'mcp';
  /** Its name in the ledger; absent: none. */
  about?: string;
  /** The called MCP server and tool. */
  mcp?: CalledMcp;
  /** Further pages that it may read: each at the cost of a scrape. */
  pagesMax: number;
}

/** A call whose body was found right. */
export interface ToolJob {
  charge: ToolCharge;
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
}

/** Given by the composition: holds the cost of a call. Rejects only for a fault of ours. */
export interface ToolMeter<Call> {
  hold(call: Call, charge: ToolCharge): Promise<ToolHold | Failure>;
}

/** Must be settled, once. */
export interface ToolHold {
  kind: 'held';
  /** Answer headers: limits, cost. Flat name, value… */
  readonly headers: readonly string[];
  /** Units of the tool with this many pages. */
  costOf(pages: number): number;
  /** `status`: that of the caller's answer. A refused, failed or abandoned call costs nothing, except with `worked`. */
  settle(end: ToolEnd): void;
}

export interface ToolEnd {
  status: number;
  failure: Failure | null;
  aborted: boolean;
  /** It failed, or nobody waited, after it had kept a thread or the browser busy: it is paid. */
  worked?: boolean;
  /** Pages in the answer. */
  pages?: number;
  /** Record of a call of an MCP server, with its outcome. */
  mcp?: Pick<McpCallRecord, 'outcome' | 'bytes'>;
}
