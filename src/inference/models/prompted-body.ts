import type { CallerDialectId } from '../../formats/dialects/dialect.ts';
import { pathModel, pathStream } from '../../formats/dialects/gemini/path-members.ts';
import { isObject, type JsonObject, type JsonValue, listIn } from '../../kernel/json.ts';

/** The prompt that a body names, by `model: "prompt/NAME@REF"` or `prompt: { id, version, variables }`. */
export interface PromptNamed {
  /** `model`: the whole name behind `prompt/`; `prompt`: an id, which may be one of a provider. */
  by: 'model' | 'prompt';
  name: string;
  /** A version's number or a label; null: neither is named. */
  ref: string | null;
  variables: Readonly<Record<string, JsonValue>>;
}

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export type Parameter = 'temperature' | 'top_p' | 'max_tokens' | 'reasoning_effort';

/** Members that are put into a body. */
export interface BodyAddition {
  /** Before the messages that it has. */
  messages: readonly PromptMessage[];
  /** Turns behind them, whose answer is whole and kept nowhere. Absent: none. */
  after?: readonly PromptMessage[];
  parameters: Readonly<Partial<Record<Parameter, string | number | undefined>>>;
  /** True if these replace the caller's. */
  over: boolean;
  /** In place of the model that it names; null: it keeps that one. */
  model: string | null;
}

const prefix = 'prompt/';

/** Null: it names none. A fault is a sentence with its field. */
export function promptNamed(
  body: JsonObject,
  dialect: CallerDialectId,
): PromptNamed | { param: string; fault: string } | null {
  const model = body[modelMember(dialect)];
  const { prompt } = body;
  const given = isObject(prompt) ? prompt : null;
  const variables = given?.variables ?? {};
  const byModel = typeof model === 'string' && model.startsWith(prefix);
  if (!byModel && typeof given?.id !== 'string') return null;
  if (!isObject(variables)) return { param: 'prompt.variables', fault: 'expected an object of values by name' };
  if (!byModel) {
    const ref = given?.version ?? null;
    const shown = typeof ref === 'number' ? String(ref) : ref;
    if (shown !== null && typeof shown !== 'string')
      return { param: 'prompt.version', fault: 'expected a version or a label' };
    return { by: 'prompt', name: String(given?.id), ref: shown, variables: variables as Record<string, JsonValue> };
  }
  if (given?.id !== undefined && given.id !== null) {
    return { param: 'prompt.id', fault: "'model' names a prompt already. Send one of the two" };
  }
  const [name = '', ...rest] = model.slice(prefix.length).split('@');
  return {
    by: 'model',
    name,
    ref: rest.length === 0 ? null : rest.join('@'),
    variables: variables as Record<string, JsonValue>,
  };
}

/** True if a body may name a prompt: a look that costs little, since each request to a server with prompts has it. */
export function mayNamePrompt(raw: Buffer): boolean {
  return raw.includes('"prompt"') || raw.includes('"prompt/') || raw.includes('"prompt\\/');
}

function modelMember(dialect: CallerDialectId): string {
  return dialect === 'gemini' ? pathModel : 'model';
}

/** The body with these; the name of a prompt is left out. */
export function withAddition(body: JsonObject, dialect: CallerDialectId, addition: BodyAddition): JsonObject {
  const { prompt, ...others } = body;
  // The text of Ollama's /api/generate, and the messages of the AI SDK.
  const rest = typeof prompt === 'string' || dialect === 'ai-sdk' ? body : others;
  const { messages, after, parameters, over, model } = addition;
  let added = messages.length === 0 ? rest : withMessages[dialect](rest, messages);
  if (after !== undefined) added = withTurns(added, dialect, after);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) added = withParameter(added, places[dialect][name as Parameter], value, over);
  }
  return model === null ? added : { ...added, [modelMember(dialect)]: model };
}

/** Members of each format; the second is an older name of it at the top, which is read too. */
const places: Record<CallerDialectId, Record<Parameter, readonly [readonly string[], string?]>> = {
  'openai-chat': {
    temperature: [['temperature']],
    top_p: [['top_p']],
    max_tokens: [['max_completion_tokens'], 'max_tokens'],
    reasoning_effort: [['reasoning_effort']],
  },
  'anthropic-messages': {
    temperature: [['temperature']],
    top_p: [['top_p']],
    max_tokens: [['max_tokens']],
    reasoning_effort: [['output_config', 'effort']],
  },
  'openai-responses': {
    temperature: [['temperature']],
    top_p: [['top_p']],
    max_tokens: [['max_output_tokens']],
    reasoning_effort: [['reasoning', 'effort']],
  },
  gemini: {
    temperature: [['generationConfig', 'temperature']],
    top_p: [['generationConfig', 'topP']],
    max_tokens: [['generationConfig', 'maxOutputTokens']],
    reasoning_effort: [['generationConfig', 'thinkingConfig', 'thinkingLevel']],
  },
  ollama: {
    temperature: [['options', 'temperature']],
    top_p: [['options', 'top_p']],
    max_tokens: [['options', 'num_predict']],
    reasoning_effort: [['think']],
  },
  'ai-sdk': {
    temperature: [['temperature']],
    top_p: [['topP']],
    max_tokens: [['maxOutputTokens']],
    reasoning_effort: [['reasoning']],
  },
  'bedrock-converse': {
    temperature: [['inferenceConfig', 'temperature']],
    top_p: [['inferenceConfig', 'topP']],
    max_tokens: [['inferenceConfig', 'maxTokens']],
    reasoning_effort: [['additionalModelRequestFields', 'reasoning_effort']],
  },
  'cohere-chat': {
    temperature: [['temperature']],
    top_p: [['p']],
    max_tokens: [['max_tokens']],
    reasoning_effort: [['reasoning_effort']],
  },
};

