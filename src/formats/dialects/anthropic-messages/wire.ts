import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { ChatRequest, CommonMember } from '../openai-chat/wire.ts';

/**
 * The Messages format as Anthropic publishes it (API reference "Messages", version header 2023-06-01), as far as we
 * write it. What we read is never trusted to have these shapes: decoders take JsonObject and look for themselves.
 */
export type MessagesBody = {
  model: string;
  max_tokens: number;
  messages: Turn[];
  stream: boolean;
  system?: TextBlock[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  stop_sequences?: string[];
  tools?: Tool[];
  tool_choice?: ToolChoice;
  thinking?: Thinking;
  output_config?: JsonObject;
  metadata?: { user_id: string };
};

export type Turn = { role: 'user' | 'assistant'; content: Block[] };

export type TextBlock = { type: 'text'; text: string; cache_control?: JsonObject };

export type Source =
  | { type: 'base64'; media_type: string; data: string }
  | { type: 'url'; url: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
  | { type: 'file'; file_id: string };

export type ImageBlock = { type: 'image'; source: Source; cache_control?: JsonObject };
export type DocumentBlock = { type: 'document'; source: Source; title?: string; cache_control?: JsonObject };
export type ThinkingBlock = { type: 'thinking'; thinking: string; signature: string };
export type RedactedThinkingBlock = { type: 'redacted_thinking'; data: string };
export type ToolUseBlock = {
  type: 'tool_use';
  id: string;
  name: string;
  input: JsonObject;
  cache_control?: JsonObject;
};
export type ToolResultBlock = {
  type: 'tool_result';
  tool_use_id: string;
  content?: string | Block[];
  is_error?: true;
  cache_control?: JsonObject;
};

export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  /** A block that is passed on whole, from Anthropic's format. */
  | JsonObject;

export const blockKinds = {
  isResult: ({ type }: JsonObject) => type === 'tool_result',
  isThought: ({ type }: JsonObject) => type === 'thinking' || type === 'redacted_thinking',
};

export type Tool = {
  name: string;
  description?: string;
  input_schema: JsonObject;
  strict?: true;
  cache_control?: JsonObject;
};

export type ToolChoice =
  | { type: 'auto'; disable_parallel_tool_use?: true }
  | { type: 'any'; disable_parallel_tool_use?: true }
  | { type: 'tool'; name: string; disable_parallel_tool_use?: true }
  | { type: 'none' };

export type Thinking =
  | { type: 'enabled'; budget_tokens: number }
  | { type: 'adaptive'; display: 'summarized' }
  | { type: 'disabled' }
  | { type: 'between_tools' };

/*
 * Requests of callers (Anthropic's API reference "Messages", SDK 1.11 and Claude Code 2.1, see clients.md), after
 * `checkRequest` has passed them: types hold, null means absent. If it leaves a complaint to the vendors, only those of
 * fields that the table has a third check for. All other members of a body are kept as they are.
 */

export interface CallerBody extends JsonObject, Pick<ChatRequest, CommonMember | 'max_tokens'> {
  messages: CallerMessage[];
  system?: string | CallerBlock[] | null;
  top_k?: number | null;
  stop_sequences?: string[] | null;
  tools?: CallerTool[] | null;
  tool_choice?: CallerToolChoice | null;
  thinking?: CallerThinking | null;
  output_config?: JsonObject | null;
  output_format?: JsonValue;
  metadata?: (JsonObject & { user_id?: string | null }) | null;
  cache_control?: JsonObject | null;
  thread?: JsonObject | null;
}

export interface CallerMessage extends JsonObject {
  /** A system message may come anywhere: Claude Code sends one after the first turn. */
  role: 'user' | 'assistant' | 'system';
  content: string | CallerBlock[];
}

/** `type` says which members are there; a type that is not known here is carried whole. */
export interface CallerBlock extends JsonObject {
  type: string;
  cache_control?: JsonObject | null;
}

export interface CallerTool extends JsonObject {
  /** Absent, null or `custom` for a tool of the caller; else one that Anthropic defines. */
  type?: string | null;
  cache_control?: JsonObject | null;
}

export interface CustomTool extends CallerTool {
  name: string;
  input_schema: JsonObject;
}

type CallerToolChoice = JsonObject & { disable_parallel_tool_use?: boolean | null } & (
    | { type: 'auto' | 'any' | 'none' }
    | { type: 'tool'; name: string }
  );

export interface CallerThinking extends JsonObject {
  type: string;
  budget_tokens?: number;
  display?: string | null;
}

/** True if the caller runs this tool by a custom schema, which every dialect can express. */
export function isCustomTool(tool: CallerTool): tool is CustomTool {
  return tool.type === undefined || tool.type === null || tool.type === 'custom';
}

/** Names this dialect as the vendor of signatures, redacted reasoning, vendor blocks and extensions. */
export const vendor = 'anthropic-messages';

/** Stop reasons that Bedrock's Converse and Cohere have too. */
export const stopReasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
};
