import { isObject, type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import { type Complaint, described } from '../../neutral/described-check.ts';
import type { Losses } from '../../neutral/loss.ts';
import type { MediaSource, NeutralPart } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import { isToolChange } from './client-tools.ts';
import { thoughtItself, unseal, withoutProof } from './sealed-proof.ts';
import { type CallerBlock, type CallerMessage, vendor } from './wire.ts';

const rolesSend = "one of 'user', 'assistant', 'system'";

const blockSchema = { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] };
const contentSchema = { anyOf: [{ type: 'string' }, { type: 'array', items: blockSchema }] };

export const messages = described(
  {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      properties: { role: { type: 'string', enum: ['user', 'assistant', 'system'] }, content: contentSchema },
      // A system message may set the effort alone.
      required: ['role'],
    },
  },
  (value) => {
    if (!Array.isArray(value) || value.length === 0) return v.complain('', value, 'an array of at least one message');
    return v.eachOf(value, message);
  },
);

function message(value: JsonValue): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'role' and 'content'");
  switch (value.role) {
    case 'user':
    case 'assistant':
      return content(value, value.role);
    case 'system':
      return (
        v.optional(value, 'clear_at', v.oneOf('next_user_message', 'never')) ??
        v.optional(value, 'output_config', turnConfig) ??
        (value.content === undefined && isObject(value.output_config) ? null : content(value, 'system'))
      );
    default:
      return v.complain('role', value.role, rolesSend);
  }
}

const turnConfig = v.members('an object such as {"effort":"high"}', { effort: v.string });

/** Blocks that only one side may say; a type of neither is carried whole. */
const foreign: Readonly<Record<CallerMessage['role'], ReadonlySet<string>>> = {
  user: new Set(['tool_use', 'thinking', 'redacted_thinking']),
  assistant: new Set(['tool_result']),
  system: new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']),
};

function content(holder: JsonObject, role: CallerMessage['role']): Complaint | null {
  const value = holder.content;
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return v.complain('content', value, 'a string or an array of content blocks');
  const complaint = blocks(value, foreign[role], `a block that '${role}' may send`);
  return complaint === null ? null : v.within('content', complaint);
}

/** The `system` of a request. */
export const systemContent = described(contentSchema, (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return v.complain('', value, 'a string or an array of text blocks');
  return blocks(value, foreign.system, "a block that 'system' may send");
});

function blocks(list: readonly JsonValue[], refused: ReadonlySet<string>, send: string): Complaint | null {
  for (const [i, value] of list.entries()) {
    const complaint =
      isObject(value) && typeof value.type === 'string' && refused.has(value.type)
        ? v.complain('type', value.type, `a block that is ${send}`)
        : block(value);
    if (complaint !== null) return v.within(`[${i}]`, complaint);
  }
  return null;
}

const nothing: ReadonlySet<string> = new Set();
const insideResult: ReadonlySet<string> = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']);

function block(value: JsonValue): Complaint | null {
  if (!isObject(value)) return v.complain('', value, "an object with 'type'");
  if (typeof value.type !== 'string') return v.complain('type', value.type, "the block's type, such as 'text'");
  const fault = v.optional(value, 'cache_control', v.object);
  if (fault !== null) return fault;
  switch (value.type) {
    case 'text':
      return v.required(value, 'text', v.string, 'a string');
    case 'image':
      return v.required(value, 'source', source, 'the picture');
    case 'document':
      return v.required(value, 'source', source, 'the document') ?? v.optional(value, 'title', v.string);
    case 'thinking':
      return v.required(value, 'thinking', v.string, 'a string') ?? v.optional(value, 'signature', v.string);
    case 'redacted_thinking':
      return v.required(value, 'data', v.string, 'a string');
    case 'tool_use':
      return (
        v.required(value, 'id', v.stringOf(1, idCharsMax), 'the id of the call') ??
        v.required(value, 'name', v.stringOf(1, 256), 'the name of the tool') ??
        v.required(value, 'input', v.object, 'the input of the call, an object')
      );
    case 'tool_result':
      return (
        v.required(value, 'tool_use_id', v.stringOf(1, idCharsMax), 'the id of the call that this answers') ??
        v.optional(value, 'is_error', v.boolean) ??
        v.optional(value, 'content', resultContent)
      );
    case 'search_result':
      return Array.isArray(value.content)
        ? inContent(blocks(value.content, insideResult, 'text'))
        : v.complain('content', value.content, 'an array of text blocks');
    default:
      return null;
  }
}

