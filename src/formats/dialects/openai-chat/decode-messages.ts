import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Complaint, described, type JsonSchema } from '../../neutral/described-check.ts';
import { markMessage } from '../../neutral/mark-message.ts';
import { shownTypeOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import { argumentsOrEmpty } from '../arguments-text.ts';
import { provenThoughts, signatureIn, thoughtIn, thoughtsIn } from './thoughts.ts';
import { type ChatMessage, type ChatPart, type ChatToolCall, openAiChatId } from './wire.ts';

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;
const rolesSend = `one of ${roles.map((role) => `'${role}'`).join(', ')}`;

/** Parts that a role's content may hold. Tools may answer with images: agents do, and other formats can carry them. */
const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  // The last of users and of assistants are Mistral's.
  user: ['text', 'image_url', 'input_audio', 'file', 'document_url'],
  assistant: ['text', 'refusal', 'thinking'],
  tool: ['text', 'image_url', 'file'],
};

export const messages = described(messagesSchema(), (value) => {
  if (!Array.isArray(value) || value.length === 0) return v.complain('', value, 'an array of at least one message');
  return v.eachOf(value, message);
});

/** The schema does not say which members go with which role. */
function messagesSchema(): JsonSchema {
  const types = [...new Set(Object.values(partTypes).flat())];
  const part = { type: 'object', properties: { type: { type: 'string', enum: types } }, required: ['type'] };
  const properties = {
    role: { type: 'string', enum: [...roles] },
    content: { anyOf: [{ type: 'string' }, { type: 'array', items: part }] },
    name: { type: 'string' },
    tool_call_id: { type: 'string', description: 'Of a message of role tool: the call that it answers.' },
    tool_calls: { type: 'array', items: { type: 'object' }, description: 'Of a message of role assistant.' },
  };
  return { type: 'array', minItems: 1, items: { type: 'object', properties, required: ['role'] } };
}

function message(value: JsonValue): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'role' and 'content'");
  const fault = value.name === undefined ? null : v.optional(value, 'name', v.string);
  if (fault !== null) return fault;
  switch (value.role) {
    case 'user':
    case 'system':
    case 'developer':
      return content(value, value.role);
    case 'assistant':
      return assistant(value);
    case 'tool':
      return (
        v.required(value, 'tool_call_id', v.stringOf(1, 512), 'the id of the tool call that this message answers') ??
        (value.content === null ? null : content(value, 'tool'))
      );
    case 'function':
      return (
        v.required(value, 'name', v.stringOf(1, 64), 'the name of the function that this message answers') ??
        v.optional(value, 'content', v.string)
      );
    default:
      return v.complain('role', value.role, rolesSend);
  }
}

function assistant(value: JsonObject): Complaint | null {
  const fault =
    v.optional(value, 'tool_calls', toolCalls) ??
    v.optional(value, 'function_call', functionCall) ??
    v.optional(value, 'refusal', v.string) ??
    v.optional(value, 'reasoning_content', v.string);
  if (fault !== null) return fault;
  // A turn without a word: a model ended so, or was stopped before its first, and clients send it back.
  return isFilled(value.content) ? content(value, 'assistant') : null;
}

function isFilled(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

function content(holder: JsonObject, role: string): Complaint | null {
  const value = holder.content;
  if (typeof value === 'string') return null;
  if (!Array.isArray(value) || value.length === 0) {
    return v.complain('content', value, 'a string or an array of content parts');
  }
  const complaint = v.eachOf(value, (one) => part(one, partTypes[role]));
  return complaint && v.within('content', complaint);
}

const thoughts: v.Check = v.textOr((value) =>
  Array.isArray(value) ? null : v.complain('', value, 'a string or a list of texts'),
);

function part(value: JsonValue, types: readonly string[] = []): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'type'");
  const { type } = value;
  if (typeof type !== 'string' || !types.includes(type)) {
    return v.complain('type', type, `one of ${types.map((word) => `'${word}'`).join(', ')} (what this role may send)`);
  }
  switch (type) {
    case 'text':
    case 'refusal':
      return v.required(value, type, v.string, 'a string');
    case 'thinking':
      return v.required(value, 'thinking', thoughts, 'a string or a list of texts');
    case 'image_url':
      return v.required(value, 'image_url', imageUrl, "an object with 'url'");
    case 'input_audio':
      return v.required(value, 'input_audio', inputAudio, "an object with 'data' and 'format'");
    case 'document_url':
      return (
        v.required(value, 'document_url', mediaUrl, 'an https: URL or a data: URL') ??
        v.optional(value, 'document_name', v.string)
      );
    default:
      return v.required(value, 'file', file, "an object with 'file_data' or 'file_id'");
  }
}

