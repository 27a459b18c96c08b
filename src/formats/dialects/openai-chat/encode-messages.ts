import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { fitCallId } from '../../neutral/fit-call-id.ts';
import { type Loss, lose } from '../../neutral/loss.ts';
import { fileNameOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { customInput } from '../arguments-text.ts';
import { membersOf } from './answer-proofs.ts';
import { extraContentOf, google, takesSignatures } from './thoughts.ts';
import { openAiChatId } from './wire.ts';

/** OpenAI refuses longer ids of tool calls. */
const callIdCharsMax = 40;

/** A part that this format cannot say, where leaving it out would change the answer. */
export interface Unsayable {
  /** Index of the message that holds it. */
  message: number;
  what: string;
}

export interface EncodedMessages {
  messages: JsonObject[];
  losses: Loss[];
  unsayable: Unsayable | null;
}

interface Encoding {
  losses: Loss[];
  unsayable: Unsayable | null;
  at: number;
  /** Pictures and files of tools and of the model, which answer in text here: they follow as a user's message. */
  beside: JsonValue[];
  /** `reasoning_content` is left out for targets that refuse it. */
  reasoning: 'send' | 'omit';
  /** Type of the provider. */
  provider: string | undefined;
  /** Whether the model takes the signatures of Google's. */
  signs: boolean;
  /** Ids of calls by which its proofs name them. */
  provenCalls: Set<string>;
}

/**
 * The neutral messages as OpenAI's; a message may become several, since each tool result is a separate message here.
 * `provider`: type of the one that gets them, and its own proofs with them. `model`: its id there.
 */
export function encodeMessages(
  messages: readonly NeutralMessage[],
  reasoning: 'send' | 'omit',
  { provider, model = '' }: { provider?: string | undefined; model?: string } = {},
): EncodedMessages {
  const to = { reasoning, provider, signs: takesSignatures(model), provenCalls: new Set<string>() };
  const encoding: Encoding = { losses: [], unsayable: null, at: 0, beside: [], ...to };
  const wire: JsonObject[] = [];
  messages.forEach((message, at) => {
    encoding.at = message.place ?? at;
    for (const part of message.parts) {
      if (part.type === 'tool-result') wire.push(toolMessage(part, encoding));
    }
    const parts = message.parts.filter((part) => part.type !== 'tool-result');
    if (message.role === 'tool' || (parts.length === 0 && message.parts.length > 0)) {
      // Tool messages must come together, directly after the calls: the pictures wait for the last of them.
      if (messages[at + 1]?.role !== 'tool') flush(encoding, wire);
      return;
    }
    flush(encoding, wire);
    const name = message.name === undefined ? {} : { name: message.name };
    if (message.role === 'assistant') {
      const turn = assistantMessage(parts, encoding);
      // A turn without any part that this format has (foreign thoughts, a provider's tools) is left out, and so is one that
      // was cut off while the model thought.
      if (!isEmptyTurn(turn, parts)) wire.push({ ...turn, ...name });
      else if (Object.keys(turn).length > 2) lose(encoding, 'reasoning_content', 'unsupported');
    } else {
      const content = contentOf(parts, encoding);
      // As with the assistant's; but empty text stays empty.
      if (content !== '' || parts.some((part) => part.type === 'text')) {
        wire.push({ role: message.role, content, ...name });
      }
    }
  });
  flush(encoding, wire);
  return { messages: wire, losses: encoding.losses, unsayable: encoding.unsayable };
}

function isEmptyTurn(turn: JsonObject, parts: readonly NeutralPart[]): boolean {
  const {
    role: _,
    content,
    reasoning_content: thought,
    reasoning_details: details,
    thinking_blocks: blocks,
    ...others
  } = turn;
  if (content !== '' || Object.keys(others).length > 0) return false;
  return (thought ?? details ?? blocks) !== undefined || !parts.some((part) => part.type === 'text');
}

function flush(encoding: Encoding, wire: JsonObject[]): void {
  if (encoding.beside.length === 0) return;
  wire.push({ role: 'user', content: encoding.beside });
  encoding.beside = [];
}

function toolMessage(part: Extract<NeutralPart, { type: 'tool-result' }>, encoding: Encoding): JsonObject {
  if (part.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  const texts: JsonValue[] = [];
  const besideBefore = encoding.beside.length;
  for (const inner of part.parts) {
    const wire = contentPart(inner, encoding);
    if (wire === null) continue;
    if (inner.type === 'text') texts.push(wire);
    else encoding.beside.push(wire);
  }
  // The format has no flag for a failed tool; the model still has to know.
  if (part.isError) texts.unshift({ type: 'text', text: '[the tool failed]' });
  if (texts.length === 0 && encoding.beside.length > besideBefore)
    texts.push({ type: 'text', text: '[see the next message]' });
  return { role: 'tool', tool_call_id: callId(part.callId, encoding), content: plain(texts) };
}

function contentOf(parts: readonly NeutralPart[], encoding: Encoding): JsonValue {
  const wire: JsonValue[] = [];
  for (const part of parts) {
    const encoded = contentPart(part, encoding);
    if (encoded !== null) wire.push(encoded);
  }
  return plain(wire);
}

/** One text alone goes as a string, which the oldest of servers read too. */
function plain(parts: JsonValue[]): JsonValue {
  if (parts.length === 0) return '';
  const [only] = parts as JsonObject[];
  return parts.length === 1 && only?.type === 'text' ? (only.text as string) : parts;
}

function assistantMessage(parts: readonly NeutralPart[], encoding: Encoding): JsonObject {
  const content: NeutralPart[] = [];
  const calls: JsonValue[] = [];
  const extra: JsonObject = {};
  let reasoning = '';
  let refusal = '';
  const proofs = parts.flatMap((part) =>
    (part.type === 'reasoning' || part.type === 'tool-call') && part.vendor === openAiChatId ? [part.signature] : [],
  );
  const proven = membersOf(proofs, encoding.provider ?? '');
  if (proven === null && proofs.length > 0) lose(encoding, 'thinking', 'unsupported');
  for (const { id } of (proven?.reasoning_details ?? []) as JsonObject[])
    if (typeof id === 'string') encoding.provenCalls.add(id);
  for (const part of parts) {
    if (part.type === 'tool-call') calls.push(toolCall(part, encoding));
    else if (part.type === 'refusal') refusal += part.text;
    else if (part.type === 'reasoning' && (part.vendor ?? openAiChatId) === openAiChatId) reasoning += part.text;
    else if (part.type === 'reasoning' && part.vendor === google && encoding.signs)
      Object.assign(extra, extraContentOf(part));
    else if (part.type === 'vendor' && part.vendor === openAiChatId) {
      Object.assign(extra, part.block);
    } else if (part.type === 'image') putBeside(part, encoding);
    else content.push(part);
  }
  const text = contentOf(content, encoding);
  const message: JsonObject = { role: 'assistant', content: text, ...extra };
  // Together with calls or a refusal the published type is null, not an empty text.
  if (text === '' && (calls.length > 0 || refusal !== '')) message.content = null;
  if (proven !== null) Object.assign(message, proven);
  else if (reasoning !== '' && encoding.reasoning === 'send') message.reasoning_content = reasoning;
  else if (reasoning !== '') lose(encoding, 'reasoning_content', 'unsupported');
  if (refusal !== '') message.refusal = refusal;
  if (calls.length > 0) message.tool_calls = calls;
  return message;
}

function putBeside(part: NeutralPart, encoding: Encoding): void {
  const wire = contentPart(part, encoding);
  if (wire !== null) encoding.beside.push(wire);
}

function toolCall(part: Extract<NeutralPart, { type: 'tool-call' }>, encoding: Encoding): JsonObject {
  if (part.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  const id = callId(part.id, encoding);
  const { name, argumentsJson, custom } = part;
  const called =
    custom === openAiChatId
      ? { type: 'custom', custom: { name, input: customInput(argumentsJson) } }
      : { type: 'function', function: { name, arguments: argumentsJson || '{}' } };
  return { id, ...called, ...(encoding.signs && extraContentOf(part)) };
}

function callId(id: string, { provenCalls }: Encoding): string {
  return provenCalls.has(id) ? id : fitCallId(id, callIdCharsMax);
}

function contentPart(part: NeutralPart, encoding: Encoding): JsonObject | null {
  if ('cache' in part && part.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.text };
    case 'image': {
      const url = urlOf(part.source);
      if (url === null) return refuse(encoding, 'an image by file id');
      const detail = part.detail === 'original' ? fullDetail(encoding) : part.detail;
      return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.base64, format: part.format } };
    case 'document': {
      const { source, name } = part;
      const text = plainText(source);
      if (text !== null) return { type: 'text', text: name === undefined ? text : `${name}\n\n${text}` };
      if (source.kind === 'url') return refuse(encoding, 'a document by URL');
      if (source.kind === 'file-id')
        return { type: 'file', file: { file_id: source.fileId, ...(name !== undefined && { filename: name }) } };
      return { type: 'file', file: { filename: fileNameOf(source.mediaType, name), file_data: urlOf(source) } };
    }
    case 'vendor':
      return lose(encoding, `messages.${typeof part.block.type === 'string' ? part.block.type : 'block'}`, 'unknown');
    case 'reasoning':
    case 'redacted-reasoning':
      // Another vendor's proof over its thoughts means nothing here.
      return lose(encoding, 'thinking', 'unsupported');
    case 'tool-call':
    case 'tool-result':
      // A call by a user, or a result inside a result: no dialect writes that.
      return null;
  }
}

/** Codex sends `original`, a word of OpenAI's that other services refuse. */
function fullDetail(encoding: Encoding): string {
  if (/^(?:openai|azure-openai|openrouter|litellm|culvert)$/.test(encoding.provider ?? '')) return 'original';
  lose(encoding, `messages[${encoding.at}].content`, 'narrowed');
  return 'high';
}

/** The text of a document that is nothing else; null for any other: this format takes files of other kinds alone, and not everywhere. */
export function plainText(source: MediaSource): string | null {
  if (source.kind !== 'base64' || !source.mediaType.startsWith('text/')) return null;
  return Buffer.from(source.base64, 'base64').toString('utf8');
}

function urlOf(source: MediaSource): string | null {
  if (source.kind === 'url') return source.url;
  return source.kind === 'base64' ? `data:${source.mediaType};base64,${source.base64}` : null;
}

function refuse(encoding: Encoding, what: string): null {
  encoding.unsayable ??= { message: encoding.at, what };
  return null;
}
