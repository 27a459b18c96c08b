import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, type JsonValue, jsonText } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { NeutralRequest, RequestNeeds } from '../../neutral/request.ts';
import { tagInMetadata } from '../../neutral/tag.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { cleanUser, conversationStart, isGiven } from '../../neutral/value-checks.ts';
import type { CallerRequest, RequestExtras, RequestState } from '../dialect.ts';
import { fallbackModelsOf } from '../fallback-models.ts';
import { fieldNames, placeFields } from '../field-table.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { someExtras } from '../request-extras.ts';
import { decodeInput } from './decode-messages.ts';
import { isReference, referencesIn, withItems } from './item-references.ts';
import { membersBeyond } from './members-beyond.ts';
import { callsEcho, offeredTools, offersTools } from './offered-tools.ts';
import { unpackThought } from './packed-thought.ts';
import { checkRequest, decodeTools, outputLogprobs, requestFields, requestsLogprobs } from './request-fields.ts';
import { serverToolsOf } from './server-tools.ts';
import {
  type InputItem,
  isGatewayId,
  isGatewayStep,
  openAiResponsesId,
  type ResponsesRequest,
  seedMember,
  stopMember,
} from './wire.ts';

/** Checks a body and keeps it unchanged: parts that only a conversion needs are built on demand. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure {
  const checked = checkRequest(body);
  if (isFailure(checked)) return checked;
  const { body: request, vendors } = checked;
  return callerRequest(raw, request, scan, { vendors, input: 'as it came' });
}

interface Reading {
  /** Why the vendor alone may judge it; null: it passed every check. */
  vendors: Failure | null;
  input: 'as it came' | 'with items';
}

function callerRequest(raw: Buffer, request: ResponsesRequest, scan: JsonScan, reading: Reading): CallerRequest {
  const native = reading.vendors ?? nativeOnly(request) ?? choiceOfServers(request);
  const references = referencesIn(request);
  const body = settled(request);
  let decoded: Decoded | null = null;
  const decode = (): Decoded => {
    decoded ??= toNeutral(body);
    return decoded;
  };
  return {
    model: request.model,
    stream: request.stream === true,
    includeUsage: true,
    n: 1,
    seed: null,
    needs: needsOf(body, raw.length),
    user: cleanUser(request.user) ?? cleanUser(request.safety_identifier),
    tag: tagInMetadata(request.metadata),
    conversationStart: startOf(request),
    echo: echoOf(body),
    ...((request[stopMember] ?? request[seedMember]) !== undefined && { beyondFormat: 'fields' as const }),
    extras: someExtras({
      fallbackModels: fallbackModelsOf(request),
      nativeOnly: native,
      nativeFor: nativeForOf(native, reading),
      serverTools: serverToolsOf(request),
      state: stateOf(request),
      references,
      answerGives: request.store !== false || isGiven(request.conversation) ? 'all' : 'objects',
    }),
    ...(references !== null && {
      withItems: (items) =>
        callerRequest(raw, withItems(request, items), scan, { vendors: reading.vendors, input: 'with items' }),
    }),
    // A copy at the top: who encodes it for one target must not change it for the next.
    neutral: () => ({ ...decode().request }),
    wordFor: (field) => callersWord(field, () => decode().origins),
    forward: (target) => forward(raw, request, scan, target, reading.input),
  };
}

/** The body with the settings that items of its input change, each until a later one does. */
function settled(body: ResponsesRequest): ResponsesRequest {
  const updates = Array.isArray(body.input) ? body.input.filter(({ type }) => type === 'configuration_update') : [];
  if (updates.length === 0) return body;
  const reasoning = { ...body.reasoning };
  const text = { ...body.text };
  for (const update of updates) {
    Object.assign(reasoning, update.reasoning);
    Object.assign(text, update.text);
  }
  return { ...body, reasoning, text };
}

function nativeForOf(native: Failure | null, { vendors }: Reading): RequestExtras['nativeFor'] {
  if (vendors !== null) return 'judge';
  if (native === demandsServerTool) return 'choice';
  if (native === warmsCache) return 'cache';
  return native?.kind === 'invalid-request' && native.param === 'prompt' ? 'format' : null;
}

/* Bodies that only a provider of this format takes are read too: nothing below is sure of more than `ours` of the table. */

/** The beginning of the conversation, which every later turn repeats. */
function startOf({ instructions, input, previous_response_id: previous }: ResponsesRequest): string {
  const turns = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
  return previous ? conversationStart([], previous) : conversationStart(turns, instructions);
}

/** Null when nothing is kept of it, and it names nothing that is. */
function stateOf(body: ResponsesRequest): RequestState | null {
  const conversation = isObject(body.conversation) ? body.conversation.id : body.conversation;
  const state: RequestState = {
    store: body.store !== false,
    previous: body.previous_response_id ?? null,
    conversation: typeof conversation === 'string' ? conversation : null,
    background: body.background === true,
  };
  return state.store || state.previous !== null || state.conversation !== null || state.background ? state : null;
}

