import type { Principal } from '../../auth/principal.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { FileSearchTool, ServerSource, ServerToolKind, WebSearchTool } from '../neutral/server-tool.ts';

/** For whom a tool is called. */
export interface ToolOwner {
  principal: Principal;
  /** The request that the call is for; the call's own row in the ledger names it. */
  requestId: string;
  tag: string | null;
}

/**
 * Given by the composition: the tools of this gateway, as calls of the owner's own key. Each is held, charged and settled
 * by itself, and has a row in the ledger. Nothing rejects but for a fault of ours.
 */
export interface ServerToolPorts {
  /** Whether there is something behind the tool: a search engine for `web_search`. */
  has(kind: ServerToolKind): boolean;
  searchWeb(owner: ToolOwner, query: string, how: WebSearchTool, signal: AbortSignal): Promise<FoundSources | Failure>;
  searchFiles(
    owner: ToolOwner,
    query: string,
    how: FileSearchTool,
    signal: AbortSignal,
  ): Promise<FoundSources | Failure>;
}

export interface FoundSources {
  sources: readonly ServerSource[];
  /** Milli-units that the call cost. */
  costMilli: number;
}
