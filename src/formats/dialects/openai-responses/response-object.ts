import { type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { type Beside, type FinishReason, membersIn } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { argumentsObject, customInput } from '../arguments-text.ts';
import type { CompleteJson } from '../complete-json.ts';
import type { AnswerHead } from '../dialect.ts';
import { clientItem } from './client-tools.ts';
import { openAiResponsesId } from './wire.ts';

/** The items of an answer while it is made. `index` is the place in `output`. */
export type OutputItem = (MessageItem | ThoughtItem | CallItem | WholeItem) & {
  /** Further members that its provider gave it. */
  words?: JsonObject;
};

export interface MessageItem {
  kind: 'message';
  id: string;
  index: number;
  parts: MessagePart[];
  /** True if the last part may still grow. */
  partOpen: boolean;
}

export interface MessagePart {
  kind: 'text' | 'refusal';
  text: string;
  annotations: JsonObject[];
  logprobs: JsonValue[];
}

export interface ThoughtItem {
  kind: 'thought';
  id: string;
  index: number;
  /** Null until the first of its text: a thought may have nothing to show. */
  text: string | null;
  encrypted: string | null;
}

export interface CallItem {
  /** `search`: of tools, by the caller. `client`: of a tool that OpenAI defines and the caller runs, by its name. */
  kind: 'function' | 'custom' | 'search' | 'client';
  id: string;
  index: number;
  callId: string;
  name: string;
  namespace?: string;
  /** Arguments as JSON; for a custom tool, too, until it is unwrapped. */
  argumentsJson: string;
  json: CompleteJson;
  open: boolean;
}

/** An item that comes in one piece: a picture, or the call of a provider's tool. `wire` is without `id`. */
export interface WholeItem {
  kind: 'whole';
  id: string;
  index: number;
  wire: JsonObject;
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The item in the wire's form, with its content so far. */
export function wireItem(item: OutputItem, status: ItemStatus): JsonObject {
  return { ...bareItem(item, status), ...item.words };
}

function bareItem(item: OutputItem, status: ItemStatus): JsonObject {
  switch (item.kind) {
    case 'message':
      return { id: item.id, type: 'message', status, role: 'assistant', content: item.parts.map(wirePart) };
    case 'thought':
      return {
        id: item.id,
        type: 'reasoning',
        // OpenAI leaves it out; xAI has it, whose client demands it.
        status,
        summary: item.text === null || item.text === '' ? [] : [{ type: 'summary_text', text: item.text }],
        ...(item.encrypted !== null && { encrypted_content: item.encrypted }),
      };
    case 'whole':
      return status === 'in_progress' && item.wire.type === 'image_generation_call'
        ? { id: item.id, type: 'image_generation_call', status, result: null }
        : { ...item.wire, id: item.id };
    case 'function':
      return {
        id: item.id,
        type: 'function_call',
        status,
        arguments: status === 'in_progress' ? '' : item.argumentsJson,
        call_id: item.callId,
        name: item.name,
        ...(item.namespace !== undefined && { namespace: item.namespace }),
      };
    case 'search':
      return {
        id: item.id,
        type: 'tool_search_call',
        execution: 'client',
        status,
        call_id: item.callId,
        arguments: status === 'in_progress' ? {} : (argumentsObject(item.argumentsJson) ?? {}),
      };
    case 'client':
      return clientItem(item.name, item.argumentsJson, { id: item.id, status, call_id: item.callId });
    case 'custom':
      return {
        id: item.id,
        type: 'custom_tool_call',
        status,
        call_id: item.callId,
        name: item.name,
        ...(item.namespace !== undefined && { namespace: item.namespace }),
        input: status === 'in_progress' ? '' : customInput(item.argumentsJson),
      };
  }
}

export function wirePart(part: MessagePart): JsonObject {
  return part.kind === 'refusal'
    ? { type: 'refusal', refusal: part.text }
    : { type: 'output_text', text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}

/** State of an answer. `incomplete` has a reason; the word is OpenAI's. */
export type ResponseState =
  | { status: 'in_progress' }
  | { status: 'completed' }
  | { status: 'incomplete'; reason: 'max_output_tokens' | 'content_filter' }
  | { status: 'failed'; code: string; message: string; members: JsonObject };

export interface ResponseFacts {
  id: string;
  createdS: number;
  /** Absent: it has not completed, or nobody knows. */
  completedS?: number | undefined;
  model: string;
  /** `CallerRequest.echo` of the request. */
  echo: JsonObject | undefined;
  output: JsonValue[];
  usage: Usage | null;
  /** Usage as its provider wrote it; absent: nobody knows. */
  counted?: Beside | undefined;
  /** Further members of its provider, such as findings of Azure's filter; absent: none came. */
  words?: JsonObject;
}

/** `resp_` and the unique part of the fallback id, which is the request's own: a log line leads to the other. */
export function responseIdOf({ fallbackId }: AnswerHead): string {
  return `resp_${saltOf(fallbackId)}`;
}

/** The part of an id after its prefix. */
export function saltOf(id: string): string {
  return id.replace(/^[a-z]+[-_]/i, '').replace(/[^\w-]/g, '');
}

export function stateAtEnd(reason: FinishReason): ResponseState {
  switch (reason) {
    case 'length':
    case 'context-full':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content-filter':
      return { status: 'incomplete', reason: 'content_filter' };
    default:
      return { status: 'completed' };
  }
}

/** The `response` object, of whole answers and in streams. Usage only at the end. */
export function responseObject(facts: ResponseFacts, state: ResponseState): JsonObject {
  const ended = state.status === 'completed' || state.status === 'incomplete';
  return {
    id: facts.id,
    object: 'response',
    created_at: facts.createdS,
    completed_at: facts.completedS ?? null,
    status: state.status,
    error: state.status === 'failed' ? { ...state.members, code: state.code, message: state.message } : null,
    incomplete_details: state.status === 'incomplete' ? { reason: state.reason } : null,
    instructions: null,
    model: facts.model,
    output: facts.output,
    previous_response_id: null,
    store: false,
    tools: [],
    // OpenRouter's SDKs refuse a response without them.
    frequency_penalty: 0,
    presence_penalty: 0,
    ...{ ...unsaid, ...objectIn(facts.echo?.settings) },
    ...(ended && { usage: wireUsage(facts), ...facts.words }),
  };
}

/** Members as OpenAI gives them where a request does not. Clients in Kotlin demand `text`. */
const unsaid: JsonObject = {
  parallel_tool_calls: true,
  tool_choice: 'auto',
  // Hugging Face's provider of the AI SDK wants numbers.
  ...{ temperature: 1, top_p: 1, max_output_tokens: null, background: false },
  metadata: {},
  text: { format: { type: 'text' } },
};

/** OpenAI's `usage` object: the details are required there, so an unknown count is 0. */
function wireUsage({ usage, counted }: ResponseFacts): JsonObject {
  const inputTokens = usage?.inputTokens ?? 0;
  const outputTokens = usage?.outputTokens ?? 0;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage?.cachedInputTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage?.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
    ...membersIn(counted, openAiResponsesId),
  };
}
