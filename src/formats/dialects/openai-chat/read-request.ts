import { type Failure, isFailure } from '../../../kernel/failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonScan,
  type JsonValue,
  jsonText,
  listIn,
  objectIn,
  objectsIn,
} from '../../../kernel/json.ts';
import { type Loss, Losses } from '../../neutral/loss.ts';
import type { NeutralRequest, RequestNeeds } from '../../neutral/request.ts';
import { tagInMetadata } from '../../neutral/tag.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { cleanUser, conversationStart } from '../../neutral/value-checks.ts';
import type { CallerRequest, RequestExtras } from '../dialect.ts';
import { fallbackModelsOf } from '../fallback-models.ts';
import { placeFields } from '../field-table.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import {
  findNamed,
  memberKinds,
  type NamedObject,
  type NamingRules,
  objectsBy,
  usualMembers,
} from '../named-objects.ts';
import { someExtras } from '../request-extras.ts';
import { decodeMessage } from './decode-messages.ts';
import { fittingEffort } from './effort.ts';
import { checkRequest, reasoningOf, requestFields } from './request-fields.ts';
import { serverToolsOf } from './server-tools.ts';
import { takesSignatures, withoutSignatures } from './thoughts.ts';
import { type ChatRequest, type ChatTool, openAiChatId } from './wire.ts';

/** Checks a body and keeps it unchanged: parts that only a conversion needs are built on demand. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure {
  const checked = checkRequest(body);
  if (isFailure(checked)) return checked;
  const { body: request, vendors } = checked;
  const { models, fallbacks, tools, web_search_options: search, modalities, store } = request;
  const isStored = store === true;
  return {
    model: request.model,
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    n: request.n ?? 1,
    seed: typeof request.seed === 'number' ? request.seed : null,
    needs: needsOf(request, raw.length),
    user:
      (request.user ?? body.safety_identifier) == null
        ? null
        : (cleanUser(request.user) ?? cleanUser(body.safety_identifier)),
    tag: request.metadata === undefined ? null : tagInMetadata(request.metadata),
    conversationStart: conversationStart(request.messages),
    // None of the members that `extrasOf` reads is there, in most.
    extras:
      models == null &&
      fallbacks == null &&
      tools == null &&
      search == null &&
      modalities == null &&
      !isStored &&
      vendors === null
        ? null
        : extrasOf(request, vendors),
    ...(vendors === null &&
      ((tools != null && customEcho(tools)) ||
        // A single message has no earlier calls.
        (request.messages.length > 1 && customCalls(request.messages)))),
    ...(request.functions != null && vendors === null && olderTools),
    neutral: () => toNeutral(request),
    forward: (target) => prepareForTarget(raw, request, scan, target),
  };
}

const olderTools = { beyondFormat: 'functions', echo: { functions: true } } as const;

/* Bodies that only a provider of this format takes are read too: nothing below is sure of more than `ours` of the table. */

/**
 * Facts of a checked request for routing. `bodyBytes` is the length of its JSON as received, which makes the size
 * estimate free.
 */
function needsOf(body: ChatRequest, bodyBytes: number): RequestNeeds {
  let vision = false;
  let audioIn = false;
  let files = false;
  for (const { content } of body.messages) {
    if (!Array.isArray(content)) continue;
    for (const { type, file } of content) {
      vision ||= type === 'image_url';
      audioIn ||= type === 'input_audio';
      // Files of this server come as what they are.
      files ||= type === 'file' && isObject(file) && file.file_id === undefined;
    }
  }
  const limit = body.max_completion_tokens ?? body.max_tokens ?? 0;
  return {
    vision,
    audioIn,
    ...(files && { files }),
    tools: (body.tools?.length ?? 0) > 0 || (body.functions?.length ?? 0) > 0,
    logprobs: body.logprobs === true,
    jsonSchema: body.response_format?.type === 'json_schema',
    reasoning: (body.reasoning_effort ?? 'none') !== 'none',
    ...(body.stop != null && body.stop.length > 0 && { stop: true }),
    n: body.n ?? 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    // No limit, or one that is left to the model by 0 or -1.
    maxOutputTokens: limit > 0 ? limit : null,
  };
}

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
function toNeutral(body: ChatRequest): NeutralRequest {
  const request: NeutralRequest = {
    model: body.model,
    messages: body.messages.map(decodeMessage),
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
  };
  const { hints, vendor } = placeFields(requestFields, request, body, undefined);
  if (hints !== null) request.hints = hints;
  if (vendor !== null) request.extensions = { [openAiChatId]: vendor };
  let isPlain = body.tools == null;
  for (const message of body.messages)
    for (const name in message)
      isPlain &&= name === 'role' || (name === 'content' && typeof message.content === 'string');
  // Most requests are, and enter nothing more.
  const lost = isPlain ? null : membersBeyond(body);
  if (lost?.length) request.lost = lost;
  return request;
}