/** Ids may carry the proof over a thought; see sealed-proof.ts. */
const idCharsMax = 65_536;

const resultContent: v.Check = (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return v.complain('', value, 'a string or an array of content blocks');
  return blocks(value, insideResult, 'a block that a tool may answer with');
};

const source: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'type'");
  switch (value.type) {
    case 'base64':
      return (
        v.required(value, 'media_type', v.stringOf(1, 128), "its media type, such as 'image/png'") ??
        v.required(value, 'data', v.base64, 'its bytes as base64')
      );
    case 'url':
      return v.required(value, 'url', url, 'an https: URL');
    case 'text':
      return v.required(value, 'data', v.string, 'its text');
    case 'file':
      return v.required(value, 'file_id', v.stringOf(1, 512), 'the id of the file');
    case 'content':
      if (typeof value.content === 'string') return null;
      return Array.isArray(value.content)
        ? inContent(blocks(value.content, nothing, ''))
        : v.complain('content', value.content, 'a string or an array of content blocks');
    default:
      return typeof value.type === 'string'
        ? null
        : v.complain('type', value.type, "'base64', 'url', 'text' or 'file'");
  }
};

const url: v.Check = (value) =>
  typeof value === 'string' && /^https?:\/\//i.test(value.slice(0, 8)) && URL.canParse(value)
    ? null
    : v.complain('', value, 'an https: URL');

function inContent(complaint: Complaint | null): Complaint | null {
  return complaint === null ? null : v.within('content', complaint);
}

/** Parts of checked content; a part that no other dialect has is a loss. */
export function decodeContent(content: string | readonly CallerBlock[], losses: Losses): NeutralPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.flatMap((block) => decodeBlock(block, losses));
}

const common = ['type', 'cache_control'] as const;
const knownMembers = new Map<string, ReadonlySet<string>>(
  Object.entries({
    text: new Set([...common, 'text']),
    image: new Set([...common, 'source']),
    document: new Set([...common, 'source', 'title', 'context']),
    search_result: new Set([...common, 'source', 'title', 'content']),
    thinking: new Set([...common, 'thinking', 'signature']),
    redacted_thinking: new Set([...common, 'data']),
    tool_use: new Set([...common, 'id', 'name', 'input']),
    tool_result: new Set([...common, 'tool_use_id', 'content', 'is_error']),
    tool_reference: new Set([...common, 'tool_name']),
  }),
);

