import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Check, type Complaint, complain, within } from '../complaint.ts';
import { boolean, object, optional, required, string, stringOf } from '../field-rules.ts';

const rolesSend = "one of 'user', 'assistant', 'system'";

export const messages: Check = (value) => {
  if (!Array.isArray(value) || value.length === 0) return complain('', value, 'an array of at least one message');
  for (let i = 0; i < value.length; i += 1) {
    const complaint = message(value[i]!);
    if (complaint !== null) return within(`[${i}]`, complaint);
  }
  return null;
};

function message(value: JsonValue): Complaint | null {
  if (!isObject(value)) return complain('', value, "an object with 'role' and 'content'");
  switch (value.role) {
    case 'user':
    case 'assistant':
    case 'system':
      return content(value, value.role);
    default:
      return complain('role', value.role, rolesSend);
  }
}

/** What only one side may say; a type of neither is carried whole. */
const foreign: Readonly<Record<string, ReadonlySet<string>>> = {
  user: new Set(['tool_use', 'thinking', 'redacted_thinking']),
  assistant: new Set(['tool_result']),
  system: new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']),
};

function content(holder: JsonObject, role: string): Complaint | null {
  const value = holder.content;
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return complain('content', value, 'a string or an array of content blocks');
  const complaint = blocks(value, foreign[role]!, `what '${role}' may say`);
  return complaint === null ? null : within('content', complaint);
}

/** The `system` of a request. */
export const systemContent: Check = (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return complain('', value, 'a string or an array of text blocks');
  return blocks(value, foreign.system!, "what 'system' may say");
};

function blocks(list: readonly JsonValue[], refused: ReadonlySet<string>, send: string): Complaint | null {
  for (let i = 0; i < list.length; i += 1) {
    const value = list[i]!;
    const complaint =
      isObject(value) && typeof value.type === 'string' && refused.has(value.type)
        ? complain('type', value.type, `a block that is ${send}`)
        : block(value);
    if (complaint !== null) return within(`[${i}]`, complaint);
  }
  return null;
}

const nothing: ReadonlySet<string> = new Set();
const insideResult: ReadonlySet<string> = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']);

function block(value: JsonValue): Complaint | null {
  if (!isObject(value)) return complain('', value, "an object with 'type'");
  if (typeof value.type !== 'string') return complain('type', value.type, "the block's type, such as 'text'");
  const fault = optional(value, 'cache_control', object);
  if (fault !== null) return fault;
  switch (value.type) {
    case 'text':
      return required(value, 'text', string, 'a string');
    case 'image':
      return required(value, 'source', source, 'the picture');
    case 'document':
      return required(value, 'source', source, 'the document') ?? optional(value, 'title', string);
    case 'thinking':
      return required(value, 'thinking', string, 'a string') ?? optional(value, 'signature', string);
    case 'redacted_thinking':
      return required(value, 'data', string, 'a string');
    case 'tool_use':
      return (
        required(value, 'id', stringOf(1, idCharsMax), 'the id of the call') ??
        required(value, 'name', stringOf(1, 256), 'the name of the tool') ??
        required(value, 'input', object, 'the input of the call, an object')
      );
    case 'tool_result':
      return (
        required(value, 'tool_use_id', stringOf(1, idCharsMax), 'the id of the call that this answers') ??
        optional(value, 'is_error', boolean) ??
        optional(value, 'content', resultContent)
      );
    case 'search_result':
      return Array.isArray(value.content)
        ? inContent(blocks(value.content, insideResult, 'text'))
        : complain('content', value.content, 'an array of text blocks');
    default:
      return null;
  }
}

/** Ids may carry the proof over a thought; see tool-use-id.ts. */
const idCharsMax = 65_536;

const resultContent: Check = (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return complain('', value, 'a string or an array of content blocks');
  return blocks(value, insideResult, 'what a tool may answer');
};

const source: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'type'");
  switch (value.type) {
    case 'base64':
      return (
        required(value, 'media_type', stringOf(1, 128), "its media type, such as 'image/png'") ??
        required(value, 'data', string, 'its bytes as base64')
      );
    case 'url':
      return required(value, 'url', url, 'an https: URL');
    case 'text':
      return required(value, 'data', string, 'its text');
    case 'file':
      return required(value, 'file_id', stringOf(1, 512), 'the id of the file');
    case 'content':
      if (typeof value.content === 'string') return null;
      return Array.isArray(value.content)
        ? inContent(blocks(value.content, nothing, ''))
        : complain('content', value.content, 'a string or an array of content blocks');
    default:
      return typeof value.type === 'string' ? null : complain('type', value.type, "'base64', 'url', 'text' or 'file'");
  }
};

const url: Check = (value) =>
  typeof value === 'string' && /^https?:\/\//i.test(value.slice(0, 8)) && URL.canParse(value)
    ? null
    : complain('', value, 'an https: URL');

function inContent(complaint: Complaint | null): Complaint | null {
  return complaint === null ? null : within('content', complaint);
}
