import { isObject, type JsonObject, type JsonValue, jsonText, listIn } from '../../../kernel/json.ts';
import { argumentsObject } from '../arguments-text.ts';

/** An answer of Responses as an interaction, with the steps of its model. */
export function interactionOf(response: JsonObject): JsonObject {
  const output = listIn(response.output).filter(isObject);
  const { error } = response;
  return {
    ...headOf(response, statusOf(response, output)),
    steps: output.flatMap(stepsOf),
    ...(isObject(response.usage) && { usage: usageOf(response.usage) }),
    ...(isObject(error) && { errors: [{ code: error.code ?? null, message: error.message ?? null }] }),
  };
}

/** The facts of an interaction that each event of its stream has, too. */
export function headOf(response: JsonObject, status: string): JsonObject {
  const { id, model, created_at: createdS, previous_response_id: previous, service_tier: tier } = response;
  const created = new Date((typeof createdS === 'number' ? createdS : 0) * 1_000).toISOString();
  return {
    id: id ?? null,
    object: 'interaction',
    model: model ?? null,
    status,
    created,
    updated: created,
    ...(typeof previous === 'string' && { previous_interaction_id: previous }),
    ...(typeof tier === 'string' && { service_tier: tier }),
  };
}

/** A call of the caller's functions asks for its result. */
export function statusOf({ status }: JsonObject, output: readonly JsonObject[]): string {
  if (status === 'completed' && output.some(({ type }) => type === 'function_call')) return 'requires_action';
  return typeof status === 'string' ? status : 'completed';
}

/** Google counts thoughts apart from the output. */
export function usageOf(usage: JsonObject): JsonObject {
  const [input, output] = [countOf(usage.input_tokens), countOf(usage.output_tokens)];
  const thought = detailOf(usage.output_tokens_details, 'reasoning_tokens');
  return {
    total_input_tokens: input,
    total_output_tokens: Math.max(0, output - thought),
    total_thought_tokens: thought,
    total_cached_tokens: detailOf(usage.input_tokens_details, 'cached_tokens'),
    total_tokens: input + output,
  };
}

/** The steps of one item of the output; none for an item that has no counterpart. */
export function stepsOf(item: JsonObject): JsonObject[] {
  switch (item.type) {
    case 'message':
      return [{ type: 'model_output', content: listIn(item.content).flatMap(contentOf) }];
    case 'reasoning':
      return [{ type: 'thought', ...signatureOf(item), summary: listIn(item.summary).flatMap(textOf) }];
    case 'function_call':
      return [{ ...callOf(item), arguments: argumentsObject(jsonText(item.arguments)) ?? {} }];
    case 'image_generation_call':
      return typeof item.result === 'string' ? [{ type: 'model_output', content: [pictureOf(item, item.result)] }] : [];
    case 'web_search_call':
      return [{ type: 'google_search_call', id: item.id ?? null, arguments: { queries: queriesIn(item.action) } }];
    case 'mcp_call':
      return mcpSteps(item);
    default:
      return [];
  }
}

/** The beginning of a call, whose arguments come later. */
export function callOf({ call_id: id, name }: JsonObject): JsonObject {
  return { type: 'function_call', id: id ?? null, name: name ?? null, arguments: {} };
}

export function signatureOf({ encrypted_content: signature }: JsonObject): JsonObject {
  return typeof signature === 'string' && signature !== '' ? { signature } : {};
}

/** A source of the text; null for another kind. */
export function citationOf(annotation: JsonValue | undefined): JsonObject | null {
  if (!isObject(annotation) || annotation.type !== 'url_citation') return null;
  const { url, title, start_index: start, end_index: end } = annotation;
  return {
    type: 'url_citation',
    url: url ?? null,
    title: title ?? null,
    start_index: start ?? null,
    end_index: end ?? null,
  };
}

function contentOf(part: JsonValue): JsonObject[] {
  if (!isObject(part)) return [];
  if (part.type === 'refusal') return [{ type: 'text', text: part.refusal ?? '' }];
  if (part.type !== 'output_text') return [];
  const annotations = listIn(part.annotations)
    .map(citationOf)
    .filter((one) => one !== null);
  return [{ type: 'text', text: part.text ?? '', ...(annotations.length > 0 && { annotations }) }];
}

function textOf(part: JsonValue): JsonObject[] {
  return isObject(part) && typeof part.text === 'string' ? [{ type: 'text', text: part.text }] : [];
}

function pictureOf({ output_format: format }: JsonObject, data: string): JsonObject {
  return { type: 'image', data, mime_type: `image/${typeof format === 'string' ? format : 'png'}` };
}

function queriesIn(action: JsonValue | undefined): JsonValue[] {
  return isObject(action) && typeof action.query === 'string' ? [action.query] : [];
}

function mcpSteps({ id, name, server_label: server, arguments: json, output, error }: JsonObject): JsonObject[] {
  const step = { name: name ?? null, server_name: server ?? null };
  const values = argumentsObject(jsonText(json)) ?? {};
  const isError = typeof error === 'string';
  return [
    { type: 'mcp_server_tool_call', id: id ?? null, ...step, arguments: values },
    {
      type: 'mcp_server_tool_result',
      call_id: id ?? null,
      ...step,
      result: isError ? error : (output ?? ''),
      is_error: isError,
    },
  ];
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

function detailOf(details: JsonValue | undefined, name: string): number {
  return isObject(details) ? countOf(details[name]) : 0;
}
