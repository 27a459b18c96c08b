import { type Failure, invalid, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, listIn, objectIn } from '../../../kernel/json.ts';
import { seedMember, stopMember } from '../openai-responses/wire.ts';

/*
 * Google's Interactions (https://ai.google.dev/gemini-api/docs/interactions) as requests of OpenAI's Responses, which keep the
 * same things: an answer that is stored, continued, begun in the background, called off.
 */

/** A request of Responses; `lost`: fields of the caller that it has no place for. */
export interface AsResponseRequest {
  body: JsonObject;
  lost: readonly string[];
}

/** Fields of Responses in the words of Interactions, for errors and losses. */
export const interactionWords: Readonly<Record<string, string>> = {
  instructions: 'system_instruction',
  previous_response_id: 'previous_interaction_id',
  max_output_tokens: 'generation_config.max_output_tokens',
  temperature: 'generation_config.temperature',
  top_p: 'generation_config.top_p',
  reasoning: 'generation_config.thinking_level',
  tool_choice: 'generation_config.tool_choice',
  stop: 'generation_config.stop_sequences',
  seed: 'generation_config.seed',
  text: 'response_format',
  metadata: 'labels',
};

const passed = ['model', 'background', 'store', 'stream', 'service_tier'] as const;
const read = new Set<string>([
  ...passed,
  'input',
  'system_instruction',
  'generation_config',
  'tools',
  'response_format',
  'response_mime_type',
  'previous_interaction_id',
  'labels',
]);
const readConfig = new Set(
  'temperature top_p max_output_tokens thinking_level thinking_summaries tool_choice stop_sequences seed'.split(' '),
);

/** Reads a request of Interactions. What only Google runs (agents, their environments) is refused. */
export function toResponseRequest(request: JsonObject): AsResponseRequest | Failure {
  if (request.agent !== undefined)
    return invalid('agent', "'agent' runs at Google alone. Send a 'model', which GET /v1beta/models lists.");
  const lost = new Set(Object.keys(request).filter((name) => !read.has(name)));
  const input = inputOf(request.input, lost);
  if (isFailure(input)) return input;
  const config = objectIn(request.generation_config);
  for (const name in config) if (!readConfig.has(name)) lost.add(`generation_config.${name}`);
  const tools = toolsOf(request.tools, lost);
  const sampling = samplingOf(config, tools, lost);
  if (isFailure(sampling)) return sampling;
  const body: JsonObject = {
    ...Object.fromEntries(passed.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]]))),
    ...(input !== undefined && { input }),
    ...given('instructions', request.system_instruction),
    ...given('previous_response_id', request.previous_interaction_id),
    ...given('metadata', request.labels),
    ...given('temperature', config.temperature),
    ...given('top_p', config.top_p),
    ...given('max_output_tokens', config.max_output_tokens),
    ...sampling,
    ...reasoningOf(config),
    ...given('text', formatOf(request, lost)),
    ...given('tools', tools),
    ...given('tool_choice', choiceOf(config.tool_choice)),
    // A caller that keeps the history itself sends the proofs of thoughts back.
    ...(request.store === false && { include: ['reasoning.encrypted_content'] }),
  };
  return { body, lost: [...lost] };
}

function given(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value };
}

/** Fields that Responses lacks. A provider that runs tools is asked in its own format, which loses it. */
function samplingOf(
  { stop_sequences: stop, seed }: JsonObject,
  tools: JsonValue | undefined,
  lost: Set<string>,
): JsonObject | Failure {
  const isList = Array.isArray(stop) && stop.every((text) => typeof text === 'string');
  if (stop !== undefined && !isList)
    return invalidField('generation_config.stop_sequences', 'must be an array of strings');
  if (seed !== undefined && !Number.isSafeInteger(seed))
    return invalidField('generation_config.seed', 'must be an integer');
  if (listIn(tools).every((tool) => !isObject(tool) || tool.type === 'function'))
    return { ...given(stopMember, stop), ...given(seedMember, seed) };
  if (stop !== undefined) lost.add('generation_config.stop_sequences');
  if (seed !== undefined) lost.add('generation_config.seed');
  return {};
}

function reasoningOf({ thinking_level: effort, thinking_summaries: summaries }: JsonObject): JsonObject {
  const summary = summaries === 'auto' ? { summary: 'auto' } : {};
  if (effort === undefined && summaries !== 'auto') return {};
  return { reasoning: { ...given('effort', effort), ...summary } };
}

