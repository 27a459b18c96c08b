import type { JsonObject, JsonValue } from '../../../kernel/json.ts';

/*
 * OpenAI's Responses on the wire (published OpenAPI description, `test/spec/openai-openapi.json`). Only the parts that
 * a conversion reads are typed; everything else stays unchanged.
 */

/** Name of this dialect where other dialects keep its fields. */
export const openAiResponsesId = 'openai-responses';

/**
 * A request that `checkRequest` has passed: types and bounds hold, null stands for absent. Where it leaves a complaint to
 * the vendors, only those of fields that the table has a third check for.
 */
export interface ResponsesRequest extends JsonObject {
  model: string;
  input?: string | InputItem[] | null;
  instructions?: string | null;
  stream?: boolean | null;
  max_output_tokens?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  top_logprobs?: number | null;
  tools?: WireTool[] | null;
  tool_choice?: string | JsonObject | null;
  parallel_tool_calls?: boolean | null;
  text?: (JsonObject & { format?: TextFormat | null; verbosity?: string | null }) | null;
  reasoning?: (JsonObject & { effort?: string | null; summary?: string | null }) | null;
  include?: string[] | null;
  metadata?: JsonObject | null;
  truncation?: 'auto' | 'disabled' | null;
  store?: boolean | null;
  previous_response_id?: string | null;
  background?: boolean | null;
  user?: string | null;
  models?: string[] | null;
  /** LiteLLM's. */
  fallbacks?: JsonValue;
}

/** `type` says which members are there; a message may come without it. */
export interface InputItem extends JsonObject {
  type?: string | null;
  role?: 'user' | 'assistant' | 'system' | 'developer';
  content?: string | ContentPart[] | null;
  call_id?: string;
  name?: string;
  arguments?: string;
  input?: string;
  output?: string | ContentPart[];
  encrypted_content?: string | null;
  summary?: JsonObject[] | null;
}

export interface ContentPart extends JsonObject {
  type: string;
  text?: string;
  refusal?: string;
  image_url?: string | null;
  file_id?: string | null;
  file_data?: string | null;
  file_url?: string | null;
  filename?: string | null;
  detail?: string | null;
  input_audio?: JsonObject & { data: string; format: string };
}

export interface WireTool extends JsonObject {
  type: string;
  name?: string;
  description?: string | null;
  parameters?: JsonObject | null;
  strict?: boolean | null;
  format?: JsonObject | null;
}

export interface TextFormat extends JsonObject {
  type: 'text' | 'json_object' | 'json_schema';
  name?: string;
  schema?: JsonObject;
  strict?: boolean | null;
  description?: string | null;
}

/** Ids that this gateway gave to converted items: no provider knows them. */
export const ownIdMark = 'cv_';

export function isOwnId(id: JsonValue | undefined): boolean {
  return typeof id === 'string' && /^(?:msg|rs|fc|ctc|ig|ws|fs|mcp|mcpl|mcpr)_cv_/.test(id);
}

/** Whether the item tells of a tool that this gateway ran, or answers a question of its own. */
export function isOwnStep({ id, type, approval_request_id: question }: JsonObject): boolean {
  if (type === 'mcp_approval_response') return typeof question === 'string' && ownSteps.test(question);
  return typeof id === 'string' && ownSteps.test(id);
}

const ownSteps = /^(?:ws|fs|mcp|mcpl|mcpr)_cv_/;