/**
 * Body for a target that speaks the caller's format. An output limit above the target's is clamped, never refused:
 * clients send 128000 blindly.
 */
export function prepareForTarget(raw: Buffer, body: JsonObject, scan: JsonScan, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  const values = new Map([['model', JSON.stringify(target.model)]]);
  for (const name of ['max_completion_tokens', 'max_tokens'] as const) {
    const requested = body[name];
    if (typeof requested !== 'number' || target.maxOutputTokens === null || requested <= target.maxOutputTokens)
      continue;
    values.set(name, String(target.maxOutputTokens));
    losses.push({ field: name, why: 'clamped' });
  }
  const unsigned = takesSignatures(target.model) ? null : withoutSignatures(body.messages);
  if (unsigned !== null) losses.push({ field: 'extra_content', why: 'unsupported' });
  const history = unsigned ?? body.messages;
  // Bodies of other endpoints, which have none, come here too.
  const messages = Array.isArray(history) ? (target.history?.(history) ?? unsigned) : null;
  if (messages !== null) values.set('messages', JSON.stringify(messages));
  const options = isObject(body.stream_options) ? body.stream_options : {};
  if (target.streamUsage === 'ask' && body.stream === true && options.include_usage !== true) {
    values.set('stream_options', JSON.stringify({ ...options, include_usage: true }));
  }
  const seen = messages === null ? body : { ...body, messages };
  if (target.efforts === undefined) return forwardBody(raw, seen, scan, target, { values, losses });
  const { omit, without, effort } = effortFor(body, target, target.efforts, losses);
  if (effort !== null) values.set('reasoning_effort', JSON.stringify(effort));
  return forwardBody(raw, seen, scan, { ...target, omit, without }, { values, losses });
}

/** The word for a caller's `reasoning` or `thinking` that a target omits, and the target's members without that one. */
function effortFor(body: JsonObject, target: ForwardTarget, words: readonly string[], losses: Loss[]) {
  const { omit, without = [] } = target;
  const isIn = (name: string) => omit.includes(name) && isObject(body[name]) && !Object.hasOwn(target.body, name);
  const field = typeof body.reasoning_effort === 'string' ? undefined : ['reasoning', 'thinking'].find(isIn);
  const reasoning = field === undefined ? null : reasoningOf(body);
  const fitting = reasoning === null ? null : fittingEffort(reasoning, words);
  if (field === undefined || fitting === null) return { omit, without, effort: null };
  const hides = isObject(body[field]) && body[field].exclude === true;
  if (!fitting.exact || hides) losses.push({ field, why: 'narrowed' });
  return { omit: omit.filter((name) => name !== field), without: [...without, field], effort: fitting.word };
}

/**
 * Places in a request that name files, stores and earlier spoken answers (`messages[].audio.id`) at a provider. A voice
 * is not one: `GET /v1/audio/voices` lists them for everybody.
 */
const rules: NamingRules = {
  members: memberKinds({
    ...usualMembers,
    vector_store_ids: 'id',
    // Of xAI, of Mistral.
    collection_ids: 'id',
    library_ids: 'id',
    comparison_response_id: 'id',
    audio: 'holder',
    parameters: 'opaque',
    logit_bias: 'opaque',
  }),
  // For another gateway, which asks Google or in the Responses format.
  top: memberKinds({ previous_response_id: 'id', cached_content: 'id' }),
};

/** Ways in which Azure reads a source when the caller sends the secret. All others use the operator's identity. */
const secretsOfCallers: ReadonlySet<JsonValue | undefined> = new Set([
  'api_key',
  'access_token',
  'connection_string',
  'encoded_api_key',
  'key_and_key_id',
  'username_and_password',
]);

