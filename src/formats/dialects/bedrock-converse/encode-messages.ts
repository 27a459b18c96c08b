import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { fitCallId } from '../../neutral/fit-call-id.ts';
import { type Loss, lose, refuse } from '../../neutral/loss.ts';
import { mediaTypeShownMax, pictureTypeOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { proofOver } from '../../neutral/thought-proof.ts';
import { dropLastThoughts } from '../../neutral/tool-loop.ts';
import { UniqueIds } from '../../neutral/unique-ids.ts';
import { toolInputOf } from '../anthropic-messages/encode-messages.ts';
import { documentFormats } from './media-types.ts';
import type { ModelRules } from './model-rules.ts';
import { type Block, blockKinds, type CachePoint, type SystemBlock, type Turn, vendor } from './wire.ts';

/** State of one encoding run. The first failure found is the one that is reported. */
export interface Encoding {
  readonly rules: ModelRules;
  readonly losses: Loss[];
  failure: Failure | null;
}

/** Converse wants the user to speak first: a turn for that, and a text that accompanies a document. */
const opening = '(The conversation begins with your message.)';
const continuing = 'Continue.';
const seeDocument = 'See the document.';

/**
 * Converse's turns: user and assistant by turns, each call's result in the user's turn that follows, no system message
 * but the leading ones. Repairs, each listed as a loss: a conversation that the assistant begins or ends gets a user turn
 * there; a call without a result gets one that says so.
 */
export function encodeMessages(
  messages: readonly NeutralMessage[],
  encoding: Encoding,
): { system: SystemBlock[]; turns: Turn[] } {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = first < 0 ? messages.length : first;
  const system = messages.slice(0, leading).flatMap((message, i) => systemBlocks(message, i, encoding));
  const turns: Turn[] = [];
  messages.slice(leading).forEach((message, i) => {
    // A later system message stays in its place, in the user's voice.
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const path = `messages[${message.place ?? leading + i}].content`;
    const content = message.parts.flatMap((part) => encodePart(part, path, encoding));
    if (content.length === 0) return;
    if (role === 'user') dropLoneThoughts(turns, encoding);
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  });
  dropLoneThoughts(turns, encoding);
  return repaired(system, turns, encoding);
}

/** The model was cut off while it thought. */
function dropLoneThoughts(turns: Turn[], encoding: Encoding): void {
  if (turns.at(-1)?.content.at(-1)?.reasoningContent === undefined) return;
  if (dropLastThoughts(turns, blockKinds)) lose(encoding, 'reasoning_content', 'unsupported');
}

function systemBlocks({ parts }: NeutralMessage, index: number, encoding: Encoding): SystemBlock[] {
  return parts.flatMap((part): SystemBlock[] => {
    if (part.type !== 'text') {
      lose(encoding, `messages[${index}].content`, 'unsupported');
      return [];
    }
    return part.text.trim() === '' ? [] : [{ text: part.text }, ...cachePoint(part.cache, 'prompt', encoding)];
  });
}

function repaired(system: SystemBlock[], turns: Turn[], encoding: Encoding): { system: SystemBlock[]; turns: Turn[] } {
  if (turns.length === 0) {
    // Instructions alone are a question to OpenAI's models; Converse needs someone to ask it.
    if (system.length > 0) return { system: [], turns: [{ role: 'user', content: system }] };
    refuse(encoding, 'messages', 'The messages have no content: at least one needs text, a picture or a tool result.');
    return { system, turns };
  }
  if (turns[0]?.role === 'assistant') {
    lose(encoding, 'messages[0]', 'narrowed');
    turns.unshift({ role: 'user', content: [{ text: opening }] });
  }
  if (turns.at(-1)?.role === 'assistant') {
    lose(encoding, 'messages', 'narrowed');
    turns.push({ role: 'user', content: [{ text: continuing }] });
  }
  nameDocuments(turns);
  return { system, turns };
}

/** Converse refuses two documents of one name, and a document without a text in the same turn. */
function nameDocuments(turns: readonly Turn[]): void {
  const names = new UniqueIds();
  for (const { content } of turns) {
    const documents = content.flatMap(({ document }) => (document === undefined ? [] : [document as JsonObject]));
    for (const document of documents) document.name = names.take(document.name as string, ' ');
    if (documents.length > 0 && !content.some(({ text }) => text !== undefined)) content.push({ text: seeDocument });
  }
}

/** The blocks for one part: none when nothing of it can be sent, a cache point behind it where the caller set one. */
function encodePart(part: NeutralPart, path: string, encoding: Encoding): Block[] {
  const block = blockOf(part, path, encoding);
  if (block === null) return [];
  const place = part.type === 'tool-call' || part.type === 'tool-result' ? 'tools' : 'prompt';
  return [block, ...cachePoint('cache' in part ? part.cache : undefined, place, encoding)];
}

/** The block that keeps what is before it. `place`: behind a tool, its call or its result, or another part. */
export function cachePoint(cache: JsonObject | undefined, place: 'tools' | 'prompt', encoding: Encoding): CachePoint[] {
  if (cache === undefined) return [];
  const { caches } = encoding.rules;
  if (caches === 'nowhere' || (caches === 'apart-from-tools' && place === 'tools')) {
    lose(encoding, 'cache_control', 'unsupported');
    return [];
  }
  const isLong = cache.ttl === '1h';
  if (caches === 'everywhere') return [{ cachePoint: { type: 'default', ...(isLong && { ttl: '1h' }) } }];
  // Nova keeps it for five minutes only.
  if (isLong) lose(encoding, 'cache_control', 'clamped');
  return [{ cachePoint: { type: 'default' } }];
}

function blockOf(part: NeutralPart, path: string, encoding: Encoding): Block | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      // Converse refuses blank text.
      return part.text.trim() === '' ? null : { text: part.text };
    case 'image':
      if (part.detail !== undefined) lose(encoding, `${path}.image_url.detail`, 'unsupported');
      return imageBlock(part.source, path, encoding);
    case 'document':
      return documentBlock(part, path, encoding);
    case 'audio':
      return refuse(encoding, path, 'Audio input is not supported by the provider of this model.');
    case 'reasoning': {
      // An unsigned or foreign thought is refused; the answer does not depend on it.
      const signature = part.vendor === vendor && part.signature ? proofOver(part.signature, part.text) : null;
      if (signature !== null) return { reasoningContent: { reasoningText: { text: part.text, signature } } };
      return lose(encoding, `${path}.reasoning_content`, 'unsupported');
    }
    case 'redacted-reasoning':
      if (part.vendor === vendor) return { reasoningContent: { redactedContent: part.data } };
      return lose(encoding, `${path}.reasoning_content`, 'unsupported');
    case 'tool-call': {
      const { input, as } = toolInputOf(part.argumentsJson);
      if (as === 'raw') lose(encoding, `${path}.function.arguments`, 'narrowed');
      return { toolUse: { toolUseId: toolUseId(part.id), name: part.name, input } };
    }
    case 'tool-result': {
      const content = part.parts.flatMap((inner): Block[] => {
        if ('cache' in inner && inner.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
        const block = blockOf(inner, path, encoding);
        return block === null ? [] : [block];
      });
      return {
        toolResult: {
          toolUseId: toolUseId(part.callId),
          // A list without content is refused.
          content: content.length > 0 ? content : [{ text: '(no output)' }],
          ...(part.isError && { status: 'error' }),
        },
      };
    }
    case 'vendor':
      return lose(encoding, path, 'unsupported');
  }
}

