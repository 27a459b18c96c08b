import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { DialectId, FitMembers } from '../dialects/dialect.ts';
import { renameField } from '../dialects/forward-body.ts';
import type { Loss } from '../neutral/loss.ts';
import { effortsOf, wordsOfOpenRouter } from './efforts.ts';
import { withoutThoughtsBeforeForcedCalls } from './forced-calls.ts';
import { type AnswerMember, withoutAnswerMembers, withSystemForDeveloper } from './histories.ts';
import { bareName } from './model-facts.ts';
import type { ProviderQuirks } from './provider.ts';
import { anthropic } from './services/anthropic.ts';

const openAi: readonly string[] = ['openai', 'azure-openai'];

const takenByOpenAi: readonly AnswerMember[] = ['annotations', 'audio', 'refusal', 'function_call'];
const ofOpenAi = (messages: readonly JsonValue[]) => withoutAnswerMembers(messages, takenByOpenAi);

const thinkingOff = withoutThoughtsBeforeForcedCalls({ thinking: { type: 'disabled' } });

/** Models that accept less than their API does; every match applies. Fields that would change the answer stay in. */
const narrower: readonly {
  providers: readonly string[];
  pattern: RegExp;
  omit?: readonly string[];
  omitInChat?: readonly string[];
  rename?: Readonly<Record<string, string>>;
  systemFirst?: true;
  history?: ProviderQuirks['history'];
  together?: FitMembers;
}[] = [
  // "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead": the o-series, GPT-5 and later.
  { providers: openAi, pattern: /^(o\d|gpt-([5-9]|\d\d))/, rename: { max_tokens: 'max_completion_tokens' } },
  // Refuse sampling at all times; GPT-5.1 and later take it when they do not reason, so they keep it.
  {
    providers: openAi,
    pattern: /^(o\d|gpt-5(-mini|-nano)?(-\d{4}|$))/,
    omit: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs', 'logit_bias'],
  },
  // docs.x.ai, "Reasoning": adding them results in an error. `stop` too, but leaving that out would change the answer.
  {
    providers: ['xai'],
    pattern: /^grok-(4|3-mini)(?!.*non-reasoning)/,
    omit: ['presence_penalty', 'frequency_penalty'],
  },
  // "Unknown parameter: 'messages[1].reasoning_content'", or 'thinking'. Servers of open models have these members.
  {
    providers: openAi,
    pattern: /^(gpt-(?!oss)|o\d|chatgpt|codex|ft:)/,
    omit: ['thinking'],
    omitInChat: wordsOfOpenRouter,
    history: ofOpenAi,
  },
  // "Thinking mode does not support this tool_choice", "tool_choice 'required' is incompatible with thinking enabled".
  { providers: ['deepseek'], pattern: /^deepseek-v[4-9]/, together: thinkingOff },
  { providers: ['moonshot'], pattern: /^kimi-k2\.[56]/, together: thinkingOff },
  // "The tool_choice parameter does not support being set to required or object in thinking mode".
  {
    providers: ['dashscope'],
    pattern: /^qwen3\.[5-9](?!.*thinking)/,
    together: withoutThoughtsBeforeForcedCalls({ enable_thinking: false }),
  },
  // "developer is not one of ['system', 'assistant', …]": it leaves the role to the services that it asks.
  { providers: ['openrouter'], pattern: /^(?!gpt-|o\d|chatgpt|codex)/, history: withSystemForDeveloper },
  // Servers of open models that are configured as OpenAI's.
  { providers: ['openai'], pattern: /^(?!gpt-|o\d|chatgpt|codex|ft:)/, systemFirst: true },
];

const quirksByModel = new WeakMap<ProviderQuirks, Map<string, ProviderQuirks>>();
/** Patterns let callers make up models: at the bound the map begins anew. */
const rememberedModelsMax = 1_000;

/**
 * A provider's quirks for one of its models in a body of `dialect`, with everything to leave out in `omit`. The same
 * object each time, and the provider's own when the model accepts all that its API does, so every request may ask for
 * it. Quirks belong to the provider's own API: its refusals there say nothing of fields of the same name in Anthropic's
 * Messages, which it accepts whole.
 */
