import { createHash } from 'node:crypto';
import { hasText, isObject, type JsonObject, type JsonValue, jsonText, stringOr } from '../../kernel/json.ts';

/* Messages of OpenAI's format as services take them that check what an earlier model wrote. */

/**
 * Mistral: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9". Its ids stay; others become a hash, the same
 * one in each turn. Null: all fit.
 */
export function withShortCallIds(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { tool_calls: calls, tool_call_id: answered } = message;
    if (typeof answered === 'string' && !isShort(answered)) return { ...message, tool_call_id: shortened(answered) };
    if (!Array.isArray(calls) || calls.every((call) => !isObject(call) || isShort(call.id))) return message;
    return {
      ...message,
      tool_calls: calls.map((call) =>
        isObject(call) && !isShort(call.id) ? { ...call, id: shortened(jsonText(call.id)) } : call,
      ),
    };
  });
}

const idChars = 9;
const short = /^[A-Za-z0-9]{9}$/;

function isShort(id: JsonValue | undefined): boolean {
  return typeof id === 'string' && short.test(id);
}

function shortened(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, idChars);
}

/**
 * DeepSeek and Moonshot refuse a turn with calls that has no thought, while their models think: another model wrote it,
 * or the client did not keep it. An empty one counts as none at Moonshot. Null: no turn lacks one.
 */
export function withThoughtsBesideCalls(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { role, tool_calls: calls, reasoning_content: thought } = message;
    const hasCalls = role === 'assistant' && Array.isArray(calls) && calls.length > 0;
    return !hasCalls || (typeof thought === 'string' && thought !== '')
      ? message
      : { ...message, reasoning_content: ' ' };
  });
}

/**
 * DeepSeek and Moonshot refuse a turn of thoughts alone, as clients keep it of an answer that was interrupted. It goes, since
 * it says nothing. Null: there is none.
 */
export function withoutThoughtsAlone(messages: readonly JsonValue[]): JsonValue[] | null {
  const rest = messages.filter((message) => !isObject(message) || !isThoughtAlone(message));
  return rest.length === messages.length ? null : rest;
}

function isThoughtAlone({ role, reasoning_content: thought, content, tool_calls: calls, prefix }: JsonObject): boolean {
  const isEmpty = (value: JsonValue | undefined) =>
    (value ?? '') === '' || (Array.isArray(value) && value.length === 0);
  // What DeepSeek is to go on with may be empty yet.
  return role === 'assistant' && !isEmpty(thought) && isEmpty(content) && isEmpty(calls) && prefix !== true;
}

/**
 * For services that call thoughts `reasoning` and read no other name. Answers have both names here, and clients send back
 * the one that they read. Null: no thought lacks it.
 */
export function withThoughtsAsReasoning(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { role, reasoning_content: thought, reasoning } = message;
    return role !== 'assistant' || !hasText(thought) || hasText(reasoning)
      ? message
      : { ...message, reasoning: thought };
  });
}

/** For models that write thoughts into their texts, and go on from them. Null: no message has one elsewhere. */
export function withThoughtsInTexts(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { reasoning_content: thought, ...rest } = message;
    if (rest.role !== 'assistant' || !hasText(thought)) return message;
    return { ...rest, content: joined(`<think>\n${thought}\n</think>`, rest.content ?? '') };
  });
}

/** Mistral's models that think have thoughts as parts of the content. Null: no message has them elsewhere. */
export function withThoughtsAsParts(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { reasoning_content: thought, ...rest } = message;
    if (rest.role !== 'assistant' || !hasText(thought)) return message;
    const parts = partsOf(rest.content).filter((part) => !isObject(part) || part.text !== '');
    if (parts.some((part) => isObject(part) && part.type === 'thinking')) return message;
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: thought }] };
    return { ...rest, content: [thinking, ...parts] };
  });
}

