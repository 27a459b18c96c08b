import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { MediaSource, NeutralMessage, NeutralPart, NeutralRole } from '../../neutral/request.ts';
import { signatureIn } from './thought-signature.ts';
import { type ChatMessage, type ChatPart, type ChatToolCall, openAiChatId } from './wire.ts';

/** One checked message in the neutral form; the order and number of messages stay the caller's. */
export function decodeMessage(message: ChatMessage): NeutralMessage {
  const parts = partsOf(message);
  const role: NeutralRole = message.role === 'function' ? 'tool' : message.role;
  const name = message.role === 'function' ? undefined : (message.name ?? undefined);
  return { role, parts, ...(name !== undefined && { name }) };
}

function partsOf(message: ChatMessage): NeutralPart[] {
  const content = contentParts(message.content);
  switch (message.role) {
    case 'tool':
      return [{ type: 'tool-result', callId: message.tool_call_id ?? '', parts: content, isError: false }];
    case 'function':
      return [{ type: 'tool-result', callId: legacyCallId(message.name ?? ''), parts: content, isError: false }];
    case 'assistant':
      return assistantParts(message, content);
    default:
      return content;
  }
}

function assistantParts(message: ChatMessage, content: NeutralPart[]): NeutralPart[] {
  const parts: NeutralPart[] = [];
  const reasoning = message.reasoning_content ?? message.reasoning;
  if (typeof reasoning === 'string' && reasoning !== '') parts.push({ type: 'reasoning', text: reasoning });
  // An empty string beside tool calls says nothing, and other formats refuse an empty text.
  for (const part of content) if (part.type !== 'text' || part.text !== '') parts.push(part);
  if (message.refusal) parts.push({ type: 'refusal', text: message.refusal });
  if (isObject(message.audio)) parts.push({ type: 'vendor', vendor: openAiChatId, block: { audio: message.audio } });
  for (const call of message.tool_calls ?? []) parts.push(toolCall(call));
  const legacy = message.function_call;
  if (legacy) {
    parts.push({
      type: 'tool-call',
      id: legacyCallId(legacy.name),
      name: legacy.name,
      argumentsJson: legacy.arguments || '{}',
    });
  }
  return parts;
}

/** The old function messages have no ids; the name joins call and answer. */
function legacyCallId(name: string): string {
  return `call_${name.replace(/[^\w-]/g, '_')}`;
}

function toolCall(call: ChatToolCall): NeutralPart {
  const { function: called } = call;
  if (called === undefined) return { type: 'vendor', vendor: openAiChatId, block: { tool_call: call } };
  return {
    type: 'tool-call',
    id: call.id,
    name: called.name,
    argumentsJson: called.arguments.trim() === '' ? '{}' : called.arguments,
    ...signatureIn(call),
    ...cacheOf(call),
  };
}

function contentParts(content: string | ChatPart[] | null | undefined): NeutralPart[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map(decodePart);
}

function decodePart(part: ChatPart): NeutralPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text!, ...cacheOf(part) };
    case 'refusal':
      return { type: 'refusal', text: part.refusal! };
    case 'image_url': {
      const { url, detail } = part.image_url!;
      return { type: 'image', source: mediaSource(url), ...(detail && { detail }), ...cacheOf(part) };
    }
    case 'input_audio':
      return { type: 'audio', format: part.input_audio!.format, base64: part.input_audio!.data };
    case 'file': {
      const { filename, file_data, file_id } = part.file!;
      const source: MediaSource = file_data ? fileSource(file_data) : { kind: 'file-id', fileId: file_id! };
      return { type: 'document', source, ...(filename && { name: filename }), ...cacheOf(part) };
    }
  }
}

function cacheOf(holder: JsonObject): { cache: JsonObject } | Record<never, never> {
  return isObject(holder.cache_control) ? { cache: holder.cache_control } : {};
}

function mediaSource(url: string): MediaSource {
  if (!url.startsWith('data:')) return { kind: 'url', url };
  const comma = url.indexOf(',');
  const mediaType = url.slice('data:'.length, url.indexOf(';'));
  return { kind: 'base64', mediaType: mediaType || 'application/octet-stream', base64: url.slice(comma + 1) };
}

/** File data comes as a data: URL or, from some clients, as bare base64, which the format takes to be a PDF. */
function fileSource(data: string): MediaSource {
  return data.startsWith('data:') && data.slice(0, 200).includes(';base64,')
    ? mediaSource(data)
    : { kind: 'base64', mediaType: 'application/pdf', base64: data };
}