const contents = new Set<JsonValue | undefined>(['text', 'image', 'audio', 'document', 'video']);

/** Text, one content, contents of a user, or steps. What is none of these goes on as it is, to be refused by name. */
function inputOf(input: JsonValue | undefined, lost: Set<string>): JsonValue | undefined | Failure {
  if (isObject(input)) return inputOf([input], lost);
  if (!Array.isArray(input)) return input;
  if (input.length > 0 && input.every((one) => isObject(one) && contents.has(one.type))) {
    const content = partsOf(input, 'input', lost);
    return isFailure(content) ? content : [{ type: 'message', role: 'user', content }];
  }
  const items: JsonValue[] = [];
  for (const [index, step] of input.entries()) {
    const at = `input[${index}]`;
    if (!isObject(step)) return invalid(at, `'${at}' is not a step. Send an object with 'type', such as 'user_input'.`);
    for (const one of stepsIn(step)) {
      const item = itemOf(one, at, lost);
      if (isFailure(item)) return item;
      if (item !== null) items.push(item);
    }
  }
  return items;
}

const steps = new Set<JsonValue | undefined>(['thought', 'function_call', 'function_result']);

/** A step, or several where clients write calls and results among its contents. */
function stepsIn(step: JsonObject): JsonObject[] {
  // Turns of the API before its revision of May 2026.
  const { type, role, content } = step;
  const whole = type === undefined && typeof role === 'string' ? stepOfTurn(step) : step;
  if (!listIn(content).some((part) => steps.has(objectIn(part).type))) return [whole];
  return listIn(content).map((part) => (isObject(part) && steps.has(part.type) ? part : { ...whole, content: [part] }));
}

/** Null for a step that no other provider understands. */
function itemOf(step: JsonObject, at: string, lost: Set<string>): JsonObject | Failure | null {
  switch (step.type) {
    case 'user_input': {
      const content = partsOf(listIn(step.content), `${at}.content`, lost);
      return isFailure(content) ? content : { type: 'message', role: 'user', content };
    }
    case 'model_output':
      return { type: 'message', role: 'assistant', content: outputTextsIn(listIn(step.content), lost) };
    case 'thought':
      return {
        type: 'reasoning',
        summary: listIn(step.summary).flatMap((one) => (isText(one) ? [{ type: 'summary_text', text: one.text }] : [])),
        ...given('encrypted_content', step.signature),
      };
    case 'function_call': {
      const { id: call_id = null, name = null } = step;
      return { type: 'function_call', call_id, name, arguments: JSON.stringify(step.arguments ?? {}) };
    }
    case 'function_result': {
      const output = resultOf(step.result, `${at}.result`, lost);
      return isFailure(output) ? output : { type: 'function_call_output', call_id: step.call_id ?? null, output };
    }
    default:
      if (typeof step.type !== 'string')
        return invalid(`${at}.type`, `'${at}' needs a 'type', such as 'user_input' or 'function_result'.`);
      lost.add(`input.${step.type.slice(0, 64)}`);
      return null;
  }
}

function stepOfTurn({ role, content }: JsonObject): JsonObject {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return { type: role === 'model' ? 'model_output' : 'user_input', ...given('content', parts) };
}

function resultOf(result: JsonValue | undefined, at: string, lost: Set<string>): JsonValue | Failure {
  if (typeof result === 'string') return result;
  const isContent = Array.isArray(result) && result.every((one) => isObject(one) && contents.has(one.type));
  return isContent ? partsOf(result, at, lost) : JSON.stringify(result ?? null);
}

function outputTextsIn(content: readonly JsonValue[], lost: Set<string>): JsonObject[] {
  return content.flatMap((part) => {
    if (isText(part)) return [{ type: 'output_text', text: part.text }];
    lost.add('input.model_output.content');
    return [];
  });
}

function partsOf(content: readonly JsonValue[], at: string, lost: Set<string>): JsonObject[] | Failure {
  const parts: JsonObject[] = [];
  for (const [index, part] of content.entries()) {
    const made = isObject(part) ? partOf(part, `${at}[${index}]`) : null;
    if (made === null)
      return invalid(`${at}[${index}]`, `'${at}[${index}]' is not a content: send an object with 'type'.`);
    if (isFailure(made)) return made;
    for (const name of ['resolution', 'sample_rate', 'channels']) {
      if (isObject(part) && part[name] !== undefined) lost.add(`input.${name}`);
    }
    parts.push(made);
  }
  return parts;
}

