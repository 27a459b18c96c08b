import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/*
 * OpenAI's chat completions as they travel (published OpenAPI description, `test/spec/openai-openapi.json`), plus
 * what providers of the same format add: `reasoning_content` or `reasoning`, `cache_control` on parts.
 */

/**
 * A request that `checkRequest` has passed: types and bounds hold, null means absent. If it leaves a complaint to the
 * vendors, only those of fields that the table has a third check for.
 */
export interface ChatRequest extends JsonObject {
  model: string;
  messages: ChatMessage[];
  stream?: boolean | null;
  stream_options?: (JsonObject & { include_usage?: boolean | null }) | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: JsonValue;
  frequency_penalty?: number | null;
  presence_penalty?: number | null;
  stop?: string | string[] | null;
  n?: number | null;
  seed?: number | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  logit_bias?: JsonObject | null;
  tools?: ChatTool[] | null;
  tool_choice?: ChatToolChoice | null;
  parallel_tool_calls?: boolean | null;
  functions?: ChatFunction[] | null;
  function_call?: 'none' | 'auto' | (JsonObject & { name: string }) | null;
  response_format?: ChatResponseFormat | null;
  reasoning_effort?: string | null;
  user?: string | null;
  models?: string[] | null;
  /** LiteLLM's. */
  fallbacks?: JsonValue;
}

/** Members that Responses and Messages name as chat does. */
export type CommonMember = 'model' | 'stream' | 'temperature' | 'top_p' | 'models' | 'fallbacks';

export type ChatRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';

export interface ChatMessage extends JsonObject {
  role: ChatRole;
  content?: string | ChatPart[] | null;
  name?: string | null;
  tool_calls?: ChatToolCall[] | null;
  function_call?: (JsonObject & { name: string; arguments: string }) | null;
  tool_call_id?: string | null;
  refusal?: string | null;
  reasoning_content?: string | null;
}

export type ChatPart = JsonObject & { cache_control?: JsonObject } & (
    | { type: 'text'; text: string }
    | { type: 'refusal'; refusal: string }
    | { type: 'thinking'; thinking: string | JsonValue[] }
    | { type: 'image_url'; image_url: string | (JsonObject & { url: string; detail?: string | null }) }
    | { type: 'document_url'; document_url: string; document_name?: string | null }
    | { type: 'input_audio'; input_audio: JsonObject & { data: string; format: string } }
    | {
        type: 'file';
        file: JsonObject & { filename?: string | null; file_data?: string | null; file_id?: string | null };
      }
  );

export interface ChatToolCall extends JsonObject {
  id: string;
  type?: 'function' | 'custom' | null;
  function?: JsonObject & { name: string; arguments: string };
  custom?: JsonObject & { name: string; input: string };
}

export interface ChatFunction extends JsonObject {
  name: string;
  description?: string | null;
  parameters?: JsonObject | null;
  strict?: boolean | null;
}

export interface ChatTool extends JsonObject {
  type: 'function' | 'custom';
  function?: ChatFunction;
  custom?: JsonObject & { name: string };
  cache_control?: JsonObject;
}

export type ChatToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | 'validated'
  | 'any'
  | (JsonObject & { type: string; function?: JsonObject & { name: string } });

interface ChatJsonSchema extends JsonObject {
  name: string;
  schema?: JsonObject | null;
  strict?: boolean | null;
  description?: string | null;
}

export type ChatResponseFormat = JsonObject &
  ({ type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: ChatJsonSchema });

export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/** The schema within JSON mode: `schema` for servers of open models, `value` for TGI, as Hugging Face's SDK for Python sends it. */
export function schemaOfMode({ type, schema, value }: JsonObject): JsonObject | null {
  return type === 'json_object' ? ([schema, value].find(isObject) ?? null) : null;
}

/** Name of this dialect where other dialects keep its fields. */
export const openAiChatId = 'openai-chat';

export const doneFrame = 'data: [DONE]\n\n';
