import { isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import { type Loss, Losses, lossesOfRest } from '../../neutral/loss.ts';
import { offeredTools } from './offered-tools.ts';
import type { ResponsesRequest } from './wire.ts';

const everywhere = 'type id status created_by annotations logprobs prompt_cache_breakpoint cache_control';
/** Members that a conversion reads, by the type of their holder. Holders of other types are left out or kept whole. */
const members: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    message: 'role content',
    function_call: 'call_id name namespace arguments',
    custom_tool_call: 'call_id name namespace input',
    function_call_output: 'call_id output',
    custom_tool_call_output: 'call_id output',
    input_text: 'text',
    output_text: 'text',
    input_image: 'image_url file_id detail',
    input_file: 'filename file_data file_url file_id',
    function: 'name description parameters strict',
    custom: 'name description format',
    reasoning: 'effort summary generate_summary content encrypted_content',
    settings: 'format verbosity',
    json_schema: 'name schema strict description',
  }).map(([type, names]) => [type, new Set(`${everywhere} ${names}`.split(' '))]),
);

/** Values that leaving the member out means too. */
const defaults: ReadonlySet<JsonValue | undefined> = new Set(['auto', 'standard', 'direct']);

/** Members with a value inside of items, parts, tools, `reasoning` and `text` that no conversion has a place for. */
export function membersBeyond({ input, tools, reasoning, text }: ResponsesRequest): Loss[] {
  const losses = new Losses();
  const look = (holder: JsonObject, path: string, type = holder.type ?? 'message'): void => {
    const taken = members.get(jsonText(type));
    for (const { field } of taken === undefined ? [] : lossesOfRest(holder, taken)) {
      const value = holder[field];
      if (!defaults.has(isObject(value) ? value.type : value))
        losses.add(`${path || `input.${type}`}.${field}`, 'unsupported');
    }
  };
  for (const item of Array.isArray(input) ? input : []) {
    look(item, '');
    for (const part of [item.content, item.output].flat()) if (isObject(part) && part.type != null) look(part, '');
  }
  for (const { tool } of offeredTools({ tools: tools ?? null })) look(tool, 'tools');
  look(objectIn(reasoning), 'reasoning', 'reasoning');
  look(objectIn(text), 'text', 'settings');
  look(objectIn(text?.format), 'text.format');
  return losses.list;
}