const detail = v.oneOf('auto', 'low', 'high', 'original');

const imageUrl: v.Check = (value) => {
  // As clients of Mistral's API write it.
  if (typeof value === 'string') return mediaUrl(value);
  if (!isObject(value)) return v.complain('', value, "an object with 'url'");
  return v.required(value, 'url', mediaUrl, 'an https: URL or a data: URL') ?? v.optional(value, 'detail', detail);
};

/** An address of the web, or a data: URL. */
export const mediaUrl: v.Check = (value) => {
  if (typeof value === 'string') {
    if (value.startsWith('data:')) {
      // Only the head is read: the rest is megabytes of base64.
      if (value.slice(0, 200).includes(';base64,')) return null;
    } else if (value.slice(0, 8).toLowerCase() === 'https://' && URL.canParse(value)) return null;
  }
  return v.complain('', value, "an https: URL or a data: URL ('data:image/png;base64,…')");
};

const audioFormat = v.oneOf('wav', 'mp3');

/** Sound as both of OpenAI's formats have it. */
export const inputAudio: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'data' and 'format'");
  return (
    v.required(value, 'data', v.base64, 'the audio as base64') ??
    v.required(value, 'format', audioFormat, "'wav' or 'mp3'")
  );
};

const file: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'file_data' or 'file_id'");
  const fault =
    v.optional(value, 'filename', v.string) ??
    v.optional(value, 'file_data', v.string) ??
    v.optional(value, 'file_id', v.string);
  if (fault !== null) return fault;
  return isFilled(value.file_data) || isFilled(value.file_id)
    ? null
    : v.complain('file_data', value.file_data ?? undefined, "the file as a data: URL, or 'file_id' in its place");
};

const functionCall: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'name' and 'arguments'");
  return (
    v.required(value, 'name', v.stringOf(1, 256), 'the name of the function') ??
    v.required(value, 'arguments', v.string, 'the arguments as a string of JSON')
  );
};

const customCall: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'name' and 'input'");
  return (
    v.required(value, 'name', v.string, 'the name of the tool') ?? v.required(value, 'input', v.string, 'a string')
  );
};

const toolCalls: v.Check = v.arrayOf(
  (value) => {
    if (!isObject(value)) return v.complain('', value, "an object with 'id', 'type' and 'function'");
    const fault = v.required(value, 'id', v.stringOf(1, 512), 'the id of the tool call');
    if (fault !== null) return fault;
    switch (value.type) {
      case 'custom':
        return v.required(value, 'custom', customCall, "an object with 'name' and 'input'");
      // Some providers leave the type out of their answers, and clients send those back.
      case undefined:
      case null:
      case 'function':
        return v.required(value, 'function', functionCall, "an object with 'name' and 'arguments'");
      default:
        return v.complain('type', value.type, "'function' or 'custom'");
    }
  },
  0,
  Number.POSITIVE_INFINITY,
  'tool calls',
);

/** One checked message in the neutral form; the order and number of messages stay the caller's. */
export function decodeMessage(message: ChatMessage): NeutralMessage {
  const { content, name } = message;
  const parts: NeutralPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []).map(decodePart);
  if (message.role === 'function') return { role: 'tool', parts: [toolResult(legacyCallId(name ?? ''), parts)] };
  const decoded: NeutralMessage = { role: message.role, parts };
  if (message.role === 'assistant') decoded.parts = assistantParts(message, parts);
  else if (message.role === 'tool') decoded.parts = [toolResult(message.tool_call_id ?? '', parts)];
  if (name !== null && name !== undefined) decoded.name = name;
  // Clients of LiteLLM mark whole messages.
  return isObject(message.cache_control) ? markMessage(decoded, message.cache_control) : decoded;
}

function toolResult(callId: string, parts: NeutralPart[]): NeutralPart {
  return { type: 'tool-result', callId, parts, isError: false };
}

function assistantParts(message: ChatMessage, content: NeutralPart[]): NeutralPart[] {
  const parts: NeutralPart[] = [];
  const proven = provenThoughts(message);
  parts.push(...proven);
  const reasoning = proven.length === 0 ? thoughtIn(message) : '';
  if (reasoning !== '') parts.push({ type: 'reasoning', text: reasoning });
  const proof = signatureIn(message);
  if ('signature' in proof) parts.push({ type: 'reasoning', text: '', ...proof });
  // An empty string together with tool calls says nothing, and other formats refuse an empty text.
  for (const part of content)
    if ((part.type !== 'text' && part.type !== 'reasoning') || part.text !== '') parts.push(part);
  if (Array.isArray(message.images)) for (const one of message.images) parts.push(...drawn(one));
  if (message.refusal) parts.push({ type: 'refusal', text: message.refusal });
  if (isObject(message.audio)) parts.push({ type: 'vendor', vendor: openAiChatId, block: { audio: message.audio } });
  for (const call of message.tool_calls ?? []) parts.push(toolCall(call));
  const legacy = message.function_call;
  if (legacy) {
    parts.push({
      type: 'tool-call',
      id: legacyCallId(legacy.name),
      name: legacy.name,
      argumentsJson: argumentsOrEmpty(legacy.arguments),
    });
  }
  return parts;
}