export function quirksOf(
  provider: { id: string; dialect: DialectId; quirks: ProviderQuirks },
  model: string,
  dialect: DialectId = provider.dialect,
): ProviderQuirks {
  const of = dialect === 'anthropic-messages' && provider.dialect !== dialect ? inMessages(provider.quirks) : provider;
  const key = dialect === 'openai-chat' ? model : `${dialect} ${model}`;
  let byModel = quirksByModel.get(of.quirks);
  if (byModel === undefined) {
    byModel = new Map();
    quirksByModel.set(of.quirks, byModel);
  }
  const known = byModel.get(key);
  if (known !== undefined) return known;
  if (byModel.size >= rememberedModelsMax) byModel.clear();
  const quirks = narrowed(of, bareName(model), dialect);
  byModel.set(key, quirks);
  return quirks;
}

/** In Messages a server whose schemas must fit its grammars refuses them, too. */
function inMessages({ schemas }: ProviderQuirks): { id: string; quirks: ProviderQuirks } {
  if (schemas === undefined) return anthropic;
  const known = messagesWithGrammar.get(schemas) ?? { id: anthropic.id, quirks: { ...anthropic.quirks, schemas } };
  messagesWithGrammar.set(schemas, known);
  return known;
}

const messagesWithGrammar = new WeakMap<FitMembers, { id: string; quirks: ProviderQuirks }>();

function narrowed(provider: { id: string; quirks: ProviderQuirks }, name: string, dialect: DialectId): ProviderQuirks {
  const { quirks } = provider;
  const inChat = dialect === 'openai-chat';
  const omit = new Set(inChat ? [...quirks.omit, ...(quirks.omitInChat ?? [])] : quirks.omit);
  let { rename, systemFirst, history, together } = quirks;
  for (const rule of narrower) {
    if (!rule.providers.includes(provider.id) || !rule.pattern.test(name)) continue;
    for (const field of rule.omit ?? []) omit.add(field);
    if (inChat) for (const field of rule.omitInChat ?? []) omit.add(field);
    if (rule.rename !== undefined) rename = { ...rename, ...rule.rename };
    systemFirst ||= rule.systemFirst;
    history ??= rule.history;
    if (inChat) together ??= rule.together;
  }
  if (!quirks.logprobs) omit.add('logprobs').add('top_logprobs');
  if (!quirks.seed) omit.add('seed');
  const isSame =
    rename === quirks.rename &&
    systemFirst === quirks.systemFirst &&
    history === quirks.history &&
    together === quirks.together;
  if (isSame && omit.size === quirks.omit.length) return quirks;
  const logprobs = quirks.logprobs && !omit.has('logprobs');
  const efforts = inChat && omit.has('reasoning') ? effortsOf(provider.id, name) : undefined;
  return {
    ...quirks,
    omit: [...omit],
    rename,
    logprobs,
    ...(efforts && { efforts }),
    ...(systemFirst && { systemFirst }),
    ...(history && { history }),
    ...(together && { together }),
  };
}

export interface FittedBody {
  /** The same object when nothing had to change, so that a caller may forward the raw bytes. */
  body: JsonObject;
  losses: Loss[];
}

const nothingLost: Loss[] = [];

/**
 * An OpenAI-dialect body as this provider takes it: fields it refuses are left out, fields it spells otherwise are
 * renamed. A field at its default loses nothing by going and is not listed. Never changes `body` itself.
 * `quirks` are those of `quirksOf`.
 */
export function applyQuirks(body: JsonObject, quirks: ProviderQuirks): FittedBody {
  if (fits(body, quirks)) return { body, losses: nothingLost };
  const fitted: JsonObject = { ...body };
  const losses: Loss[] = [];

  for (const field of quirks.omit) leaveOut(fitted, field, losses);
  // No loss: whether the caller wanted usage is not known here, and these services send it unasked.
  if (!quirks.streamUsage) delete fitted.stream_options;
  fitResponseFormat(fitted, quirks, losses);
  if (Array.isArray(fitted.messages)) {
    if (quirks.systemFirst) fitted.messages = systemFirst(fitted.messages);
    fitted.messages = quirks.history?.(fitted.messages as JsonValue[]) ?? fitted.messages;
  }
  for (const fit of [quirks.schemas?.(fitted) ?? null, quirks.together?.(fitted) ?? null]) {
    if (fit === null) continue;
    Object.assign(fitted, fit.members);
    for (const name of fit.without ?? []) delete fitted[name];
    losses.push(...fit.losses);
  }
  for (const [from, to] of Object.entries(quirks.rename)) renameField(fitted, from, to);
  return { body: fitted, losses };
}

