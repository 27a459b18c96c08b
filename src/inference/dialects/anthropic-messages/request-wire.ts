import type { JsonObject, JsonValue } from '../../../kernel/json.ts';

/*
 * What callers send (Anthropic's API reference "Messages", SDK 1.11 and Claude Code 2.1, see clients.md), after
 * `checkRequest` has passed it: types hold, null stands for absent. Whatever else a body holds is kept as it is.
 */

export interface CallerBody extends JsonObject {
  model: string;
  messages: CallerMessage[];
  max_tokens?: number | null;
  stream?: boolean | null;
  system?: string | CallerBlock[] | null;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  stop_sequences?: string[] | null;
  tools?: CallerTool[] | null;
  tool_choice?: CallerToolChoice | null;
  thinking?: CallerThinking | null;
  output_config?: JsonObject | null;
  output_format?: JsonValue;
  metadata?: (JsonObject & { user_id?: string | null }) | null;
  models?: string[] | null;
}

export interface CallerMessage extends JsonObject {
  /** A system message may stand anywhere: Claude Code sends one behind the first turn. */
  role: 'user' | 'assistant' | 'system';
  content: string | CallerBlock[];
}

/** `type` says which members are there; a type that is not known here is carried whole. */
export interface CallerBlock extends JsonObject {
  type: string;
  cache_control?: JsonObject | null;
}

export interface CallerTool extends JsonObject {
  /** Absent, null or `custom` for a tool of the caller's own; else one that Anthropic defines. */
  type?: string | null;
  name?: string;
  description?: string | null;
  input_schema?: JsonObject;
  cache_control?: JsonObject | null;
}

export interface CallerToolChoice extends JsonObject {
  type: 'auto' | 'any' | 'tool' | 'none';
  name?: string;
  disable_parallel_tool_use?: boolean | null;
}

export interface CallerThinking extends JsonObject {
  type: string;
  budget_tokens?: number;
  display?: string | null;
}

/** Whether the caller runs this tool by a schema of their own, which every dialect can say. */
export function isCustomTool(tool: CallerTool): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom';
}

/** Claude Code's first system block is a line for Anthropic's billing; it means nothing to anybody else. */
export function isBillingHeader(text: string): boolean {
  return text.startsWith('x-anthropic-billing-header:');
}