/** A picture that the model drew, as answers have it. */
function drawn(picture: JsonValue): NeutralPart[] {
  const imageUrl = isObject(picture) ? picture.image_url : undefined;
  const url = isObject(imageUrl) ? imageUrl.url : undefined;
  return typeof url === 'string' ? [{ type: 'image', source: mediaSource(url) }] : [];
}

/** The old function messages have no ids; the name joins call and answer. */
function legacyCallId(name: string): string {
  return `call_${name.replace(/[^\w-]/g, '_')}`;
}

function toolCall(call: ChatToolCall): NeutralPart {
  const { id, function: called, custom } = call;
  if (custom !== undefined)
    return {
      type: 'tool-call',
      id,
      name: custom.name,
      argumentsJson: JSON.stringify({ input: custom.input }),
      custom: openAiChatId,
    };
  return {
    type: 'tool-call',
    id,
    name: called?.name ?? '',
    argumentsJson: argumentsOrEmpty(called?.arguments ?? ''),
    ...signatureIn(call),
    ...cacheOf(call),
  };
}

function decodePart(part: ChatPart): NeutralPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheOf(part) };
    case 'refusal':
      return { type: 'refusal', text: part.refusal };
    case 'thinking':
      return { type: 'reasoning', text: thoughtsIn(part.thinking).join('') };
    case 'image_url': {
      const { url, detail = null } = typeof part.image_url === 'string' ? { url: part.image_url } : part.image_url;
      const source = mediaSource(url);
      const isPicture = source.kind !== 'base64' || source.mediaType.toLowerCase().startsWith('image/');
      // As clients of LiteLLM send files.
      if (!isPicture) return { type: 'document', source, ...cacheOf(part) };
      return { type: 'image', source, ...(detail && { detail }), ...cacheOf(part) };
    }
    case 'document_url': {
      const { document_url: url, document_name: name } = part;
      return { type: 'document', source: mediaSource(url), ...(name && { name }), ...cacheOf(part) };
    }
    case 'input_audio':
      return { type: 'audio', format: part.input_audio.format, base64: part.input_audio.data };
    case 'file': {
      const { filename, file_data, file_id } = part.file;
      const source: MediaSource = file_data ? fileSource(file_data) : { kind: 'file-id', fileId: file_id ?? '' };
      return { type: 'document', source, ...(filename && { name: filename }), ...cacheOf(part) };
    }
  }
}

/** Its mark for the cache: Anthropic's own, or OpenAI's as that. */
export function cacheOf(holder: JsonObject): { cache: JsonObject } | Record<never, never> {
  if (isObject(holder.cache_control)) return { cache: holder.cache_control };
  const { prompt_cache_breakpoint: mark } = holder;
  if (!isObject(mark)) return {};
  // Anthropic keeps nothing for longer than an hour.
  return { cache: { type: 'ephemeral', ...(mark.ttl === '12h' && { ttl: '1h' }) } };
}

export function mediaSource(url: string): MediaSource {
  if (!url.startsWith('data:')) return { kind: 'url', url };
  const comma = url.indexOf(',');
  const given = url.slice('data:'.length, url.indexOf(';'));
  const data = url.slice(comma + 1);
  // Of many encoders each line has 76 characters. Providers refuse the breaks.
  const base64 = /\s/.test(data.slice(0, 100)) ? data.replace(/\s/g, '') : data;
  const isGeneral = given === '' || given === 'application/octet-stream';
  const shown = isGeneral ? (shownTypeOf(base64) ?? 'application/octet-stream') : given;
  return { kind: 'base64', mediaType: shown, base64 };
}

/** File data comes as a data: URL or, from some clients, as bare base64, which the format takes to be a PDF. */
export function fileSource(data: string): MediaSource {
  // As clients of OpenRouter name files.
  if (/^https?:/i.test(data)) return { kind: 'url', url: data };
  return data.startsWith('data:') && data.slice(0, 200).includes(';base64,')
    ? mediaSource(data)
    : { kind: 'base64', mediaType: 'application/pdf', base64: data };
}
