import type { Principal } from '../../books/auth/principal.ts';
import type { NeutralPart } from '../../formats/neutral/request.ts';
import type {
  FileSearchTool,
  McpServerTool,
  ServerSource,
  ServerToolKind,
  WebFetchTool,
  WebSearchTool,
} from '../../formats/neutral/server-tool.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** For whom a tool is called. */
export interface ToolOwner {
  principal: Principal;
  /** The request that the call is for; the call's own row in the ledger names it. */
  requestId: string;
  tag: string | null;
}

/**
 * Given by the composition: the tools of this gateway, as calls of the owner's own key. Each is held, charged and
 * settled separately, and has a row in the ledger. Nothing rejects but for a fault of ours.
 */
export interface ServerToolPorts {
  /** Whether there is something behind the tool: a search engine for `web_search`. */
  has(kind: ServerToolKind): boolean;
  searchWeb(owner: ToolOwner, query: string, how: WebSearchTool, signal: AbortSignal): Promise<FoundSources | Failure>;
  /** Reads one page. `mayFollow` is asked before a redirect is followed. A page that answers with an error is one. */
  fetchPage(
    owner: ToolOwner,
    url: string,
    how: Pick<WebFetchTool, 'cache'>,
    mayFollow: (url: URL) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<FetchedPage | Failure>;
  /** Opens a session and asks for the server's tools. The opener closes it. */
  openMcp(owner: ToolOwner, server: McpServerTool, bounds: CallBounds): Promise<McpServerSession | Failure>;
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

export interface FetchedPage {
  /** Where redirects ended. */
  url: string;
  title: string;
  /** HTTP status of the page. */
  status: number;
  /** Markdown of its main content. */
  text: string;
  /** ISO 8601. */
  fetchedAt: string;
  /** Milli-units that the call cost. */
  costMilli: number;
}

export interface CallBounds {
  timeoutMs: number;
  /** Nobody waits any more. */
  signal: AbortSignal;
}

export interface McpServerSession {
  kind: 'open';
  tools: readonly McpServerFunction[];
  /** In words for the model; a failure is one of the server, or of the limits of the owner. */
  call(name: string, args: JsonObject, bounds: CallBounds): Promise<McpCallResult>;
  close(): Promise<void>;
}

export interface McpServerFunction {
  name: string;
  description: string;
  /** JSON Schema. */
  inputSchema: JsonObject;
  annotations: JsonObject | null;
}

export interface McpCallResult {
  /** For the model, in order: texts, pictures and sound. */
  parts: readonly NeutralPart[];
  /** Kinds of media that no model would read. */
  lost: ReadonlySet<'image' | 'audio'>;
  /** The same in words alone. */
  text: string;
  /** The tool could not do it, or it could not be asked. */
  isError: boolean;
  costMilli: number;
}