function withParameter(
  body: JsonObject,
  [path, older]: readonly [readonly string[], string?],
  value: string | number,
  over: boolean,
): JsonObject {
  const { [older ?? '']: olderValue, ...others } = body;
  const isGiven = (valueAt(body, path) ?? olderValue ?? null) !== null;
  return isGiven && !over ? body : put(others, path, value);
}

function valueAt(body: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((value, name) => (isObject(value) ? value[name] : undefined), body);
}

/** A value that is no object stays, and its reader refuses it. */
function put(body: JsonObject, [name = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (rest.length === 0) return { ...body, [name]: value };
  const inner = body[name] ?? {};
  return isObject(inner) ? { ...body, [name]: put(inner, rest, value) } : body;
}

/** Messages before those of the caller, in the shape of each format. */
const withMessages: Record<CallerDialectId, (body: JsonObject, before: readonly PromptMessage[]) => JsonObject> = {
  'openai-chat': (body, before) => ({ ...body, messages: inFront(before.map(turnOf['openai-chat']), body.messages) }),
  'anthropic-messages'(body, before) {
    const blocks = systemTexts(before).map((text) => ({ type: 'text', text }));
    const system = typeof body.system === 'string' ? [{ type: 'text', text: body.system }] : body.system;
    return {
      ...body,
      ...(blocks.length > 0 && { system: inFront(blocks, system) }),
      messages: inFront(turns(before).map(turnOf['anthropic-messages']), body.messages),
    };
  },
  'openai-responses'(body, before) {
    const texts = systemTexts(before);
    const { input, instructions } = body;
    const instructionTexts = typeof instructions === 'string' && instructions !== '' ? [instructions] : [];
    const first = turns(before).map(turnOf['openai-responses']);
    const items = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
    return {
      ...body,
      ...(texts.length > 0 && { instructions: [...texts, ...instructionTexts].join('\n\n') }),
      ...((first.length > 0 || (input ?? null) === null) && { input: inFront(first, items) }),
    };
  },
  gemini(body, before) {
    const name = body.system_instruction === undefined ? 'systemInstruction' : 'system_instruction';
    const system = body[name];
    const parts = systemTexts(before).map((text) => ({ text }));
    const systemParts = isObject(system) && Array.isArray(system.parts) ? system : { parts: [] };
    const first = turns(before).map(turnOf.gemini);
    return {
      ...body,
      ...(parts.length > 0 && { [name]: { ...systemParts, parts: inFront(parts, systemParts.parts) } }),
      contents: inFront(first, body.contents),
    };
  },
  'ai-sdk': (body, before) => ({ ...body, prompt: inFront(before.map(turnOf['ai-sdk']), body.prompt) }),
  'bedrock-converse'(body, before) {
    const texts = systemTexts(before).map((text) => ({ text }));
    const first = turns(before).map(turnOf['bedrock-converse']);
    return {
      ...body,
      ...(texts.length > 0 && { system: inFront(texts, body.system) }),
      messages: inFront(first, body.messages),
    };
  },
  'cohere-chat': (body, before) => ({ ...body, messages: inFront(before.map(turnOf['cohere-chat']), body.messages) }),
  // A text to go on with has one turn, and the texts of the prompt before it.
  ollama: (body, before) =>
    typeof body.prompt === 'string'
      ? { ...body, system: [...before.map(({ content }) => content), body.system].filter(Boolean).join('\n\n') }
      : { ...body, messages: inFront(before.map(turnOf.ollama), body.messages) },
};

/** A turn in the shape of each format. */
const turnOf: Record<CallerDialectId, (turn: PromptMessage) => JsonObject> = {
  'openai-chat': ({ role, content }) => ({ role, content }),
  'anthropic-messages': ({ role, content }) => ({ role, content }),
  'openai-responses': ({ role, content }) => ({ type: 'message', role, content }),
  gemini: ({ role, content }) => ({ role: role === 'assistant' ? 'model' : 'user', parts: [{ text: content }] }),
  ollama: ({ role, content }) => ({ role, content }),
  'ai-sdk': ({ role, content }) => ({ role, content: role === 'system' ? content : [{ type: 'text', text: content }] }),
  'bedrock-converse': ({ role, content }) => ({ role, content: [{ text: content }] }),
  'cohere-chat': ({ role, content }) => ({ role, content }),
};
const turnsMember = { 'openai-responses': 'input', gemini: 'contents', 'ai-sdk': 'prompt' } as const;

function withTurns(body: JsonObject, dialect: CallerDialectId, after: readonly PromptMessage[]): JsonObject {
  const isResponses = dialect === 'openai-responses';
  const name = dialect in turnsMember ? turnsMember[dialect as keyof typeof turnsMember] : 'messages';
  const { [name]: turns, stream_options: _, background: __, ...rest } = body;
  const before = isResponses && typeof turns === 'string' ? [turnOf[dialect]({ role: 'user', content: turns })] : turns;
  return {
    ...rest,
    [name]: inFront(listIn(before) as JsonObject[], after.map(turnOf[dialect])),
    [dialect === 'gemini' ? pathStream : 'stream']: false,
    ...(isResponses && { store: false }),
  };
}

/** A value that is no list stays, and its reader refuses it. */
function inFront(first: readonly JsonObject[], rest: JsonValue | undefined): JsonValue {
  if (rest === undefined || rest === null) return [...first];
  return Array.isArray(rest) ? [...first, ...rest] : rest;
}

function systemTexts(messages: readonly PromptMessage[]): string[] {
  return messages.filter(({ role }) => role === 'system').map(({ content }) => content);
}

function turns(messages: readonly PromptMessage[]): PromptMessage[] {
  return messages.filter(({ role }) => role !== 'system');
}
