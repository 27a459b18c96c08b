import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { described, type JsonSchema, schemaOf } from '../described-check.ts';
import {
  type Check,
  type Complaint,
  complain,
  eachOf,
  oneOf,
  optional,
  required,
  string,
  stringOf,
  within,
} from '../fields.ts';
import { unpackThought } from './kept-thought.ts';
import { type ContentPart, type InputItem, isOwnStep, openAiResponsesId } from './wire.ts';

const inputSend = 'a string or an array of input items';

const roles = ['user', 'assistant', 'system', 'developer'];
const role = oneOf(...roles);

/** The conversation: text, or items. Items and parts of unknown types are kept: a provider may know them. */
export const input = described(inputSchema(), (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return complain('', value, inputSend);
  return eachOf(value, item);
});

function inputSchema(): JsonSchema {
  const part = { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] };
  const properties = {
    type: { type: 'string', description: 'message, where it is left out; function_call, function_call_output, …' },
    role: schemaOf(role),
    content: { anyOf: [{ type: 'string' }, { type: 'array', items: part }] },
  };
  return { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'object', properties } }] };
}

const callId = stringOf(1, 512);

function item(value: JsonValue): Complaint | null {
  if (!isObject(value)) return complain('', value, "an object with 'type', or 'role' and 'content'");
  const { type } = value;
  if (type === undefined || type === null) {
    // Items that only name an earlier one come without a type as well.
    if (value.role === undefined && typeof value.id === 'string') return null;
    return message(value);
  }
  switch (type) {
    case 'message':
      return message(value);
    case 'function_call':
      return (
        required(value, 'call_id', callId, 'the id of the call') ??
        required(value, 'name', stringOf(1, 256), 'the name of the function') ??
        required(value, 'arguments', string, 'the arguments as a string of JSON')
      );
    case 'custom_tool_call':
      return (
        required(value, 'call_id', callId, 'the id of the call') ??
        required(value, 'name', stringOf(1, 256), 'the name of the tool') ??
        required(value, 'input', string, 'a string')
      );
    case 'function_call_output':
    case 'custom_tool_call_output':
      return required(value, 'call_id', callId, 'the id of the call that this answers') ?? output(value);
    case 'reasoning':
      return (
        optional(value, 'encrypted_content', string) ??
        optional(value, 'summary', textParts) ??
        optional(value, 'content', textParts)
      );
    case 'item_reference':
      return required(value, 'id', stringOf(1, 512), 'the id of an item');
    default:
      return typeof type === 'string' ? null : complain('type', type, "a string such as 'message' or 'function_call'");
  }
}

function message(value: JsonObject): Complaint | null {
  const fault = required(value, 'role', role, `one of ${roles.map((word) => `'${word}'`).join(', ')}`);
  if (fault !== null) return fault;
  const { content } = value;
  return typeof content === 'string' ? null : checkParts('content', content);
}

function output(value: JsonObject): Complaint | null {
  return typeof value.output === 'string' ? null : checkParts('output', value.output);
}

function checkParts(name: string, value: JsonValue | undefined): Complaint | null {
  if (!Array.isArray(value)) return complain(name, value, 'a string or an array of content parts');
  for (let i = 0; i < value.length; i += 1) {
    const complaint = part(value[i]!);
    if (complaint !== null) return within(`${name}[${i}]`, complaint);
  }
  return null;
}

function part(value: JsonValue): Complaint | null {
  if (!isObject(value)) return complain('', value, "an object with 'type'");
  switch (value.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return required(value, 'text', string, 'a string');
    case 'refusal':
      return required(value, 'refusal', string, 'a string');
    case 'input_image':
      return image(value);
    case 'input_file':
      return file(value);
    case 'input_audio':
      return required(value, 'input_audio', audio, "an object with 'data' and 'format'");
    default:
      return typeof value.type === 'string'
        ? null
        : complain('type', value.type, "a string such as 'input_text' or 'input_image'");
  }
}

function image(value: JsonObject): Complaint | null {
  const fault = optional(value, 'image_url', mediaUrl) ?? optional(value, 'file_id', string);
  if (fault !== null) return fault;
  return filled(value.image_url) || filled(value.file_id)
    ? null
    : complain('image_url', value.image_url ?? undefined, "an https: URL or a data: URL, or 'file_id' in its place");
}

function file(value: JsonObject): Complaint | null {
  const fault =
    optional(value, 'filename', string) ??
    optional(value, 'file_data', string) ??
    optional(value, 'file_url', fileUrl) ??
    optional(value, 'file_id', string);
  if (fault !== null) return fault;
  return filled(value.file_data) || filled(value.file_url) || filled(value.file_id)
    ? null
    : complain('file_data', undefined, "the file as a data: URL, or 'file_url' or 'file_id' in its place");
}