/** OpenAI's newer word for the system's role, which other services refuse. Null: no message has it. */
export function withSystemForDeveloper(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => (message.role === 'developer' ? { ...message, role: 'system' } : message));
}

/**
 * The messages with one of the system, the first, which has the texts of all that begin the conversation. Later ones join
 * the user's message before them, or become one: many templates want user and assistant by turns. Null: all can stay.
 */
export function withSystemFirst(messages: readonly JsonValue[]): JsonValue[] | null {
  if (isSystemFirst(messages)) return null;
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

/** For services whose user and assistant speak by turns: neighbours of one role become one. Null: there are none. */
export function withTurns(messages: readonly JsonValue[]): JsonValue[] | null {
  const result: JsonValue[] = [];
  for (const one of messages) {
    const last = result.at(-1);
    const isAlike =
      isObject(one) && isObject(last) && one.role === last.role && /^(user|assistant)$/.test(`${one.role}`);
    if (!isAlike) {
      result.push(one);
      continue;
    }
    const calls = [last, one].flatMap(({ tool_calls }) => (Array.isArray(tool_calls) ? tool_calls : []));
    const content = joined(last.content, one.content);
    result.splice(-1, 1, { ...last, ...one, content, ...(calls.length > 0 && { tool_calls: calls }) });
  }
  return result.length === messages.length ? null : result;
}

/** Whether no message of the system is behind the first message, nor a developer's anywhere. */
function isSystemFirst(messages: readonly JsonValue[]): boolean {
  return messages.every((one, at) => !isObject(one) || (at === 0 ? one.role !== 'developer' : !instructs(one)));
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

/**
 * "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL": what
 * tools gave together with text becomes a message of the user, behind all results of the turn. Null: there is none.
 */
export function withPicturesBehindResults(messages: readonly JsonValue[]): JsonValue[] | null {
  let pictures: JsonValue[] = [];
  const result = messages.flatMap((message, at) => {
    if (!isObject(message) || message.role !== 'tool') return [message];
    const parts = partsOf(message.content);
    const isText = (part: JsonValue) => !isObject(part) || part.type === 'text';
    const texts = parts.filter(isText);
    const others = parts.filter((part) => !isText(part));
    pictures.push(...others);
    const content = texts.length > 0 ? texts : '[see the next message]';
    const answer = others.length === 0 ? message : { ...message, content };
    const next = messages[at + 1];
    if (pictures.length === 0 || (isObject(next) && next.role === 'tool')) return [answer];
    const user = { role: 'user', content: pictures };
    pictures = [];
    return [answer, user];
  });
  return result.length === messages.length ? null : result;
}

/** Pictures and documents as OpenAI writes them, where they are in Mistral's form. Null: there is none. */
export function withPicturesAsObjects(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    const parts = content.map(openAiPart);
    return parts.every((part, at) => part === content[at]) ? message : { ...message, content: parts };
  });
}

function openAiPart(part: JsonValue): JsonValue {
  if (!isObject(part)) return part;
  const { image_url: picture, document_url: data, ...rest } = part;
  if (typeof picture === 'string') return { ...rest, image_url: { url: picture } };
  if (typeof data !== 'string') return part;
  return { type: 'file', file: { filename: stringOr(rest.document_name, 'document.pdf'), file_data: data } };
}

/** Mistral takes the name of a tool alone: those of participants go. Null: there is none. */
export function withoutNames(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { name, ...nameless } = message;
    return name === undefined || message.role === 'tool' ? message : nameless;
  });
}

type Mend = (messages: readonly JsonValue[]) => JsonValue[] | null;

/** All of them, one after another. Null: all messages can stay. */
export function inTurn(...mends: readonly Mend[]): Mend {
  return (messages) => mends.reduce<JsonValue[] | null>((last, mend) => mend(last ?? messages) ?? last, null);
}

