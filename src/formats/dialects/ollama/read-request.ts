import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { CallerRequest } from '../dialect.ts';
import { memberKinds, objectsBy } from '../named-objects.ts';
import { openAiChat } from '../openai-chat/index.ts';
import { pathForm } from './path-form.ts';
import { handled, invalidFieldIn } from './request-fields.ts';

/** A body that names nothing at a provider. */
export const objects = objectsBy({
  members: memberKinds({ arguments: 'opaque', parameters: 'opaque', format: 'opaque' }),
});

/**
 * A request of Ollama's API as the chat completion that says the same: https://docs.ollama.com/api. It streams unless it
 * says no. Its answer is always converted.
 */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure {
  const form = body[pathForm] === 'generate' ? 'generate' : 'chat';
  const failure = invalidFieldIn(body, form);
  if (failure !== null) return failure;
  const read = openAiChat.readRequest(raw, chatOf(body, form), scan);
  if (isFailure(read)) return read;
  const lost = lossesOf(body, form);
  return {
    ...read,
    includeUsage: true,
    neutral() {
      const neutral = read.neutral();
      return { ...neutral, lost: [...(neutral.lost ?? []), ...lost] };
    },
    echo: { form },
    wordFor: (field) => words.get(field) ?? field,
    forward() {
      throw new Error('no provider is asked in the format of Ollama');
    },
  };
}

/** The same as a chat completion of OpenAI's format. */
function chatOf(body: JsonObject, form: 'chat' | 'generate'): JsonObject {
  const options = (body.options ?? {}) as JsonObject;
  const chat: JsonObject = {
    model: body.model as string,
    messages: form === 'chat' ? messagesOf(body.messages as JsonObject[]) : promptOf(body),
    stream: body.stream !== false,
  };
  const put = (name: string, value: JsonValue | undefined) => {
    if (value !== undefined && value !== null) chat[name] = value;
  };
  for (const name of ['temperature', 'top_p', 'seed', 'stop', 'presence_penalty', 'frequency_penalty'])
    put(name, options[name]);
  const { num_predict: limit, top_k: topK } = options;
  if (typeof topK === 'number' && topK > 0) chat.top_k = topK;
  // −1 and −2 mean: as much as the model likes.
  if (typeof limit === 'number' && limit > 0) chat.max_completion_tokens = limit;
  if (Array.isArray(body.tools) && body.tools.length > 0) chat.tools = body.tools;
  put('response_format', formatOf(body.format));
  put('reasoning_effort', effortOf(body.think));
  return chat;
}

function formatOf(format: JsonValue | undefined): JsonObject | undefined {
  if (format === 'json') return { type: 'json_object' };
  return isObject(format) ? { type: 'json_schema', json_schema: { name: 'answer', schema: format } } : undefined;
}

function effortOf(think: JsonValue | undefined): string | undefined {
  if (think === true) return 'medium';
  if (think === false) return 'none';
  return typeof think === 'string' ? think : undefined;
}

function promptOf({ system, prompt, images }: JsonObject): JsonObject[] {
  return [
    ...(typeof system === 'string' && system !== '' ? [{ role: 'system', content: system }] : []),
    { role: 'user', content: contentOf(prompt as string, images) },
  ];
}

/** Calls have no ids there: a result is of the first call of its name that has none yet. */
function messagesOf(messages: readonly JsonObject[]): JsonObject[] {
  const waiting: { id: string; name: string }[] = [];
  return messages.map((message, at) => {
    const { role = 'user', images, tool_calls: calls, tool_name: name, tool_call_id: id, thinking } = message;
    const content = contentOf(typeof message.content === 'string' ? message.content : '', images);
    const thoughts = typeof thinking === 'string' && thinking !== '' ? { reasoning_content: thinking } : {};
    if (role === 'tool') {
      const of = waiting.findIndex((call) => (typeof id === 'string' ? call.id === id : call.name === name));
      const [call] = waiting.splice(Math.max(of, 0), 1);
      return { role, content, tool_call_id: call?.id ?? (typeof id === 'string' ? id : `call_${at}`) };
    }
    if (!Array.isArray(calls) || calls.length === 0) return { role, content, ...thoughts };
    const wired = (calls as JsonObject[]).map((one, i) => {
      const { name: called, arguments: args = {} } = one.function as JsonObject;
      const call = { id: typeof one.id === 'string' ? one.id : `call_${at}_${i}`, name: called as string };
      waiting.push(call);
      return { id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(args) } };
    });
    return { role, content, ...thoughts, tool_calls: wired };
  });
}

function contentOf(text: string, images: JsonValue | undefined): JsonValue {
  if (!Array.isArray(images) || images.length === 0) return text;
  const pictures = (images as string[]).map((data) => ({ type: 'image_url', image_url: { url: pictureUrl(data) } }));
  return text === '' ? pictures : [{ type: 'text', text }, ...pictures];
}

/** First bytes of a picture in base64. */
const beginnings = { iVBORw0: 'png', R0lGOD: 'gif', UklGR: 'webp' } as const;

function pictureUrl(data: string): string {
  if (data.startsWith('data:')) return data;
  const [, kind = 'jpeg'] = Object.entries(beginnings).find(([begins]) => data.startsWith(begins)) ?? [];
  return `data:image/${kind};base64,${data}`;
}

function lossesOf(body: JsonObject, form: 'chat' | 'generate'): Loss[] {
  const options = objectIn(body.options);
  return [...unknownIn(body, handled[form], ''), ...unknownIn(options, handled.options, 'options.')];
}

function unknownIn(holder: JsonObject, known: ReadonlySet<string>, before: string): Loss[] {
  return Object.keys(holder)
    .filter((name) => name !== pathForm && !known.has(name) && (holder[name] ?? null) !== null)
    .map((name) => ({ field: before + name, why: 'unsupported' }));
}

const words: ReadonlyMap<string, string> = new Map([
  ...['temperature', 'top_p', 'top_k', 'seed', 'stop', 'presence_penalty', 'frequency_penalty'].map(
    (name): [string, string] => [name, `options.${name}`],
  ),
  ['max_tokens', 'options.num_predict'],
  ['max_completion_tokens', 'options.num_predict'],
  ['max_output_tokens', 'options.num_predict'],
  ['response_format', 'format'],
  ['reasoning_effort', 'think'],
  ['reasoning', 'think'],
]);
