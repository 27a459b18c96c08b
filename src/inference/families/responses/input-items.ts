import { gatewayIdMark } from '../../../formats/dialects/openai-responses/wire.ts';
import { type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import type { StoredItem } from './sealed-rows.ts';
import { outputOf, type StoredResponse } from './stored-responses.ts';

/** How ids of items begin, by their type. */
const idPrefixes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    message: 'msg',
    function_call: 'fc',
    function_call_output: 'fco',
    custom_tool_call: 'ctc',
    custom_tool_call_output: 'ctco',
    shell_call_output: 'sho',
    apply_patch_call_output: 'apco',
    computer_call_output: 'cuo',
    reasoning: 'rs',
    compaction: 'cmp',
    web_search_call: 'ws',
    file_search_call: 'fs',
    mcp_list_tools: 'mcpl',
    mcp_call: 'mcp',
    mcp_approval_request: 'mcpr',
    mcp_approval_response: 'mcpa',
  }),
);

/** The items of `input`: a text alone is a message of the user's. */
export function inputItems(input: JsonValue | undefined): JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return objectsIn(input);
}

/** The items of `input` as they are kept and listed: each has a type and an id, which `salt` makes unique. */
export function storedItems(input: JsonValue | undefined, salt: string): StoredItem[] {
  return inputItems(input).map((item, at): StoredItem => {
    const type = typeof item.type === 'string' ? item.type : item.role === undefined ? 'item_reference' : 'message';
    const id =
      typeof item.id === 'string' && item.id !== ''
        ? item.id
        : `${idPrefixes.get(type) ?? 'item'}_${gatewayIdMark}${salt}i${at}`;
    if (type !== 'message') return { ...item, type, id };
    return { ...item, type, id, status: item.status ?? 'completed', content: parts(item) };
  });
}

/** A text alone is one part of it. */
function parts({ role, content }: JsonObject): JsonValue {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/** All that a model reads of kept responses, the oldest first. */
export function itemsOf(chain: readonly Pick<StoredResponse, 'input' | 'response'>[]): StoredItem[] {
  return chain.flatMap(({ input, response }) => [...input, ...outputOf(response)]);
}

/**
 * Items without calls that come again before their result: LiveKit sends them behind the response that made them. Providers
 * of other formats refuse two calls with one id.
 */
export function withoutRepeatedCalls(items: readonly JsonObject[]): JsonObject[] {
  const open = new Set<JsonValue | undefined>();
  return items.filter(({ type, call_id: id }) => {
    if (type === 'function_call_output' || type === 'custom_tool_call_output') open.delete(id);
    if (type !== 'function_call' && type !== 'custom_tool_call') return true;
    return !open.has(id) && open.add(id);
  });
}

/** Items that a provider looks up by their id: they are of no use without it. */
const wholeTypes: ReadonlySet<JsonValue | undefined> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);

/**
 * Kept items as they are sent again, to whichever provider answers next. Ids are left out: OpenAI looks for the thought
 * that belongs to a call's id, and another provider knows none. A thought that only its own provider could look up is left
 * out whole.
 */
export function sentAgain(items: readonly StoredItem[]): JsonObject[] {
  return items.flatMap((item): JsonObject[] => {
    if (item.type === 'reasoning') {
      return typeof item.encrypted_content === 'string' && item.encrypted_content !== '' ? [item] : [];
    }
    if (!wholeTypes.has(item.type)) return [item];
    const { id: _, status: __, ...whole } = item;
    return [whole];
  });
}