/** Members of answers that not every service takes back. */
const answerMembers = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
  'images',
  'annotations',
  'audio',
  'refusal',
  'function_call',
  // Mistral's SDK writes it into each.
  'prefix',
  // Of Ollama's messages, and of parts of Mistral's.
  'thinking',
  // Of OpenAI's SDKs, which read it in the content.
  'parsed',
] as const;

type AnswerMember = (typeof answerMembers)[number];

/**
 * For services that refuse a message with a member that they do not know: clients send the message of an answer back as it
 * was, and another provider may have given it. `taken`: those that the service knows. Null: all messages can stay.
 */
export function withAnswerMembers(...taken: readonly AnswerMember[]): Mend {
  return (messages) =>
    mended(messages, (message) => {
      const refused = [...refusedIn(message, taken), ...Object.keys(message).filter(isMark)];
      const toolCalls = withoutPlaces(message.tool_calls);
      const { role, content: written } = message;
      // Cursor's, next to calls: "Invalid 'messages[1].content': empty array".
      const isEmpty = role === 'assistant' && Array.isArray(written) && written.length === 0;
      const content = isEmpty ? null : withBareTexts(written, taken.includes('thinking'));
      if (refused.length === 0 && toolCalls === message.tool_calls && content === message.content) return message;
      const { refusal } = message;
      const mendedOne: JsonObject = { ...message, ...(toolCalls !== undefined && { tool_calls: toolCalls }) };
      if (content !== undefined) mendedOne.content = content;
      for (const name of refused) delete mendedOne[name];
      const calls = Array.isArray(mendedOne.tool_calls) && mendedOne.tool_calls.length > 0;
      // A refusal is what the model said; a turn of thoughts alone, such as a limit makes it, says nothing.
      if (message.role === 'assistant' && !calls && (mendedOne.content ?? null) === null)
        mendedOne.content = typeof refusal === 'string' ? refusal : '';
      return mendedOne;
    });
}

/** Marks of clients: Copilot CLI's `__copilotMessageSource`, and thoughts of Responses that Pydantic AI names by their ids. */
function isMark(name: string): boolean {
  return name.startsWith('__') || name.startsWith('rs_');
}

/**
 * Texts without the members of the message they were in, which OpenAI's Agents SDK for JS adds to them, and no thoughts where
 * the service knows none. Null: nothing is left.
 */
function withBareTexts(content: JsonValue | undefined, takesThoughts: boolean): JsonValue | undefined {
  const isThought = (part: JsonObject) => part.type === 'thinking' && !takesThoughts;
  if (
    !Array.isArray(content) ||
    !content.some((part) => isObject(part) && (part.role !== undefined || isThought(part)))
  )
    return content;
  const rest = content.filter((part) => !isObject(part) || !isThought(part));
  if (rest.length === 0) return null;
  return rest.map((part) =>
    isObject(part) && part.role !== undefined && part.type === 'text' ? { type: 'text', text: part.text ?? '' } : part,
  );
}

/** Calls without the index that they had in a stream, which some clients (Mistral Vibe) send back. */
function withoutPlaces(calls: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(calls) || !calls.some((call) => isObject(call) && call.index !== undefined)) return calls;
  return calls.map((call) => {
    if (!isObject(call)) return call;
    const { index: _, ...rest } = call;
    return rest;
  });
}

function refusedIn(message: JsonObject, taken: readonly AnswerMember[]): AnswerMember[] {
  if (message.role !== 'assistant') return [];
  // A call in the older form is a part of the conversation: leaving it out would change that.
  return answerMembers.filter(
    (name) =>
      message[name] !== undefined && !taken.includes(name) && (name !== 'function_call' || message[name] === null),
  );
}

/** The list with each object as it is mended; null: all stay as they are. */
export function mended(list: readonly JsonValue[], mend: (one: JsonObject) => JsonObject): JsonValue[] | null {
  const result = list.map((one) => (isObject(one) ? mend(one) : one));
  return result.every((one, at) => one === list[at]) ? null : result;
}
