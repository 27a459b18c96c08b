import type { LoggingLevel } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { ApiCall } from './mcp-tools.ts';
import type { ServerInstructions, UpstreamLists } from './upstream-tools.ts';

/** The offer to the sender of a message: our own tools and those of other servers, or one other server alone. */
export interface McpOffer {
  /** Null: our own tools and those of all servers, with prefixed names. Else one server's, with its own names. */
  only: string | null;
  /** Lists of the other servers that the caller may use; null where there are none. */
  lists: (() => Promise<UpstreamLists>) | null;
  /** Words of those servers about themselves. */
  instructions(): Promise<readonly ServerInstructions[]>;
  /** Values for an argument of one of their prompts or templates. Wrong parameters throw a FailureError. */
  complete(params: JsonObject): Promise<JsonObject>;
}

/** Members that clients add to a message. */
export interface McpHeaders {
  protocolVersion: string | undefined;
  method: string | undefined;
  name: string | undefined;
}

export interface McpAnswer {
  status: number;
  /** JSON; '' for none. */
  body: string;
}

export interface McpMessage {
  /** JSON-RPC, parsed: one message. */
  message: JsonObject;
  headers: McpHeaders;
  version: string;
  offer: McpOffer;
  /** Does a call of our own API for the sender of a message; null when they left. */
  call(call: ApiCall, signal: AbortSignal): Promise<{ status: number; body: JsonValue } | null>;
  /** Log messages of calls of this sender have at least this level from now on. */
  setLogLevel(level: LoggingLevel): void | Promise<void>;
  /** The sender left. */
  signal: AbortSignal;
}
