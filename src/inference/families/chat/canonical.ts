import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { jsonIn } from '../../../formats/neutral/json-texts.ts';
import type { NeutralMessage, NeutralPart, NeutralRequest } from '../../../formats/neutral/request.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import type { Canonical, CanonicalQuestion } from '../../models/steps.ts';
import { canonicalBody, canonicalOf, digestOf, longNumbersIn } from '../../spine/readable-input.ts';
import { type ReadConversation, readCaller } from './other-words.ts';
import { RecentCanonicals } from './recent-canonical.ts';

/** The result of `canonicalRead` for a body that is not read yet. */
export function canonicalConversation(raw: Buffer, dialect: CallerDialectId, part?: 'question'): Canonical | Failure {
  const read = readCaller(raw, dialect);
  return isFailure(read) ? read : canonicalRead(read, part);
}

/**
 * All that can change the answer of a conversation, equal for all formats in which it can be said. What its neutral form
 * does not hold brings the whole body in, so that no field is left out of it.
 */
export function canonicalRead(conversation: ReadConversation, part?: 'question'): Canonical {
  const { raw, dialect } = conversation;
  return recent.of({ raw, dialect, part }, () => canonicalAnew(conversation, part));
}

/** A function of the body alone, so that one memory serves all tenants. */
const recent = new RecentCanonicals();

function canonicalAnew({ raw, body, read, dialect }: ReadConversation, part: 'question' | undefined): Canonical {
  const text = raw.toString('utf8');
  const { extras } = read;
  const state = extras?.state ?? null;
  const isContinued = state !== null && (state.previous !== null || state.conversation !== null || state.background);
  if (isContinued || (extras?.nativeOnly ?? extras?.references ?? null) !== null) {
    return { ...canonicalBody(dialect, withoutLabels(body), text), labelled: true };
  }
  const request = read.neutral();
  const beside =
    // A message or a tool has a member that the neutral form does not hold. Others of the request are its extensions.
    (request.lost ?? []).length > 0 || roots.some((name) => lacks(name, body[name], body))
      ? digestOf(canonicalBody(dialect, withoutLabels(body), text))
      : undefined;
  const fallbacks = extras === null || extras.fallbackModels.length === 0 ? undefined : [...extras.fallbackModels];
  const fields = { ...normalForm(request), fallbacks, ' body': beside, ' digits': longNumbersIn(text) };
  const isLabelled = request.user !== undefined || Object.keys(request.hints ?? {}).some((name) => booked.has(name));
  const canonical = { ...canonicalOf(fields), ...(isLabelled && { labelled: true as const }) };
  const isSearched = Object.values(request.extensions ?? {}).some(searches);
  const isElsewhere = isSearched || request.messages.some(({ parts }) => parts.some(liesElsewhere));
  if (isElsewhere) return { ...canonical, elsewhere: true };
  const isPlain = part === 'question' && beside === undefined && fallbacks === undefined;
  const question = isPlain ? questionIn(request) : null;
  return question === null ? canonical : { ...canonical, question };
}

/** Null: others cannot be similar to it. It has tools, several answers, or something that is no text. */
function questionIn({ messages, tools = [], n = 1 }: NeutralRequest): CanonicalQuestion | null {
  const last = messages.at(-1);
  const isText = ({ parts }: NeutralMessage) => parts.every((part) => part.type === 'text');
  if (last?.role !== 'user' || tools.length > 0 || n !== 1 || !messages.every(isText)) return null;
  const { parts, ...turn } = last;
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const ids = new Map<string, string>();
  const earlier = messages.slice(0, -1).flatMap((message) => turnsOf(message, ids));
  const beside = parts.map((part) => ({ ...(normalPart(part, ids) as object), text: '' }));
  return { text, before: digestOf(canonicalOf({ earlier, turn, beside })) };
}

/** Whether a provider searches the web for it: members of OpenRouter, xAI and Qwen. */
function searches({ plugins, search_parameters: search, enable_search }: JsonObject): boolean {
  const isSearching = enable_search === true || (isObject(search) && search.mode !== 'off');
  return isSearching || objectsIn(plugins).some(({ id }) => id === 'web');
}

/** A picture, a sound or a file that is named, not sent. */
function liesElsewhere(part: NeutralPart): boolean {
  if (part.type === 'tool-result') return part.parts.some(liesElsewhere);
  if (part.type === 'audio') return /^https?:/i.test(part.base64);
  return (part.type === 'image' || part.type === 'document') && part.source.kind !== 'base64';
}

/** Hints for a provider's books and caches. Others, such as Gemini's `cachedContent`, change the answer. */
const booked: ReadonlySet<string> = new Set(
  (
    'metadata labels store service_tier safety_identifier prompt_cache_key prompt_cache_retention ' +
    'prompt_cache_options'
  ).split(' '),
);

function withoutLabels(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !booked.has(name)));
}