function filled(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

const fileUrl: Check = (value) => (isWebUrl(value) ? null : complain('', value, 'an https: URL'));

const mediaUrl: Check = (value) => {
  // Only the head of a data: URL is read: the rest is megabytes of base64.
  if (typeof value === 'string' && value.startsWith('data:') && value.slice(0, 200).includes(';base64,')) return null;
  return isWebUrl(value) ? null : complain('', value, "an https: URL or a data: URL ('data:image/png;base64,…')");
};

function isWebUrl(value: JsonValue): boolean {
  return typeof value === 'string' && value.slice(0, 8).toLowerCase() === 'https://' && URL.canParse(value);
}

const audio: Check = (value) =>
  isObject(value)
    ? (required(value, 'data', stringOf(1, Number.MAX_SAFE_INTEGER), 'the audio as base64') ??
      required(value, 'format', oneOf('wav', 'mp3'), "'wav' or 'mp3'"))
    : complain('', value, "an object with 'data' and 'format'");

const textParts: Check = (value) => {
  if (!Array.isArray(value)) return complain('', value, 'an array of texts');
  for (let i = 0; i < value.length; i += 1) {
    const one = value[i]!;
    if (!isObject(one) || typeof one.text !== 'string') return complain(`[${i}]`, one, "an object with 'text'");
  }
  return null;
};

/**
 * An output that answers no call before it, by its index in `items`; null when there is none. Items that stand for
 * others (references, compactions, unknown kinds) may hold the call, so then it is accepted.
 */
export function orphanOutput(items: readonly JsonValue[]): { index: number; callId: string } | null {
  const called = new Set<string>();
  for (let i = 0; i < items.length; i += 1) {
    const one = items[i] as JsonObject;
    switch (one.type ?? (one.role === undefined ? 'item_reference' : 'message')) {
      case 'message':
      case 'reasoning':
        break;
      case 'function_call':
      case 'custom_tool_call':
        called.add(one.call_id as string);
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        if (!called.has(one.call_id as string)) return { index: i, callId: one.call_id as string };
        break;
      default:
        return null;
    }
  }
  return null;
}

/** Messages, and for each the index of the input item that it began with (-1: `instructions`, or a text input). */
export interface DecodedInput {
  messages: NeutralMessage[];
  origins: number[];
}

type Turn = NeutralMessage & { parts: NeutralPart[] };

/**
 * Checked input as messages. Items of the assistant that follow one another (thoughts, text, calls) are one turn, as
 * every other dialect has them; all else stays one message an item.
 */
export function decodeInput(instructions: string | null, input: string | readonly InputItem[]): DecodedInput {
  const messages: NeutralMessage[] = [];
  const origins: number[] = [];
  if (instructions !== null && instructions !== '') {
    messages.push({ role: 'system', parts: [{ type: 'text', text: instructions }] });
    origins.push(-1);
  }
  if (typeof input === 'string') {
    messages.push({ role: 'user', parts: [{ type: 'text', text: input }] });
    origins.push(-1);
    return { messages, origins };
  }
  let turn: Turn | null = null;
  /** A proof that stands on the call which follows. */
  let proof: { signature: string; vendor: string } | null = null;
  input.forEach((item, index) => {
    const kept = item.type === 'reasoning' && item.encrypted_content ? unpackThought(item.encrypted_content) : null;
    if (kept?.kind === 'call') {
      proof = { signature: kept.proof, vendor: kept.vendor };
      return;
    }
    const mcp = isOwnStep(item) ? mcpMessages(item) : null;
    if (mcp !== null) {
      messages.push(...mcp);
      origins.push(index, index);
      turn = null;
      return;
    }
    const parts = assistantParts(item);
    if (parts === null) {
      messages.push(otherMessage(item));
      origins.push(index);
      turn = null;
      return;
    }
    if (turn === null) {
      turn = { role: 'assistant', parts: [] };
      messages.push(turn);
      origins.push(index);
    }
    for (const part of parts) {
      turn.parts.push(part.type === 'tool-call' && proof !== null ? { ...part, ...proof } : part);
      if (part.type === 'tool-call') proof = null;
    }
  });
  return { messages, origins };
}

/** The item's part of the assistant's turn; null when it has none. */
function assistantParts(item: InputItem): NeutralPart[] | null {
  switch (item.type) {
    case 'function_call':
      return [
        {
          type: 'tool-call',
          id: item.call_id!,
          name: item.name!,
          argumentsJson: item.arguments!.trim() === '' ? '{}' : item.arguments!,
        },
      ];
    case 'custom_tool_call':
      return [
        {
          type: 'tool-call',
          id: item.call_id!,
          name: item.name!,
          argumentsJson: JSON.stringify({ input: item.input! }),
          custom: true,
        },
      ];
    case 'reasoning':
      return thought(item);
    case 'message':
    case undefined:
    case null:
      if (item.role === 'assistant') return contentParts(item.content ?? []).filter(saysSomething);
      return item.role === undefined ? [kept(item)] : null;
    case 'function_call_output':
    case 'custom_tool_call_output':
      return null;
    case 'image_generation_call':
      return typeof item.result === 'string' && item.result !== '' ? [drawn(item, item.result)] : [kept(item)];
    // Calls of the provider's own tools stand where the assistant made them; so do references. What this gateway ran is
    // in the words of the answer.
    default:
      return isOwnStep(item) ? [] : [kept(item)];
  }
}

/** A call that this gateway made of an MCP server, with its result; null for other items. */
function mcpMessages(item: InputItem): NeutralMessage[] | null {
  if (item.type !== 'mcp_call' || typeof item.name !== 'string') return null;
  const id = String(item.id);
  const isError = typeof item.error === 'string';
  const text = typeof item.output === 'string' ? item.output : isError ? String(item.error) : '';
  const name = `${String(item.server_label)}__${item.name}`;
  const call: NeutralPart = { type: 'tool-call', id, name, argumentsJson: item.arguments?.trim() || '{}' };
  const result: NeutralPart = { type: 'tool-result', callId: id, parts: [{ type: 'text', text }], isError };
  return [
    { role: 'assistant', parts: [call] },
    { role: 'tool', parts: [result] },
  ];
}

/** An empty text says nothing, and other formats refuse it. */
function saysSomething(part: NeutralPart): boolean {
  return part.type !== 'text' || part.text !== '';
}

function kept(item: InputItem): NeutralPart {
  return { type: 'vendor', vendor: openAiResponsesId, block: item };
}

function drawn({ output_format: format }: InputItem, base64: string): NeutralPart {
  const mediaType = `image/${typeof format === 'string' && format !== '' ? format : 'png'}`;
  return { type: 'image', source: { kind: 'base64', mediaType, base64 } };
}

function thought(item: InputItem): NeutralPart[] {
  const text = textOf(item.summary) || textOf(item.content);
  const encrypted = item.encrypted_content ?? '';
  if (encrypted === '') return text === '' ? [] : [{ type: 'reasoning', text }];
  const other = unpackThought(encrypted);
  if (other === null) return [{ type: 'reasoning', text, signature: encrypted, vendor: openAiResponsesId }];
  if (other.kind === 'redacted') return [{ type: 'redacted-reasoning', data: other.proof, vendor: other.vendor }];
  return [{ type: 'reasoning', text, signature: other.proof, vendor: other.vendor }];
}

function textOf(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n\n');
}

function otherMessage(item: InputItem): NeutralMessage {
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    const parts = contentParts(item.output ?? '');
    return { role: 'tool', parts: [{ type: 'tool-result', callId: item.call_id!, parts, isError: false }] };
  }
  // Many servers of other formats do not know `developer`, which Codex sends always; OpenAI takes the two for the same.
  const role = item.role === 'developer' ? 'system' : (item.role ?? 'user');
  return { role, parts: contentParts(item.content ?? []) };
}