/** Converse takes `[a-zA-Z0-9_-]{1,64}`; other vendors put dots and colons in ids. Call and result change alike. */
function toolUseId(id: string): string {
  return id === '' ? '_' : fitCallId(id.replace(/[^\w-]/g, '_'), 64);
}

const imageFormats: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp']);

function imageBlock(source: MediaSource, path: string, encoding: Encoding): Block | null {
  const inline = inlineOf(source, path, encoding);
  if (inline === null) return null;
  const format = pictureTypeOf(inline.mediaType, inline.base64).replace('image/', '');
  if (imageFormats.has(format)) return { image: { format, source: { bytes: inline.base64 } } };
  return refuse(
    encoding,
    path,
    `Pictures of type ${inline.mediaType.slice(0, mediaTypeShownMax)} are not supported by the provider.`,
  );
}

function documentBlock(part: NeutralPart & { type: 'document' }, path: string, encoding: Encoding): Block | null {
  const inline = inlineOf(part.source, path, encoding);
  if (inline === null) return null;
  const mediaType = inline.mediaType.toLowerCase().replace(/;.*/s, '').trim();
  const format = documentFormats.get(mediaType) ?? (mediaType.startsWith('text/') ? 'txt' : undefined);
  if (format === undefined) {
    return refuse(
      encoding,
      path,
      `Files of type ${mediaType.slice(0, mediaTypeShownMax)} are not supported by the provider of this model.`,
    );
  }
  return { document: { format, name: documentName(part.name), source: { bytes: inline.base64 } } };
}

/** Converse takes letters, digits, hyphens, brackets and single blanks. */
function documentName(name = ''): string {
  const cleaned = name.replace(/[^A-Za-z0-9()[\]-]+/g, ' ').trim();
  return cleaned === '' ? 'document' : cleaned.slice(0, 180);
}

function inlineOf(source: MediaSource, path: string, encoding: Encoding): { mediaType: string; base64: string } | null {
  if (source.kind === 'base64') return source;
  const what = source.kind === 'url' ? 'A URL' : 'A file uploaded to another provider';
  return refuse(encoding, path, `${what} cannot be used with this model: send its content.`);
}
