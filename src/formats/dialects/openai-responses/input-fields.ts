import { hasText, isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Complaint, described, type JsonSchema, schemaOf } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';
import { inputAudio, mediaUrl } from '../openai-chat/decode-messages.ts';

const inputSend = 'a string or an array of input items';

const roles = ['user', 'assistant', 'system', 'developer'];
const role = v.oneOf(...roles);

/** The conversation: text, or items. Items and parts of unknown types are kept: a provider may know them. */
export const input = described(inputSchema(), (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return v.complain('', value, inputSend);
  return v.eachOf(value, item);
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

const callId = v.stringOf(1, 512);

const formatSend = `{"type":"text"}, {"type":"json_object"} or {"type":"json_schema","name":…,"schema":{…}}`;
const textFormat = v.byType(formatSend, "'text', 'json_object' or 'json_schema'", {
  text: null,
  json_object: null,
  json_schema: v.members(formatSend, {
    name: v.needed(v.functionName, 'a name for the format'),
    schema: v.needed(v.object, 'a JSON Schema'),
    strict: v.boolean,
    description: v.string,
  }),
});

export const text = v.members("an object with 'format' or 'verbosity'", {
  format: textFormat,
  verbosity: v.oneOf('low', 'medium', 'high'),
});

export const reasoning = v.members("an object with 'effort' or 'summary'", {
  effort: v.oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  summary: v.oneOf('auto', 'concise', 'detailed', 'none'),
  generate_summary: v.oneOf('auto', 'concise', 'detailed'),
});

function item(value: JsonValue): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'type', or 'role' and 'content'");
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
        v.required(value, 'call_id', callId, 'the id of the call') ??
        v.required(value, 'name', v.stringOf(1, 256), 'the name of the function') ??
        v.required(value, 'arguments', v.string, 'the arguments as a string of JSON')
      );
    case 'custom_tool_call':
      return (
        v.required(value, 'call_id', callId, 'the id of the call') ??
        v.required(value, 'name', v.stringOf(1, 256), 'the name of the tool') ??
        v.required(value, 'input', v.string, 'a string')
      );
    case 'function_call_output':
    case 'custom_tool_call_output':
      return v.required(value, 'call_id', callId, 'the id of the call that this answers') ?? output(value);
    case 'reasoning':
      return (
        v.optional(value, 'encrypted_content', v.string) ??
        v.optional(value, 'summary', textParts) ??
        v.optional(value, 'content', textParts)
      );
    case 'configuration_update':
      return v.optional(value, 'reasoning', reasoning) ?? v.optional(value, 'text', text);
    case 'item_reference':
      return v.required(value, 'id', v.stringOf(1, 512), 'the id of an item');
    default:
      return typeof type === 'string'
        ? null
        : v.complain('type', type, "a string such as 'message' or 'function_call'");
  }
}

function message(value: JsonObject): Complaint | null {
  const fault = v.required(value, 'role', role, `one of ${roles.map((word) => `'${word}'`).join(', ')}`);
  if (fault !== null) return fault;
  const { content } = value;
  return typeof content === 'string' ? null : checkParts('content', content);
}

function output(value: JsonObject): Complaint | null {
  return typeof value.output === 'string' ? null : checkParts('output', value.output);
}

function checkParts(name: string, value: JsonValue | undefined): Complaint | null {
  if (!Array.isArray(value)) return v.complain(name, value, 'a string or an array of content parts');
  const complaint = v.eachOf(value, part);
  return complaint && v.within(name, complaint);
}

function part(value: JsonValue): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'type'");
  switch (value.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return v.required(value, 'text', v.string, 'a string');
    case 'refusal':
      return v.required(value, 'refusal', v.string, 'a string');
    case 'input_image':
      return image(value);
    case 'input_file':
      return file(value);
    case 'input_audio':
      return v.required(value, 'input_audio', inputAudio, "an object with 'data' and 'format'");
    default:
      return typeof value.type === 'string'
        ? null
        : v.complain('type', value.type, "a string such as 'input_text' or 'input_image'");
  }
}

function image(value: JsonObject): Complaint | null {
  const fault = v.optional(value, 'image_url', mediaUrl) ?? v.optional(value, 'file_id', v.string);
  if (fault !== null) return fault;
  return hasText(value.image_url) || hasText(value.file_id)
    ? null
    : v.complain('image_url', value.image_url ?? undefined, "an https: URL or a data: URL, or 'file_id' in its place");
}

function file(value: JsonObject): Complaint | null {
  const fault =
    v.optional(value, 'filename', v.string) ??
    v.optional(value, 'file_data', v.string) ??
    v.optional(value, 'file_url', fileUrl) ??
    v.optional(value, 'file_id', v.string);
  if (fault !== null) return fault;
  return hasText(value.file_data) || hasText(value.file_url) || hasText(value.file_id)
    ? null
    : v.complain('file_data', undefined, "the file as a data: URL, or 'file_url' or 'file_id' in its place");
}

const fileUrl: v.Check = (value) => (isWebUrl(value) ? null : v.complain('', value, 'an https: URL'));

function isWebUrl(value: JsonValue): boolean {
  return typeof value === 'string' && value.slice(0, 8).toLowerCase() === 'https://' && URL.canParse(value);
}

const textParts: v.Check = (value) => {
  if (!Array.isArray(value)) return v.complain('', value, 'an array of texts');
  for (let i = 0; i < value.length; i += 1) {
    const one = value[i];
    if (!isObject(one) || typeof one.text !== 'string') return v.complain(`[${i}]`, one, "an object with 'text'");
  }
  return null;
};

/**
 * An output that answers no call before it, by its index in `items`; null if there is none. Items that replace others
 * (references, compactions, unknown kinds) may hold the call, so then it is accepted.
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
