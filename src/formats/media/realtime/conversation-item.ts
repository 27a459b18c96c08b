import { randomBase62 } from '../../../kernel/ids.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, listIn } from '../../../kernel/json.ts';
import type { WrongValue } from './events.ts';

/** An item that a caller puts into a conversation, without its id. */
export interface ReadItem {
  /** The item as events show it, without its sound. */
  item: JsonObject;
  /** The same as a message of a chat completion. */
  message: JsonObject;
}

export interface ItemPlace {
  /** Path of the item within its event, such as `item`. */
  at: string;
  /** Whether the model reads images. */
  sees: 'images' | 'text';
}

/**
 * Reads an item of the realtime API for a chat model; null: it has no use for items of this type. A call without an id,
 * which OpenAI's API allows, gets one.
 */
export function readItem(item: JsonObject, place: ItemPlace): ReadItem | WrongValue | null {
  const isCall = item.type === 'function_call';
  const { name } = item;
  const call_id = item.call_id ?? (isCall ? `call_${randomBase62(16)}` : null);
  // Providers refuse every later request of a conversation in which a call has no name or no id.
  if (isCall && !isNamed(name)) return wrong(`${place.at}.name`, 'Send the name of the function.');
  if ((isCall || item.type === 'function_call_output') && !isNamed(call_id))
    return wrong(`${place.at}.call_id`, 'Send the id of the call.');
  switch (item.type) {
    case 'function_call_output': {
      const output = jsonText(item.output ?? '');
      const message = { role: 'tool', tool_call_id: call_id, content: output };
      return { item: { type: item.type, call_id, output }, message };
    }
    case 'function_call': {
      const called = { name, arguments: jsonText(item.arguments ?? '') };
      const calls = [{ id: call_id, type: 'function', function: called }];
      const message = { role: 'assistant', content: '', tool_calls: calls };
      return { item: { type: item.type, call_id, ...called }, message };
    }
    case 'message':
      return readMessage(item, place);
    default:
      return null;
  }
}

const idLongest = 128;

/** The id that a caller gives its item; null: it gives none. */
export function itemIdIn({ id }: JsonObject): string | null | WrongValue {
  if (id === undefined || id === null) return null;
  if (typeof id === 'string' && id.length <= idLongest && /^[\w-]+$/.test(id)) return id;
  const message = `Invalid 'item.id'. Send at most ${idLongest} letters, digits, '_' and '-'.`;
  return { param: 'item.id', message };
}

/** The message of a chat completion for an item that the model made. */
export function modelMessageOf(item: JsonObject): JsonObject | null {
  const read = readItem(item, { at: 'item', sees: 'text' });
  return read !== null && 'item' in read ? read.message : null;
}

/** Sound in a caller's message that has no transcript: the index of its part, and the base64. */
export function soundsIn({ type, role, content }: JsonObject): { index: number; audio: string }[] {
  if (type !== 'message' || role === 'assistant' || role === 'system' || !Array.isArray(content)) return [];
  return content.flatMap((part, index) =>
    isObject(part) && part.type === 'input_audio' && textIn(part) === null && typeof part.audio === 'string'
      ? [{ index, audio: part.audio }]
      : [],
  );
}

/** A message with transcripts of its sound, by the index of the part; null: there is none yet. */
export function withTranscripts(item: JsonObject, transcripts: ReadonlyMap<number, string | null>): JsonObject {
  const content = listIn(item.content);
  const transcribed = content.map((part, index) =>
    isObject(part) && transcripts.has(index) ? { ...part, transcript: transcripts.get(index) } : part,
  );
  return { ...item, content: transcribed };
}

const partTypes = ['input_text', 'input_audio', 'input_image', 'output_text', 'output_audio', 'text', 'audio'];

function readMessage(given: JsonObject, { at, sees }: ItemPlace): ReadItem | WrongValue {
  const role = given.role === 'assistant' || given.role === 'system' ? given.role : 'user';
  if (!Array.isArray(given.content)) return wrong(`${at}.content`, 'Send a list of parts.');
  const shown: JsonObject[] = [];
  const read: JsonObject[] = [];
  for (const [index, part] of given.content.entries()) {
    const path = `${at}.content[${index}]`;
    if (!isObject(part) || typeof part.type !== 'string' || !partTypes.includes(part.type)) {
      return wrong(`${path}.type`, `Send one of ${partTypes.slice(0, 5).join(', ')}.`);
    }
    if (part.type === 'input_image') {
      if (role !== 'user') return wrong(`${path}.type`, "Only messages of the role 'user' have images.");
      if (sees === 'text') return wrong(path, 'The model reads no images. Use a model with vision, or send text.');
      const url = imageUrlOf(part.image_url);
      if (url === null) return wrong(`${path}.image_url`, "Send a data URL such as 'data:image/png;base64,…'.");
      const detail = part.detail === 'low' || part.detail === 'high' ? { detail: part.detail } : {};
      shown.push({ type: part.type, image_url: url, ...detail });
      read.push({ type: 'image_url', image_url: { url, ...detail } });
      continue;
    }
    const words = textIn(part);
    const isSound = part.type.endsWith('audio');
    if (words === null) {
      const remedy = isSound ? "Append sound to the audio buffer, or send its 'transcript'." : 'Send a text.';
      return wrong(`${path}.${isSound ? 'audio' : 'text'}`, remedy);
    }
    shown.push({ type: part.type, [isSound ? 'transcript' : 'text']: words });
    read.push({ type: 'text', text: words });
  }
  const isText = read.every(({ type }) => type === 'text');
  const content = isText ? read.map(({ text }) => text).join('') : read;
  return { item: { type: 'message', role, content: shown }, message: { role, content } };
}

function textIn({ text, transcript }: JsonObject): string | null {
  const words = text ?? transcript;
  return typeof words === 'string' ? words : null;
}

const isNamed = (value: JsonValue | undefined) => typeof value === 'string' && value !== '';

/** Null: it is neither a picture in base64 nor an address. */
function imageUrlOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && /^(data:image\/[\w.+-]+;base64,|https?:\/\/)/.test(value) ? value : null;
}

function wrong(param: string, remedy: string): WrongValue {
  return { param, message: `Invalid '${param}'. ${remedy}` };
}