function partOf(part: JsonObject, at: string): JsonObject | Failure | null {
  const { type, text, data, uri, mime_type: mime } = part;
  const url =
    typeof data === 'string'
      ? `data:${typeof mime === 'string' ? mime : 'application/octet-stream'};base64,${data}`
      : uri;
  switch (type) {
    case 'text':
      return { type: 'input_text', text: text ?? null };
    case 'image':
      return { type: 'input_image', image_url: url ?? null };
    case 'document':
      return typeof data === 'string'
        ? { type: 'input_file', filename: `document.${extensionOf(mime)}`, file_data: url ?? null }
        : { type: 'input_file', file_url: uri ?? null };
    case 'audio':
      if (typeof data !== 'string') return invalid(`${at}.uri`, `'${at}' has no 'data'. Send sound as base64.`);
      return { type: 'input_audio', input_audio: { data, format: extensionOf(mime) } };
    case 'video':
      return invalid(`${at}.type`, `'${at}' is a video, which no model reads here. Send it to :generateContent.`);
    default:
      return null;
  }
}

const extensions: ReadonlyMap<string, string> = new Map(Object.entries({ mpeg: 'mp3', 'x-wav': 'wav', plain: 'txt' }));

function extensionOf(mime: JsonValue | undefined): string {
  const subtype = typeof mime === 'string' ? (mime.split(';')[0] ?? '').replace(/^.*\//, '') : 'bin';
  return extensions.get(subtype) ?? subtype;
}

/** Formats of text; an answer as a picture or sound is asked for elsewhere. */
function formatOf(request: JsonObject, lost: Set<string>): JsonObject | undefined {
  const { response_format: format, response_mime_type: mime } = request;
  const formats = (Array.isArray(format) ? format : [format]).filter(isObject);
  const text = formats.find(({ type }) => type === 'text');
  if (formats.some(({ type }) => type === 'image' || type === 'audio' || type === 'video')) lost.add('response_format');
  // Earlier clients sent the schema itself.
  const bare = mime === 'application/json' ? formats.find(({ type }) => type !== 'text') : undefined;
  const schema = text?.schema ?? bare;
  if (isObject(schema)) return { format: { type: 'json_schema', name: 'response', schema, strict: false } };
  return text?.mime_type === 'application/json' || mime === 'application/json'
    ? { format: { type: 'json_object' } }
    : undefined;
}

function toolsOf(tools: JsonValue | undefined, lost: Set<string>): JsonValue | undefined {
  if (!Array.isArray(tools)) return tools;
  return tools.flatMap((tool): JsonValue[] => {
    if (!isObject(tool)) return [tool];
    const { type, name = null, description, parameters, url, headers } = tool;
    switch (type) {
      case 'function':
        return [
          { type, name, ...given('description', description), ...given('parameters', parameters), strict: false },
        ];
      case 'google_search':
        return [{ type: 'web_search' }];
      case 'url_context':
        return [{ type: 'web_fetch' }];
      case 'mcp_server':
        return [
          {
            type: 'mcp',
            server_label: name,
            ...given('server_url', url),
            ...given('headers', headers),
            ...given('allowed_tools', allowedOf(tool.allowed_tools)),
            require_approval: 'never',
          },
        ];
      default:
        lost.add(`tools.${jsonText(type).slice(0, 64)}`);
        return [];
    }
  });
}

function allowedOf(allowed: JsonValue | undefined): JsonValue | undefined {
  const names = listIn(allowed).flatMap((one) => (isObject(one) ? listIn(one.tools) : []));
  return names.length === 0 ? undefined : names;
}

const choices: ReadonlyMap<string, string> = new Map(Object.entries({ any: 'required', validated: 'auto' }));

function choiceOf(choice: JsonValue | undefined): JsonValue | undefined {
  if (typeof choice === 'string') return choices.get(choice) ?? choice;
  if (!isObject(choice) || !isObject(choice.allowed_tools)) return choice;
  const { mode, tools } = choice.allowed_tools;
  return {
    type: 'allowed_tools',
    mode: mode === 'any' ? 'required' : 'auto',
    tools: listIn(tools).map((name) => ({ type: 'function', name })),
  };
}

function isText(part: JsonValue): part is JsonObject & { text: string } {
  return isObject(part) && typeof part.text === 'string';
}