function normalForm(request: NeutralRequest): Record<string, unknown> {
  const { stream, includeUsage, user, hints, lost, n, messages, tools, toolChoice, responseFormat, ...rest } = request;
  const { extensions = {}, ...others } = rest;
  const tuning = Object.entries(extensions).flatMap(([dialect, members]) => {
    const left = withoutLabels(members);
    return Object.keys(left).length === 0 ? [] : [[dialect, left] as const];
  });
  const ids = new Map<string, string>();
  const tuned = hints === undefined ? [] : Object.entries(hints).filter(([name]) => !booked.has(name));
  return {
    ...others,
    ...(tuning.length > 0 && { extensions: Object.fromEntries(tuning) }),
    ...(tuned.length > 0 && { hints: Object.fromEntries(tuned) }),
    ...(n !== undefined && n !== 1 && { n }),
    ...(toolChoice !== undefined && toolChoice.type !== 'auto' && { toolChoice }),
    ...(responseFormat !== undefined && responseFormat.type !== 'text' && { responseFormat }),
    ...(tools !== undefined && tools.length > 0 && { tools: tools.map(({ cache, ...tool }) => tool) }),
    messages: turnsOfAll(messages, ids),
  };
}

function turnsOfAll(messages: readonly NeutralMessage[], ids: Map<string, string>): unknown[] {
  const turns: unknown[] = [];
  for (const message of messages) turns.push(...turnsOf(message, ids));
  return turns;
}

/** Results of tools are turns of `tool`, in whatever format they come. */
function turnsOf({ role, parts, ...message }: NeutralMessage, ids: Map<string, string>): unknown[] {
  const normal: unknown[] = [];
  const results: unknown[] = [];
  // Results come first, also where ids are numbered.
  for (const part of parts) if (part.type === 'tool-result') results.push(normalPart(part, ids));
  for (const part of parts) if (part.type !== 'tool-result') normal.push(normalPart(part, ids));
  const content = { role, ...message, parts: normal };
  if (results.length === 0) return [content];
  const tool = { role: 'tool', parts: results };
  return normal.length === 0 ? [tool] : [tool, content];
}

/** Ids of calls are made up: they only say which result belongs to which call. */
function normalPart(part: NeutralPart, ids: Map<string, string>): unknown {
  if (part.type === 'text' && !('cache' in part)) return part;
  const { cache, ...content } = { cache: undefined, ...part };
  if (content.type === 'tool-call')
    return {
      ...content,
      id: idOf(content.id, ids),
      argumentsJson: jsonIn(content.argumentsJson) ?? content.argumentsJson,
    };
  if (content.type !== 'tool-result') return content;
  return { ...content, callId: idOf(content.callId, ids), parts: content.parts.map((inner) => normalPart(inner, ids)) };
}

function idOf(id: string, ids: Map<string, string>): string {
  const known = ids.get(id) ?? String(ids.size);
  ids.set(id, known);
  return known;
}

/** By the member that has an object, or a list of them: the members of it that the neutral form holds. */
const held: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    messages: 'role content tool_calls tool_call_id refusal',
    content: 'type text image_url input_audio source tool_use_id content is_error id name input cache_control',
    image_url: 'url detail',
    input_audio: 'data format',
    tool_calls: 'id type function',
    function: 'name description parameters strict arguments',
    source: 'type media_type data url',
    system: 'type text cache_control',
    tools: 'type function name description input_schema parameters strict cache_control functionDeclarations',
    functionDeclarations: 'name description parameters parametersJsonSchema',
    input: 'type role content call_id name arguments output',
    systemInstruction: 'parts role',
    contents: 'role parts',
    parts: 'text inlineData functionCall functionResponse',
    inlineData: 'mimeType data',
    functionCall: 'name args',
    functionResponse: 'name response',
    // Whether thoughts are shown is in no neutral form.
    thinking: 'type budget_tokens',
    reasoning: 'effort max_tokens enabled summary',
    generationConfig:
      'temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty responseMimeType responseSchema responseJsonSchema',
  }).map(([name, members]) => [name, members.split(' ')]),
);
/** Values that the neutral form holds whole. */
const whole = new Set(
  `parameters parametersJsonSchema input_schema args response cache_control
  responseSchema responseJsonSchema`.split(/\s+/),
);

const roots = `messages system tools input systemInstruction contents
  thinking reasoning generationConfig`.split(/\s+/);

function lacks(name: string, value: JsonValue | undefined, holder: JsonObject): boolean {
  if (Array.isArray(value)) {
    for (const one of value) if (lacks(name, one, holder)) return true;
    return false;
  }
  if (!isObject(value) || whole.has(name) || (name === 'input' && holder.type === 'tool_use')) return false;
  const members = held[name];
  for (const member of Object.keys(value)) {
    if (members?.includes(member) !== true || lacks(member, value[member], value)) return true;
  }
  return false;
}
