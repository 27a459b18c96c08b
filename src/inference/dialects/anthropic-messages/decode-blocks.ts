import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { MediaSource, NeutralPart } from '../../neutral/request.ts';
import type { Losses } from './losses.ts';
import type { CallerBlock } from './request-wire.ts';
import { thoughtItself, unseal } from './seal.ts';
import { withoutProof } from './tool-use-id.ts';
import { stringOr, vendor } from './wire.ts';

/** The parts of checked content; what no other dialect can be told is a loss. */
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
  if (known === undefined) return [{ type: 'vendor', vendor, block }];
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
      // What a search for tools found. Left out, the search would have found nothing, and be made again.
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
    return [...about, { type: 'document', source: text, ...nameOf(title), ...cacheOf(block) }];
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