export const objects = objectsBy(rules, ['data_sources'], (body) => {
  const named = findNamed(body, rules);
  for (const name in body) {
    if (name.length === 12 && /^data_sources$/iu.test(name)) named.push(...azureSources(name, body[name]));
  }
  return named;
});

/** Sources for Azure: those that the resource's identity reads are the operator's, no matter who names them. */
function azureSources(name: string, sources: JsonValue | undefined): NamedObject[] {
  return listIn(sources).flatMap((source, at): NamedObject[] => {
    const parameters = isObject(source) && isObject(source.parameters) ? source.parameters : {};
    const { authentication, index_name: index, database_name: database } = parameters;
    const by = isObject(authentication) ? authentication.type : undefined;
    if (secretsOfCallers.has(by)) return [];
    const id = [index, database].find((name) => typeof name === 'string') ?? 'data_sources';
    return [{ id: String(id), field: `${name}[${at}]`, use: 'reference' }];
  });
}

/** `vendors`: why only the vendor may judge the request; null: it passed every check. */
function extrasOf(request: ChatRequest, vendors: Failure | null): RequestExtras | null {
  const { modalities, store } = request;
  const speaks = Array.isArray(modalities) && modalities.includes('audio');
  return someExtras({
    fallbackModels: fallbackModelsOf(request),
    nativeOnly: vendors,
    nativeFor: vendors === null ? null : 'judge',
    serverTools: serverToolsOf(request),
    answerGives: store === true ? 'all' : speaks ? 'objects' : null,
  });
}

/** Members inside of messages and tools that no conversion has a place for, and tools that the provider runs. */
function membersBeyond({ messages, tools }: ChatRequest): Loss[] {
  const losses = new Losses();
  for (const message of messages) {
    losses.addUnknown(message, read.message, 'messages');
    for (const part of objectsIn(message.content)) {
      const type = jsonText(part.type);
      losses.addUnknown({ ...part, ...objectIn(part[type]) }, read.part, `messages.${type}`);
    }
    for (const call of objectsIn(message.tool_calls)) {
      losses.addUnknown(
        { ...objectIn(call.function), ...objectIn(call.custom), ...call },
        read.call,
        'messages.tool_calls',
      );
    }
  }
  for (const tool of tools ?? []) {
    if (tool.type !== 'function' && tool.type !== 'custom') losses.add(`tools.${jsonText(tool.type)}`, 'unsupported');
    else losses.addUnknown({ ...tool.function, ...tool }, read.tool, 'tools');
  }
  return losses.list;
}

/** Names of the members that a conversion reads, also of the object inside of each. */
const read = {
  message: new Set(
    `role content name tool_calls function_call tool_call_id refusal reasoning reasoning_content reasoning_details
    thinking_blocks extra_content images audio annotations cache_control`.split(/\s+/),
  ),
  part: new Set(
    `type text refusal thinking closed image_url url detail input_audio data format file filename file_data file_id
    document_url document_name cache_control prompt_cache_breakpoint`.split(/\s+/),
  ),
  call: new Set('id type index function custom name arguments input extra_content cache_control'.split(' ')),
  tool: new Set('type function custom name description parameters strict cache_control'.split(' ')),
};

/** Names of tools that take text, by which an answer's calls of them are written so; null: there are none. */
function customEcho(tools: readonly ChatTool[]): { echo: JsonObject; beyondFormat: 'functions' } | null {
  const customTools = tools.flatMap(({ type, custom }) => (type === 'custom' && custom ? [custom.name] : []));
  return customTools.length === 0 ? null : { echo: { customTools }, ...asFunctions };
}

/** For earlier calls of tools that take text, which may be listed no more; null: there are none. */
function customCalls(messages: ChatRequest['messages']): { beyondFormat: 'functions' } | null {
  return messages.some(isCustomCalling) ? asFunctions : null;
}

/** Only calls of the assistant are checked before: at another role they may be anything. */
function isCustomCalling({ tool_calls: calls }: ChatRequest['messages'][number]): boolean {
  return calls != null && objectsIn(calls).some(({ type }) => type === 'custom');
}

const asFunctions = { beyondFormat: 'functions' } as const;
