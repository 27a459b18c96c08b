import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { ChatRequest, CommonMember } from '../openai-chat/wire.ts';

/*
 * OpenAI's Responses on the wire (published OpenAPI description, `test/spec/openai-openapi.json`). Only the parts that
 * a conversion reads are typed; everything else stays unchanged.
 */

/** Name of this dialect where other dialects keep its fields. */
export const openAiResponsesId = 'openai-responses';

/**
 * A request that `checkRequest` has passed: types and bounds hold, null means absent. If it leaves a complaint to the
 * vendors, only those of fields that the table has a third check for.
 */
/** Members of requests of another format that are read as these: the format has no such fields. */
export const stopMember = 'stop of another format';
export const seedMember = 'seed of another format';

export interface ResponsesRequest extends JsonObject, Pick<ChatRequest, MemberOfBoth> {
  [stopMember]?: string[];
  [seedMember]?: number;
  input?: string | InputItem[] | null;
  instructions?: string | null;
  max_output_tokens?: number | null;
  tools?: WireTool[] | null;
  tool_choice?: string | JsonObject | null;
  text?: (JsonObject & { format?: TextFormat | null; verbosity?: string | null }) | null;
  reasoning?: (JsonObject & { [name in 'effort' | 'summary' | 'generate_summary']?: string | null }) | null;
  include?: string[] | null;
  metadata?: JsonObject | null;
  truncation?: 'auto' | 'disabled' | null;
  store?: boolean | null;
  previous_response_id?: string | null;
  background?: boolean | null;
}

type MemberOfBoth = CommonMember | 'top_logprobs' | 'parallel_tool_calls' | 'user';

interface AnyItem extends JsonObject {
  role?: 'user' | 'assistant' | 'system' | 'developer';
  content?: string | ContentPart[] | null;
  encrypted_content?: string | null;
  summary?: JsonObject[] | null;
}

/** A message may come without a type. Other types are kept whole. */
export type InputItem = AnyItem &
  (
    | { type?: 'message' | 'reasoning' | 'item_reference' | 'image_generation_call' | 'web_search_call' | null }
    | { type: 'tool_search_call' | 'tool_search_output' | 'additional_tools' | 'configuration_update' }
    | {
        type: `mcp_${'call' | 'list_tools' | 'approval_request' | 'approval_response'}`;
        name?: string;
        arguments?: string;
      }
    | { type: 'function_call'; call_id: string; name: string; arguments: string }
    | { type: 'custom_tool_call'; call_id: string; name: string; input: string }
    | { type: `${'function' | 'custom_tool'}_call_output`; call_id: string; output: string | ContentPart[] }
  );

type FileFields = 'file_id' | 'file_data' | 'file_url' | 'filename';
export type InputFile = JsonObject & { type: 'input_file' } & { [name in FileFields]?: string | null };

/** Parts of other types are kept whole. */
export type ContentPart =
  | (JsonObject & { type: 'input_text' | 'output_text' | 'text'; text: string })
  | (JsonObject & { type: 'refusal'; refusal: string })
  | (JsonObject & { type: 'input_image'; image_url?: string | null; file_id?: string | null; detail?: string | null })
  | (JsonObject & { type: 'input_audio'; input_audio: JsonObject & { data: string; format: string } })
  | InputFile;

/** Tools of other types are kept whole. */
export type WireTool = JsonObject & { description?: string | null } & (
    | { type: 'function'; name: string; parameters?: JsonObject | null; strict?: boolean | null }
    | { type: 'custom'; name: string; format?: JsonObject | null }
    | { type: 'web_search' | 'file_search' | 'mcp' | 'namespace' | 'tool_search' }
  );

interface JsonSchemaFormat extends JsonObject {
  type: 'json_schema';
  name: string;
  schema: JsonObject;
  strict?: boolean | null;
  description?: string | null;
}

export type TextFormat = (JsonObject & { type: 'text' | 'json_object' }) | JsonSchemaFormat;

/** Ids that this gateway gave to converted items: no provider knows them. */
export const gatewayIdMark = 'cv_';

export function isGatewayId(id: JsonValue | undefined): boolean {
  return typeof id === 'string' && /^(?:msg|rs|fc|ctc|tsc|sh|lsh|apc|cu|ig|ws|fs|mcp|mcpl|mcpr)_cv_/.test(id);
}

/** True if the item is of a tool that this gateway ran, or answers a question of it. */
export function isGatewayStep({ id, type, approval_request_id: question }: JsonObject): boolean {
  if (type === 'mcp_approval_response') return typeof question === 'string' && gatewaySteps.test(question);
  return typeof id === 'string' && gatewaySteps.test(id);
}

const gatewaySteps = /^(?:ws|fs|mcp|mcpl|mcpr)_cv_/;