const echoed =
  /^(?:parallel_tool_calls|tool_choice|temperature|top_p|max_output_tokens|metadata|background|reasoning|user|truncation|prompt_cache_key|safety_identifier)$/;

/**
 * Parts of the request that an answer repeats, as plain data. Tools and instructions are left out: no client reads them
 * back, and the 30 KB of a coding agent's would travel three times a turn.
 */
function echoOf(body: ResponsesRequest): JsonObject {
  const given = Object.entries(body).filter(([name, value]) => echoed.test(name) && isGiven(value));
  return {
    settings: { ...Object.fromEntries(given), ...(body.text && { text: { format: { type: 'text' }, ...body.text } }) },
    ...callsEcho(body),
    ...(isGiven(body.include) && body.include.length > 0 && { include: body.include }),
  };
}

/**
 * The body for a provider of the caller's own format. The bytes stay unchanged, except for spliced values. Thoughts
 * that this gateway converted for an earlier turn are left out: the provider would refuse what it did not encrypt.
 */
function forward(
  rawBody: Buffer,
  body: ResponsesRequest,
  scan: JsonScan,
  target: ForwardTarget,
  input: Reading['input'],
): ForwardBody {
  const losses: Loss[] = [];
  return forwardBody(rawBody, body, scan, target, { values: newValues(body, target, input, losses), losses });
}

function newValues(
  body: ResponsesRequest,
  target: ForwardTarget,
  input: Reading['input'],
  losses: Loss[],
): Map<string, string> {
  const values = new Map([['model', JSON.stringify(target.model)]]);
  const requestedMax = body.max_output_tokens;
  if (typeof requestedMax === 'number' && target.maxOutputTokens !== null && requestedMax > target.maxOutputTokens) {
    values.set('max_output_tokens', String(target.maxOutputTokens));
    losses.push({ field: 'max_output_tokens', why: 'clamped' });
  }
  const items = Array.isArray(body.input) ? body.input : [];
  const foreign = items.some(isForeignThought);
  if (foreign) losses.push({ field: 'input.reasoning', why: 'unsupported' });
  const steps = items.filter(isGatewayStep);
  for (const type of new Set(steps.map((item) => item.type))) {
    losses.push({ field: `input.${type}`, why: 'unsupported' });
  }
  if (foreign || steps.length > 0 || items.some(isGatewayPicture)) {
    const passedItems = items.filter((item) => !isForeignThought(item) && !isGatewayStep(item));
    values.set(
      'input',
      JSON.stringify(passedItems.map((item) => (isGatewayPicture(item) ? shownPicture(item) : item))),
    );
  } else if (input === 'with items') values.set('input', JSON.stringify(body.input));
  return values;
}

/** Drawn by another provider's model: this one knows no such call, and is shown the picture. */
function isGatewayPicture({ type, id }: InputItem): boolean {
  return type === 'image_generation_call' && isGatewayId(id);
}

function shownPicture({ result, output_format: format }: InputItem): JsonObject {
  const url = `data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`;
  return { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] };
}

function isForeignThought(item: InputItem): boolean {
  if (item.type === 'item_reference') return isGatewayId(item.id) && jsonText(item.id).startsWith('rs_');
  if (item.type !== 'reasoning') return false;
  return (
    isGatewayId(item.id) ||
    (typeof item.encrypted_content === 'string' && unpackThought(item.encrypted_content) !== null)
  );
}

/**
 * Why a request can be answered by providers of this format alone: what they keep, or run themselves, that a
 * conversion would leave out at the cost of the answer. Null when any provider can answer.
 */
function nativeOnly(body: ResponsesRequest): Failure | null {
  const { prompt_cache_options: caching } = body;
  if (isObject(caching) && caching.prewarm === true) return warmsCache;
  if (isGiven(body.previous_response_id)) {
    return invalid(
      'previous_response_id',
      "No provider of this model keeps responses. Send the whole conversation in 'input' instead of 'previous_response_id'.",
    );
  }
  if (isGiven(body.conversation)) {
    return invalid(
      'conversation',
      "No provider of this model keeps conversations. Send the whole conversation in 'input' instead of 'conversation'.",
    );
  }
  if (isGiven(body.prompt)) {
    return invalid('prompt', "No provider of this model keeps prompts. Send the text itself as 'input'.");
  }
  const at = Array.isArray(body.input) ? body.input.findIndex(isReference) : -1;
  if (at < 0) return null;
  return invalid(
    `input[${at}]`,
    `'input[${at}]' refers to an item that no provider of this model keeps. Send the item itself, as clients do with "store": false.`,
  );
}

/** Others would answer. */
const warmsCache = invalid(
  'prompt_cache_options.prewarm',
  "'prompt_cache_options.prewarm' fills a cache without an answer, which no provider of this model can. Leave it out.",
);

