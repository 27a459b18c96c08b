import type { JsonObject } from '../../kernel/json.ts';
import type { Citation } from './citation.ts';

/** A tool that the caller wants run for the model: by the target's provider, or by this gateway. Plain data. */
export type ServerTool = WebSearchTool | WebFetchTool | FileSearchTool | McpServerTool;

export type ServerToolKind = ServerTool['kind'];

interface OfRequest {
  /** Its place in the caller's request, as losses name it: `tools.web_search`. */
  field: string;
  /** Calls of it that one answer may make; null: the caller does not say. */
  callsMax: number | null;
}

export interface WebSearchTool extends OfRequest {
  kind: 'web_search';
  /** How much of the pages the model reads. */
  detail: 'low' | 'medium' | 'high';
  allowedDomains: readonly string[];
  blockedDomains: readonly string[];
  /** Two letters; null: not given. */
  country: string | null;
}

export interface WebFetchTool extends OfRequest {
  kind: 'web_fetch';
  /** Hosts, with or without a path: `example.com/blog`. None: all but the blocked. */
  allowedDomains: readonly string[];
  blockedDomains: readonly string[];
  /** Length of a page's text, roughly; null: as much as this gateway gives. */
  tokensMax: number | null;
  /** Whether the answer cites the pages. */
  cited: boolean;
  /** `fresh`: a page that was read before is fetched again. */
  cache: 'used' | 'fresh';
  /** Addresses that the conversation names (`addressKey`). The model may read these. */
  known: readonly string[];
  /** Whether it may read addresses that a search or a page of this answer names. */
  followsFound: boolean;
}

export interface FileSearchTool extends OfRequest {
  kind: 'file_search';
  /** Names of vector collections of the caller's. */
  collections: readonly string[];
  resultsMax: number;
  /** In the caller's spelling: `{type, key, value}`, or `{type: and | or, filters}`. */
  filters: JsonObject | null;
  /** Passages with a lower one are left out; null: none are. */
  scoreMin: number | null;
}

/** Tools of an MCP server that meet all of these conditions. */
export interface McpToolFilter {
  /** Their names; null: any. */
  names: readonly string[] | null;
  /** Names of tools that are not meant. */
  except: readonly string[];
  /** Whether the server says that they only read; null: either. */
  readOnly: boolean | null;
}

export interface McpServerTool extends OfRequest {
  kind: 'mcp';
  /** The caller's name for the server. */
  label: string;
  /** Null: the server of the configuration that has the label as its name. */
  url: string | null;
  description: string;
  headers: Readonly<Record<string, string>>;
  /** The tools that the model may call; null: all. */
  allowed: McpToolFilter | null;
  /** Which calls the caller must approve: all, none, or all but these. */
  approval: 'always' | 'never' | { never: McpToolFilter };
  /** The conversation tells of its tools already. */
  isListed: boolean;
}

/** A call of an MCP server that an earlier answer asked the caller to approve, and the caller's word. */
export interface ApprovedCall {
  /** Id of the question. */
  id: string;
  label: string;
  name: string;
  argumentsJson: string;
  approve: boolean;
}

/** Result for the model of a call that the caller does not approve. */
export const deniedText = 'The user does not want this call.';

/** A request's settings of such tools. */
export interface RequestedServerTools {
  tools: readonly ServerTool[];
  /** Calls of all of them together; null: the caller does not say. */
  callsMax: number | null;
  /** The tool that the model must call; null: it may choose. */
  choice: ServerToolKind | null;
  /** Label of the MCP server whose tool that is, and its name; null: any of them. Absent: any server's. */
  server?: { label: string; name: string | null };
  /** Names of the caller's own tools next to them. */
  clientToolNames: readonly string[];
  /** Calls that wait for nothing but this request; absent: none. */
  approvals?: readonly ApprovedCall[];
}

/** A call that this gateway makes for the model. `id` is unique within the answer. */
export type ServerCall =
  | { kind: 'web_search'; id: string; query: string }
  | { kind: 'web_fetch'; id: string; url: string }
  | { kind: 'file_search'; id: string; query: string }
  | { kind: 'mcp'; id: string; label: string; name: string; argumentsJson: string; approvalId: string | null };

/** Result of such a call, for the caller. */
export interface ServerResult {
  /** In words for the model; null: it went well. */
  failure: string | null;
  /** The failure in Anthropic's word; absent: it has none, or `unavailable` does. */
  code?: ServerToolFault;
  /** Pages of a search, as a citation names them, and a page that was fetched; none of a call of an MCP server. */
  sources: readonly ServerSource[];
  /** All that the model is given. */
  text: string;
  /** When the page was fetched, ISO 8601. */
  fetchedAt?: string;
}

export type ServerToolFault =
  | 'max_uses_exceeded'
  | 'invalid_tool_input'
  | 'url_too_long'
  | 'url_not_allowed'
  | 'url_not_in_prior_context'
  | 'url_not_accessible'
  | 'unsupported_content_type'
  | 'content_too_large'
  | 'too_many_requests';

/** A page or passage that a search found. */
export interface ServerSource extends Pick<Citation, 'url' | 'title' | 'quote' | 'fileId' | 'document'> {
  /** From 0 to 1; null: not given. */
  score: number | null;
  /** Payload of a passage, without its text. */
  attributes: JsonObject;
  /** When the page was written, in words; null: not given. */
  age: string | null;
}

/** Events of such tools while an answer is made. */
export type ServerToolStep =
  /** Its arguments are known. */
  | { at: 'called'; call: ServerCall }
  | { at: 'done'; call: ServerCall; result: ServerResult }
  /** The tools of an MCP server were asked for; `failure`: in vain. */
  | { at: 'listed'; id: string; label: string; tools: readonly JsonObject[]; failure: string | null }
  /** The caller must approve a call before it is made. */
  | { at: 'approval'; call: Extract<ServerCall, { kind: 'mcp' }> };