/** Cheap enough for every request: a dozen look-ups, no allocation. */
function fits(body: JsonObject, quirks: ProviderQuirks): boolean {
  for (const field of quirks.omit) if (body[field] !== undefined) return false;
  for (const field in quirks.rename) if (body[field] !== undefined) return false;
  if (!quirks.streamUsage && body.stream_options !== undefined) return false;
  const { messages } = body;
  if (quirks.history !== undefined && Array.isArray(messages) && quirks.history(messages) !== null) return false;
  if (quirks.systemFirst && !isSystemFirst(messages)) return false;
  if ((quirks.schemas?.(body) ?? null) !== null || (quirks.together?.(body) ?? null) !== null) return false;
  const format = body.response_format;
  if (format === undefined || (quirks.jsonSchema && quirks.jsonObject)) return true;
  return !isObject(format) || format.type === 'text';
}

/** OpenAI's default for the absent field. */
const defaults: Readonly<Record<string, JsonValue>> = {
  logprobs: false,
  n: 1,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  store: false,
  service_tier: 'auto',
  parallel_tool_calls: true,
};

function leaveOut(body: JsonObject, field: string, losses: Loss[]): void {
  const value = body[field];
  if (value === undefined) return;
  delete body[field];
  if (value !== null && value !== defaults[field]) losses.push({ field, why: 'unsupported' });
}

function fitResponseFormat(body: JsonObject, quirks: ProviderQuirks, losses: Loss[]): void {
  const format = body.response_format;
  if (!isObject(format)) return;
  if (format.type === 'json_object' && !quirks.jsonObject) {
    losses.push({ field: 'response_format', why: quirks.jsonSchema ? 'narrowed' : 'unsupported' });
    if (quirks.jsonSchema) body.response_format = anyObjectSchema;
    else delete body.response_format;
    return;
  }
  if (format.type !== 'json_schema' || quirks.jsonSchema) return;
  losses.push({ field: 'response_format', why: quirks.jsonObject ? 'narrowed' : 'unsupported' });
  if (quirks.jsonObject) body.response_format = { type: 'json_object' };
  else delete body.response_format;
  // JSON mode alone knows no schema, and some services demand the word JSON in the prompt: so words describe it.
  const wrapped = format.json_schema;
  const schema = isObject(wrapped) ? wrapped.schema : undefined;
  const messages = body.messages;
  if (schema === undefined || !Array.isArray(messages)) return;
  const content = `Answer with one JSON value that fits this JSON Schema, and nothing else: ${JSON.stringify(schema)}`;
  body.messages = [{ role: 'system', content }, ...messages];
}

const anyObjectSchema: JsonObject = {
  type: 'json_schema',
  json_schema: { name: 'object', schema: { type: 'object', additionalProperties: true } },
};

/** Whether no message of the system is behind the first message, nor a developer's anywhere. */
function isSystemFirst(messages: JsonValue | undefined): boolean {
  if (!Array.isArray(messages)) return true;
  return messages.every((one, at) => !isObject(one) || (at === 0 ? one.role !== 'developer' : !instructs(one)));
}

/**
 * The messages with one of the system, the first, which has the texts of all that begin the conversation. Later ones join
 * the user's message before them, or become one: many templates want user and assistant by turns.
 */
function systemFirst(messages: readonly JsonValue[]): JsonValue[] {
  const first = messages.findIndex((one) => !isObject(one) || !instructs(one));
  const leading = messages.slice(0, first < 0 ? messages.length : first) as JsonObject[];
  const result: JsonObject[] = [];
  if (leading.length > 0)
    result.push({ role: 'system', content: leading.map(({ content }) => content).reduce(joined)! });
  for (const one of messages.slice(leading.length) as JsonObject[]) {
    const last = result.at(-1);
    if (!instructs(one)) result.push(one);
    else if (last?.role === 'user')
      result[result.length - 1] = { ...last, content: joined(last.content, one.content)! };
    else result.push({ role: 'user', content: one.content ?? '' });
  }
  return result;
}

function instructs({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

/** Two contents as one: a text where both are. */
function joined(before: JsonValue | undefined, after: JsonValue | undefined): JsonValue {
  if (typeof before === 'string' && typeof after === 'string') return `${before}\n\n${after}`;
  return [...partsOf(before), ...partsOf(after)];
}

function partsOf(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [];
}
