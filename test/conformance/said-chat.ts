import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import {
  count,
  type Finish,
  finishOf,
  objectsOf,
  type Said,
  type SaidCall,
  type SaidUsage,
  said,
  spelt,
  words,
} from './said.ts';

const finishes: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  complete: 'stop',
  tool_calls: 'tools',
  function_call: 'tools',
  length: 'length',
  model_length: 'length',
  content_filter: 'filtered',
};

/** Contents of a chat completion. */
export function saidByChat(answer: JsonObject): Said {
  const choices = objectsOf(answer.choices);
  const choice = choices.find(({ index }) => index === 0 || index === undefined) ?? choices[0] ?? {};
  const message = isObject(choice.message) ? choice.message : {};
  const parts = objectsOf(message.content);
  const calls = objectsOf(message.tool_calls).flatMap(callOf);
  const legacy = isObject(message.function_call) ? callOf({ function: message.function_call }) : [];
  return said({
    text: textOf(message.content) || words(message.refusal),
    refused: words(message.refusal) !== '',
    tools: calls.length > 0 ? calls : legacy,
    finish: finishOf(finishes, choice.finish_reason),
    usage: usageOfChat(answer),
    thoughts:
      words(message.reasoning_content) ||
      words(message.reasoning) ||
      [...objectsOf(message.reasoning_details).map(detailOf), ...parts.map(thoughtOf)].join(''),
    media:
      objectsOf(message.images).length +
      parts.filter(({ type }) => type === 'image_url').length +
      (isObject(message.audio) && message.audio.data !== '' ? 1 : 0),
    citations: objectsOf(message.annotations).length,
  });
}

/** The chunks of a stream as the completion that they make. */
export function foldChat(chunks: readonly JsonObject[]): JsonObject {
  const message: Record<string, JsonValue | undefined> = {};
  const calls = new Map<JsonValue, Piece>();
  const answer: JsonObject = {};
  let finish: JsonValue = null;
  for (const chunk of chunks) {
    if (isObject(chunk.usage)) answer.usage = chunk.usage;
    if (isObject(chunk.x_groq) && isObject(chunk.x_groq.usage)) answer.usage ??= chunk.x_groq.usage;
    const choice = objectsOf(chunk.choices).find(({ index }) => index === 0 || index === undefined);
    if (choice === undefined) continue;
    finish = words(choice.finish_reason) || finish;
    // Some services send the whole as a message.
    const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {};
    for (const name of [
      'content',
      'refusal',
      'reasoning',
      'reasoning_content',
      'reasoning_details',
      'images',
      'annotations',
    ] as const) {
      message[name] = appended(message[name], delta[name]);
    }
    if (isObject(delta.audio)) message.audio = delta.audio;
    if (isObject(delta.function_call)) addCall(calls, 'legacy', delta.function_call);
    for (const call of objectsOf(delta.tool_calls)) {
      const key = call.index ?? call.id ?? calls.size;
      addCall(calls, key, isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : {});
    }
  }
  message.tool_calls = [...calls.values()].map(({ name, arguments: text, custom }) =>
    custom ? { custom: { name, input: text } } : { function: { name, arguments: text } },
  );
  answer.choices = [{ index: 0, message, finish_reason: finish }];
  return answer;
}

/** A call as far as it has come. */
interface Piece {
  name: string;
  arguments: string;
  custom: boolean;
}

function addCall(calls: Map<JsonValue, Piece>, key: JsonValue, part: JsonObject): void {
  const call = calls.get(key) ?? { name: '', arguments: '', custom: 'custom' in part || 'input' in part };
  // Some services repeat it with every piece.
  if (call.name !== words(part.name)) call.name += words(part.name);
  const more = part.arguments ?? part.input;
  call.arguments += isObject(more) ? JSON.stringify(more) : words(more);
  calls.set(key, call);
}

function appended(before: JsonValue | undefined, more: JsonValue | undefined): JsonValue | undefined {
  if (more === undefined || more === null) return before;
  if (before === undefined || before === null) return more;
  if (typeof before === 'string' && typeof more === 'string') return before + more;
  return [...asParts(before), ...asParts(more)];
}

function detailOf({ text, summary }: JsonObject): string {
  return words(text) || words(summary);
}

/** Mistral streams thoughts as parts, then text as text. */
function asParts(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  return value === '' ? [] : [{ type: 'text', text: value }];
}

function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => (part.type === 'text' ? words(part.text) : part.type === 'refusal' ? words(part.refusal) : ''))
    .join('');
}

function thoughtOf(part: JsonObject): string {
  return part.type === 'thinking' ? textOf(part.thinking) : '';
}

function callOf(call: JsonObject): SaidCall[] {
  const { custom, function: made } = call;
  // Some services fill every place, with nothing.
  if (isObject(made) && made.name !== '') return [{ name: words(made.name), arguments: spelt(made.arguments ?? '') }];
  if (!isObject(custom) || custom.name === '') return [];
  return [{ name: words(custom.name), arguments: words(custom.input), custom: true }];
}

/** xAI and Google's layer count thoughts beside the completion, Mistral sound beside the prompt: the total tells. */
function usageOfChat(answer: JsonObject): SaidUsage | null {
  const own = isObject(answer.x_groq) ? answer.x_groq.usage : undefined;
  const usage = isObject(answer.usage) ? answer.usage : own;
  if (!isObject(usage)) return null;
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const [input, output] = [count(usage.prompt_tokens), count(usage.completion_tokens)];
  const beside = Math.max(0, count(usage.total_tokens) - input - output);
  return beside > 0 && beside === count(details.audio_tokens)
    ? { input: input + beside, output }
    : { input, output: output + beside };
}