function decodeBlock(block: CallerBlock, losses: Losses): NeutralPart[] {
  const known = knownMembers.get(block.type);
  if (known === undefined) return isToolChange(block.type) ? [] : [{ type: 'vendor', vendor, block }];
  losses.addUnknown(block, known, `messages.${block.type}`);
  const cache = cacheOf(block);
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text as string, ...cache }];
    case 'image': {
      const source = mediaSource(block.source as JsonObject);
      return [source === null ? { type: 'vendor', vendor, block } : { type: 'image', source, ...cache }];
    }
    case 'document':
      return document(block, losses);
    case 'tool_reference':
      if (typeof block.tool_name !== 'string') return [{ type: 'vendor', vendor, block }];
      // Result of a search for tools. Without it, the search would have found nothing, and be made again.
      return [{ type: 'text', text: `[found: the tool ${block.tool_name}, which can be called now]`, ...cache }];
    case 'search_result':
      return [{ type: 'text', text: searchResult(block), ...cache }];
    case 'thinking':
      return thinking(block.thinking as string, stringOr(block.signature, ''));
    case 'redacted_thinking': {
      const sealed = unseal(block.data as string);
      return sealed === null
        ? [{ type: 'redacted-reasoning', data: block.data as string, vendor }]
        : [{ type: 'redacted-reasoning', data: sealed.payload, vendor: sealed.vendor }];
    }
    case 'tool_use': {
      const { id, proof } = withoutProof(block.id as string);
      const proven = proof === null ? {} : { signature: proof.payload, vendor: proof.vendor };
      const argumentsJson = JSON.stringify(block.input);
      return [{ type: 'tool-call', id, name: block.name as string, argumentsJson, ...proven, ...cache }];
    }
    default: {
      const content = (block.content ?? []) as string | CallerBlock[];
      return [
        {
          type: 'tool-result',
          callId: withoutProof(block.tool_use_id as string).id,
          parts: decodeContent(content, losses),
          isError: block.is_error === true,
          ...cache,
        },
      ];
    }
  }
}

export function cacheOf(holder: { cache_control?: JsonValue }): { cache: JsonObject } | Record<never, never> {
  return isObject(holder.cache_control) ? { cache: holder.cache_control } : {};
}

/** An unsigned thought is one of another dialect's, which this gateway showed. */
function thinking(text: string, signature: string): NeutralPart[] {
  const sealed = unseal(signature);
  if (sealed?.vendor === thoughtItself) {
    return sealed.payload === '' ? [] : [{ type: 'reasoning', text: sealed.payload }];
  }
  if (sealed !== null) return [{ type: 'reasoning', text, signature: sealed.payload, vendor: sealed.vendor }];
  if (signature !== '') return [{ type: 'reasoning', text, signature, vendor }];
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

/** Null for a source that no other dialect knows. */
function mediaSource(source: JsonObject): MediaSource | null {
  switch (source.type) {
    case 'base64':
      return { kind: 'base64', mediaType: source.media_type as string, base64: source.data as string };
    case 'url':
      return { kind: 'url', url: source.url as string };
    case 'file':
      return { kind: 'file-id', fileId: source.file_id as string };
    default:
      return null;
  }
}

function document(block: CallerBlock, losses: Losses): NeutralPart[] {
  const source = block.source as JsonObject;
  const title = stringOr(block.title, '');
  const about = typeof block.context === 'string' && block.context !== '' ? [textPart(block.context)] : [];
  if (source.type === 'text') {
    const base64 = Buffer.from(source.data as string, 'utf8').toString('base64');
    const text: MediaSource = { kind: 'base64', mediaType: 'text/plain', base64 };
    const cited = isObject(block.citations) && block.citations.enabled === true ? { cited: true as const } : {};
    return [...about, { type: 'document', source: text, ...nameOf(title), ...cited, ...cacheOf(block) }];
  }
  if (source.type === 'content') {
    const parts = decodeContent(source.content as string | CallerBlock[], losses);
    return title === '' ? [...about, ...parts] : [...about, textPart(title), ...parts];
  }
  const media = mediaSource(source);
  if (media === null) return [{ type: 'vendor', vendor, block }];
  return [...about, { type: 'document', source: media, ...nameOf(title), ...cacheOf(block) }];
}

function textPart(text: string): NeutralPart {
  return { type: 'text', text };
}

function nameOf(title: string): { name: string } | Record<never, never> {
  return title === '' ? {} : { name: title };
}

/** A passage for retrieval, in words: only Anthropic knows it as a block. */
function searchResult(block: CallerBlock): string {
  const passages = (block.content as CallerBlock[])
    .map((part) => stringOr(part.text, ''))
    .filter((text) => text !== '');
  const head = [stringOr(block.title, ''), stringOr(block.source, '')].filter((text) => text !== '');
  return [head.join(' — '), ...passages].filter((text) => text !== '').join('\n');
}