function contentParts(content: string | readonly ContentPart[]): NeutralPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(decodePart);
}

function decodePart(part: ContentPart): NeutralPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text! };
    case 'refusal':
      return { type: 'refusal', text: part.refusal! };
    case 'input_image': {
      const source: MediaSource = part.image_url
        ? mediaSource(part.image_url)
        : { kind: 'file-id', fileId: part.file_id! };
      // `auto` is what leaving it out means.
      return { type: 'image', source, ...(part.detail && part.detail !== 'auto' && { detail: part.detail }) };
    }
    case 'input_file':
      return { type: 'document', source: fileSource(part), ...(part.filename && { name: part.filename }) };
    case 'input_audio':
      return { type: 'audio', format: part.input_audio!.format, base64: part.input_audio!.data };
    default:
      return { type: 'vendor', vendor: openAiResponsesId, block: part as JsonObject };
  }
}

function mediaSource(url: string): MediaSource {
  if (!url.startsWith('data:')) return { kind: 'url', url };
  const mediaType = url.slice('data:'.length, url.indexOf(';'));
  return {
    kind: 'base64',
    mediaType: mediaType || 'application/octet-stream',
    base64: url.slice(url.indexOf(',') + 1),
  };
}

/** File data comes as a data: URL or, from some clients, as bare base64, which the format takes to be a PDF. */
function fileSource({ file_data: data, file_url: url, file_id: id }: ContentPart): MediaSource {
  if (!data) return url ? { kind: 'url', url } : { kind: 'file-id', fileId: id! };
  return data.startsWith('data:') && data.slice(0, 200).includes(';base64,')
    ? mediaSource(data)
    : { kind: 'base64', mediaType: 'application/pdf', base64: data };
}
