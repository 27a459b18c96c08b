import { type Failure, invalid } from '../../../kernel/failure.ts';
import { type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import { fitCallId } from '../../neutral/fit-call-id.ts';
import { type Loss, lose } from '../../neutral/loss.ts';
import { fileNameOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { customInput } from '../arguments-text.ts';
import { openAiResponsesId } from './wire.ts';

/** OpenAI refuses longer ids of calls. */
const callIdCharsMax = 64;

export interface EncodedInput {
  items: JsonObject[];
  losses: Loss[];
  /** Parts that this format cannot express, when leaving them out would change the answer. */
  failure: Failure | null;
}

interface Encoding extends EncodedInput {
  /** Path of the message that is being written. */
  at: string;
  /** Ids of calls of custom tools: their outputs have a separate type. */
  customCalls: Set<string>;
}

type Of<T extends NeutralPart['type']> = Extract<NeutralPart, { type: T }>;

/** The neutral messages as input items: each call, result and thought is a separate item here. */
export function encodeInput(messages: readonly NeutralMessage[]): EncodedInput {
  const encoding: Encoding = { items: [], losses: [], failure: null, at: '', customCalls: new Set() };
  messages.forEach((message, index) => {
    encoding.at = `messages[${message.place ?? index}]`;
    if (message.name !== undefined) lose(encoding, 'name');
    encodeMessage(message, encoding);
  });
  const { losses, failure } = encoding;
  return { items: withoutLoneThoughts(encoding), losses, failure };
}

/** Items without thoughts that no item of the model follows: OpenAI refuses those, and the model was cut off there. */
function withoutLoneThoughts(encoding: Encoding): JsonObject[] {
  let follows = false;
  const sent = encoding.items.toReversed().filter(({ type, role }) => {
    if (type === 'reasoning') return follows;
    follows = type === 'message' ? role === 'assistant' : !jsonText(type).endsWith('_output');
    return true;
  });
  if (sent.length < encoding.items.length) lose(encoding, 'reasoning_content');
  return sent.reverse();
}

function encodeMessage(message: NeutralMessage, encoding: Encoding): void {
  const { items } = encoding;
  const role = message.role === 'tool' ? 'user' : message.role;
  let content: JsonValue[] = [];
  const flush = () => {
    if (content.length > 0) items.push({ type: 'message', role, content });
    content = [];
  };
  for (const part of message.parts) {
    const item = itemOf(part, encoding);
    if (item === 'content' && role === 'assistant' && part.type === 'image') {
      // Only users show images here: the assistant's follow as theirs.
      flush();
      items.push({ type: 'message', role: 'user', content: [contentPart(part, 'user', encoding)] });
    } else if (item === 'content') {
      const wire = contentPart(part, role, encoding);
      if (wire !== null) content.push(wire);
    } else {
      flush();
      if (item !== null) items.push(item);
    }
  }
  flush();
}

/** Item that a part becomes; `content` if it belongs into a message, null if nothing of it can be sent. */
function itemOf(part: NeutralPart, encoding: Encoding): JsonObject | 'content' | null {
  if ('cache' in part && part.cache !== undefined) lose(encoding, 'cache_control');
  switch (part.type) {
    case 'tool-call':
      return call(part, encoding);
    case 'tool-result':
      return result(part, encoding);
    case 'reasoning':
      // This provider does not accept back what it did not encrypt.
      if (part.vendor !== openAiResponsesId || !part.signature) return lose(encoding, 'thinking');
      return {
        type: 'reasoning',
        summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
        encrypted_content: part.signature,
      };
    case 'redacted-reasoning':
      return lose(encoding, 'thinking');
    case 'vendor':
      if (part.vendor !== openAiResponsesId)
        return lose(encoding, `messages.${typeof part.block.type === 'string' ? part.block.type : 'block'}`, 'unknown');
      return isContentPart(part.block) ? 'content' : part.block;
    default:
      return 'content';
  }
}

/** Unknown kinds of content look like `input_…`; items have other names. */
function isContentPart({ type }: JsonObject): boolean {
  return typeof type === 'string' && /^(?:input_|output_|summary_text|reasoning_text|computer_screenshot)/.test(type);
}

function call(part: Of<'tool-call'>, encoding: Encoding): JsonObject {
  const ids = { call_id: fitCallId(part.id, callIdCharsMax), name: part.name };
  if (part.custom !== undefined) {
    encoding.customCalls.add(part.id);
    return { type: 'custom_tool_call', ...ids, input: customInput(part.argumentsJson) };
  }
  return { type: 'function_call', ...ids, arguments: part.argumentsJson || '{}' };
}

function result(part: Of<'tool-result'>, encoding: Encoding): JsonObject {
  const content: JsonObject[] = [];
  for (const inner of part.parts) {
    const item = itemOf(inner, encoding);
    const wire = item === 'content' ? contentPart(inner, 'user', encoding) : null;
    if (wire !== null) content.push(wire);
  }
  // The format has no flag for a failed tool; the model still has to know.
  if (part.isError) content.unshift({ type: 'input_text', text: '[the tool failed]' });
  const [only] = content;
  const output = content.length === 0 ? '' : content.length === 1 && only?.type === 'input_text' ? only.text : content;
  const type = encoding.customCalls.has(part.callId) ? 'custom_tool_call_output' : 'function_call_output';
  return { type, call_id: fitCallId(part.callId, callIdCharsMax), output };
}

function contentPart(part: NeutralPart, role: string, encoding: Encoding): JsonObject | null {
  switch (part.type) {
    case 'text':
      if (role !== 'assistant') return { type: 'input_text', text: part.text };
      return part.text === '' ? null : { type: 'output_text', text: part.text, annotations: [] };
    case 'refusal':
      return role === 'assistant' ? { type: 'refusal', refusal: part.text } : { type: 'input_text', text: part.text };
    case 'image': {
      const source =
        part.source.kind === 'file-id' ? { file_id: part.source.fileId } : { image_url: urlOf(part.source) };
      return { type: 'input_image', ...source, detail: part.detail ?? 'auto' };
    }
    case 'document':
      return { type: 'input_file', ...documentOf(part) };
    case 'audio':
      encoding.failure ??= invalid(
        `${encoding.at}.content`,
        `'${encoding.at}.content' holds audio, which no provider of this model accepts.`,
      );
      return null;
    case 'vendor':
      return part.block;
    // Separate items: a result inside a result, a call by a user: no dialect writes that.
    default:
      return null;
  }
}

function documentOf({ source, name }: Of<'document'>): JsonObject {
  if (source.kind === 'file-id') return { file_id: source.fileId };
  if (source.kind === 'url') return { file_url: source.url };
  return { filename: fileNameOf(source.mediaType, name), file_data: urlOf(source) };
}

function urlOf(source: Exclude<MediaSource, { kind: 'file-id' }>): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.base64}`;
}
