import { isObject, type JsonObject, memberValue, parsedData, scanJson } from '../../kernel/json.ts';
import type { CallerDialectId } from './dialect.ts';

/** The name that an answer gives its model, in place of the upstream's. */
export interface AnswerModel {
  dialect: CallerDialectId;
  name: string;
}

/** Members of a stream's events that hold the name; `once`: only that type of event does. */
const places: Readonly<Record<CallerDialectId, { member: string; under?: string; once?: string }>> = {
  'openai-chat': { member: 'model' },
  'anthropic-messages': { member: 'model', under: 'message', once: 'message_start' },
  'openai-responses': { member: 'model', under: 'response' },
  gemini: { member: 'modelVersion' },
  ollama: { member: 'model' },
  'ai-sdk': { member: 'modelId' },
  // Answers of these name no model.
  'cohere-chat': { member: 'model' },
  'bedrock-converse': { member: 'model' },
};

/** An event's data with the name, its numbers as they came; null: it holds none, or the same. `last`: no later event of the stream has one. */
export function eventWithModel(data: string, { dialect, name }: AnswerModel): { data: string | null; last: boolean } {
  const { member, under, once } = places[dialect];
  if (!data.includes(`"${once ?? member}"`)) return { data: null, last: false };
  const event = parsedData(data);
  if (event === null || (once !== undefined && event.type !== once)) return { data: null, last: false };
  const holder = under === undefined ? event : event[under];
  const last = once !== undefined;
  if (!isObject(holder) || typeof holder[member] !== 'string' || holder[member] === name) return { data: null, last };
  if (under === undefined)
    return { data: onOneLine(wholeWithModel(Buffer.from(data), event, { dialect, name })), last };
  holder[member] = name;
  return { data: JSON.stringify(event), last };
}

/** JSON whose line breaks, which are between its parts alone, would end the data of an event. */
function onOneLine(json: Buffer): string {
  return json.toString().replace(/[\r\n]+/g, ' ');
}

/** Nesting of any answer that we read. */
const depthMax = 256;

/** A whole answer with the name, its other bytes as they came. `answer` is what `bytes` say, and gets the name too. */
export function wholeWithModel(bytes: Buffer, answer: unknown, { dialect, name }: AnswerModel): Buffer {
  const { member } = places[dialect];
  if (!isObject(answer) || typeof answer[member] !== 'string' || answer[member] === name) return bytes;
  (answer as JsonObject)[member] = name;
  const { members, opaqueKeys, tooDeep } = scanJson(bytes, depthMax);
  const range = opaqueKeys || tooDeep ? null : memberValue(bytes, members, member);
  if (range === null) return Buffer.from(JSON.stringify(answer));
  return Buffer.concat([bytes.subarray(0, range.start), Buffer.from(JSON.stringify(name)), bytes.subarray(range.end)]);
}