const demandsServerTool = invalid('tool_choice', "No provider of this model runs the tool that 'tool_choice' demands.");

/** A choice that only the server that runs the tool can follow: a provider of this format, or this gateway. */
function choiceOfServers(body: ResponsesRequest): Failure | null {
  const { tool_choice: choice } = body;
  if (!isObject(choice) || /^(?:function|custom|allowed_tools)$/.test(jsonText(choice.type))) return null;
  return offeredTools(body).some(({ tool }) => tool.name === choice.type) ? null : demandsServerTool;
}

/** Facts of a checked request for routing. `bodyBytes` is the length of its JSON as received. */
function needsOf(body: ResponsesRequest, bodyBytes: number): RequestNeeds {
  const media = { vision: false, audioIn: false, files: false };
  if (Array.isArray(body.input)) {
    for (const { content, output } of body.input) {
      look(content, media);
      look(output, media);
    }
  }
  return {
    ...media,
    tools: offersTools(body),
    logprobs: requestsLogprobs(body),
    jsonSchema: body.text?.format?.type === 'json_schema',
    reasoning: (body.reasoning?.effort ?? 'none') !== 'none',
    ...(body[stopMember] !== undefined && { stop: true }),
    n: 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    maxOutputTokens: body.max_output_tokens ?? null,
  };
}

function look(content: JsonValue | undefined, media: { vision: boolean; audioIn: boolean; files: boolean }): void {
  media.vision ||= isObject(content) && content.type === 'computer_screenshot';
  if (!Array.isArray(content)) return;
  for (const part of content) {
    if (!isObject(part)) continue;
    media.vision ||= part.type === 'input_image';
    media.audioIn ||= part.type === 'input_audio';
    media.files ||=
      part.type === 'input_file' && part.file_id === undefined && !jsonText(part.file_data).startsWith('data:text/');
  }
}

interface Decoded {
  request: NeutralRequest;
  /** Index of each message in `input`; see `DecodedInput`. */
  origins: readonly number[];
}

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
function toNeutral(body: ResponsesRequest): Decoded {
  const { messages, origins } = decodeInput(body.instructions ?? null, body.input ?? []);
  const request: NeutralRequest = { model: body.model, messages, stream: body.stream === true, includeUsage: true };
  const { [stopMember]: stop, [seedMember]: seed, ...known } = body;
  if (stop !== undefined) request.stop = stop;
  if (seed !== undefined) request.seed = seed;
  const { tools, choice, beyond } = decodeTools(body);
  if (tools.length > 0) request.tools = tools;
  // A choice among tools that nobody else has is not a choice. A required call of tools that only the provider has: a
  // target that cannot make it has to say so.
  if (choice !== null && (tools.length > 0 || choice.type === 'required')) request.toolChoice = choice;
  const left = placeFields(requestFields, request, known, undefined, [...beyond, ...partsBeyond(body)], hasValue);
  if (left.hints !== null) request.hints = left.hints;
  if (left.vendor !== null) request.extensions = { [openAiResponsesId]: left.vendor };
  const lost = membersBeyond(body);
  if (lost.length > 0) request.lost = lost;
  return { request, origins };
}

/** Codex sends an empty object with every request. */
function hasValue(value: JsonValue): boolean {
  return !isObject(value) || Object.keys(value).length > 0;
}

const encryptedThoughts = 'reasoning.encrypted_content';

/** Members of fields that are understood in part. */
function partsBeyond({ text, include }: ResponsesRequest): [string, JsonValue][] {
  const beyond: [string, JsonValue][] = [];
  if (isGiven(text?.verbosity)) beyond.push(['text.verbosity', text.verbosity]);
  const included = (include ?? []).filter((what) => what !== encryptedThoughts && what !== outputLogprobs);
  if (included.length > 0) beyond.push(['include', included]);
  return beyond;
}

/** Names here of fields that encoders of other dialects name in OpenAI's older format. */
const words: ReadonlyMap<string, string> = new Map([
  ...fieldNames(requestFields),
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['response_format.json_schema.schema', 'text.format.schema'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['logprobs', 'include'],
  ['messages', 'input'],
  ['thinking', 'input.reasoning'],
  ['reasoning_content', 'input.reasoning'],
  ['cache_control', 'prompt_cache_breakpoint'],
]);

/** The caller's word for `field`; `origins` are those of `toNeutral`. */
export function callersWord(field: string, origins: () => readonly number[]): string {
  const known = words.get(field);
  if (known !== undefined) return known;
  const message = /^messages\[(\d+)\]/.exec(field);
  if (message !== null) {
    const index = origins()[Number(message[1])] ?? -1;
    // Parts of a turn may come from several items; which one is not known, but that it begins there is.
    return index < 0 ? 'input' : `input[${index}]`;
  }
  if (field.startsWith('messages.')) return `input.${field.slice('messages.'.length)}`;
  return field.replace(/^(tools\[\d+\])\.function/, '$1');
}
