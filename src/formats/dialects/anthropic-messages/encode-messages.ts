import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { type Loss, refuse } from '../../neutral/loss.ts';
import { mediaTypeShownMax, pictureTypeOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { proofOver } from '../../neutral/thought-proof.ts';
import { dropLastThoughts } from '../../neutral/tool-loop.ts';
import { argumentsObject } from '../arguments-text.ts';
import type { ModelRules } from './model-rules.ts';
import { type Block, blockKinds, type Source, type TextBlock, type Turn, vendor } from './wire.ts';

/** State of one encoding run; the first failure is the one reported. */
export interface Encoding {
  readonly rules: ModelRules;
  readonly losses: Loss[];
  failure: Failure | null;
  /** Blocks with a mark for the cache, as they come. */
  readonly marked: JsonObject[];
}

export function lose(encoding: Encoding, field: string, why: Loss['why']): null {
  encoding.losses.push({ field, why });
  return null;
}

export interface EncodedMessages {
  system: TextBlock[];
  turns: Turn[];
}

/** Anthropic wants the user to speak first, and newer models want to be asked last; a turn that says no more. */
const opening = '(The conversation begins with your message.)';
const continuing = 'Continue.';

/**
 * Anthropic's turns: user and assistant by turns, tool results first in the user's turn after the call, no system
 * message but the leading ones. The caller's order is kept otherwise. Repairs, each listed as a loss of `messages`:
 * calls and results get their other half (`pairToolCalls`); a conversation that the assistant begins gets a user turn
 * before it; one that the assistant ends gets one after it where the model refuses to go on from its own words.
 */
export function encodeMessages(messages: readonly NeutralMessage[], encoding: Encoding): EncodedMessages {
  const system: TextBlock[] = [];
  const turns: Turn[] = [];
  let leading = true;
  for (const [at, message] of messages.entries()) {
    const i = message.place ?? at;
    leading &&= message.role === 'system' || message.role === 'developer';
    const blocks = blocksOf(message, i, encoding);
    if (leading) {
      for (const block of blocks) {
        if (isText(block)) system.push(block);
        else lose(encoding, `messages[${i}].content`, 'unsupported');
      }
    } else if (message.role === 'assistant' && blocks.some(isPicture)) {
      // Only users show images here: the assistant's follow as theirs.
      speak(
        turns,
        'assistant',
        blocks.filter((block) => !isPicture(block)),
        encoding,
      );
      speak(turns, 'user', blocks.filter(isPicture), encoding);
    } else {
      // A later system message stays in its place, in the user's voice: only the newest models accept another way.
      speak(turns, message.role === 'assistant' ? 'assistant' : 'user', blocks, encoding);
    }
  }
  if (turns.at(-1)?.role === 'assistant') dropLoneThoughts(turns, encoding);
  for (const turn of turns) {
    if (turn.role === 'user' && turn.content.length > 1) turn.content = resultsFirst(turn.content);
  }
  return repaired(system, turns, encoding);
}

function speak(turns: Turn[], role: Turn['role'], blocks: Block[], encoding: Encoding): void {
  if (blocks.length === 0) return;
  if (role === 'user' && turns.at(-1)?.role === 'assistant') dropLoneThoughts(turns, encoding);
  const last = turns.at(-1);
  if (last?.role === role) for (const block of blocks) last.content.push(block);
  else turns.push({ role, content: blocks });
}

/** The model was cut off while it thought. */
function dropLoneThoughts(turns: Turn[], encoding: Encoding): void {
  const last = turns.at(-1)?.content.at(-1)?.type;
  if (last !== 'thinking' && last !== 'redacted_thinking') return;
  if (dropLastThoughts(turns, blockKinds)) lose(encoding, 'reasoning_content', 'unsupported');
}

function isPicture(block: Block): boolean {
  return block.type === 'image';
}

function isText(block: Block): block is TextBlock {
  return block.type === 'text';
}

function resultsFirst(blocks: Block[]): Block[] {
  let others = false;
  for (const block of blocks) {
    if (block.type !== 'tool_result') others = true;
    else if (others) {
      return [...blocks.filter((b) => b.type === 'tool_result'), ...blocks.filter((b) => b.type !== 'tool_result')];
    }
  }
  return blocks;
}

function repaired(system: TextBlock[], turns: Turn[], encoding: Encoding): EncodedMessages {
  if (turns.length === 0) {
    // Instructions alone are a question to OpenAI's models; Anthropic needs someone to ask it.
    if (system.length > 0) return { system: [], turns: [{ role: 'user', content: system }] };
    refuse(
      encoding,
      'messages',
      'The messages have no content. Send at least one with text, a picture or a tool result.',
    );
    return { system, turns };
  }
  if (turns[0]?.role === 'assistant') {
    lose(encoding, 'messages[0]', 'narrowed');
    turns.unshift({ role: 'user', content: [{ type: 'text', text: opening }] });
  }
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    if (encoding.rules.prefill === 'refused') {
      lose(encoding, 'messages', 'narrowed');
      turns.push({ role: 'user', content: [{ type: 'text', text: continuing }] });
    } else {
      const end = last.content.at(-1);
      // Anthropic refuses a beginning that ends in white space.
      if (end !== undefined && isText(end))
        last.content[last.content.length - 1] = { ...end, text: end.text.trimEnd() };
    }
  }
  return { system, turns };
}

/** Place of a part in the caller's body. It is spelt only for lost or refused parts: see `pathOf`. */
interface Place {
  message: number;
  /** Contents and calls of the message before it. */
  contents: number;
  calls: number;
  /** Index in a tool's result; -1 outside of one. */
  inResult: number;
}

function pathOf(part: NeutralPart, { message, contents, calls, inResult }: Place): string {
  if (inResult >= 0) return `messages[${message}].content[${inResult}]`;
  switch (part.type) {
    case 'tool-call':
      return `messages[${message}].tool_calls[${calls}]`;
    case 'reasoning':
    case 'redacted-reasoning':
    case 'tool-result':
      return `messages[${message}]`;
    default:
      return `messages[${message}].content[${contents}]`;
  }
}

function blocksOf(message: NeutralMessage, index: number, encoding: Encoding): Block[] {
  const blocks: Block[] = [];
  const place: Place = { message: index, contents: 0, calls: 0, inResult: -1 };
  for (const part of message.parts) {
    const block = encodePart(part, place, encoding);
    if (block !== null) blocks.push(block);
    switch (part.type) {
      case 'tool-call':
        place.calls++;
        break;
      // They are separate from the content.
      case 'reasoning':
      case 'redacted-reasoning':
      case 'tool-result':
        break;
      default:
        place.contents++;
    }
  }
  return blocks;
}

/** The block for one part, or null when nothing of it can be sent. */
function encodePart(part: NeutralPart, place: Place, encoding: Encoding): Block | null {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      // Anthropic refuses text blocks without a visible character; leaving them out loses nothing.
      if (part.text.trim() === '') return null;
      const block: TextBlock = { type: 'text', text: part.text };
      return part.type === 'text' && part.cache !== undefined ? withCache(block, part.cache, encoding) : block;
    }
    case 'image': {
      if (part.detail !== undefined) lose(encoding, `${pathOf(part, place)}.image_url.detail`, 'unsupported');
      const source = mediaSource(part.source, pathOf(part, place), encoding);
      return source === null ? null : withCache({ type: 'image', source }, part.cache, encoding);
    }
    case 'document': {
      const source = documentSource(part.source, pathOf(part, place), encoding);
      if (source === null) return null;
      const block: JsonObject = { type: 'document', source };
      if (part.name !== undefined) block.title = part.name;
      if (part.cited) block.citations = { enabled: true };
      return withCache(block, part.cache, encoding);
    }
    case 'audio':
      return refuse(encoding, pathOf(part, place), 'Audio input is not supported by the provider of this model.');
    case 'reasoning': {
      // An unsigned or foreign thought is refused by Anthropic; the answer does not depend on it.
      const signature = part.vendor === vendor && part.signature ? proofOver(part.signature, part.text) : null;
      if (signature !== null) return { type: 'thinking', thinking: part.text, signature };
      return lose(encoding, `${pathOf(part, place)}.reasoning_content`, 'unsupported');
    }
    case 'redacted-reasoning':
      if (part.vendor === vendor) return { type: 'redacted_thinking', data: part.data };
      return lose(encoding, `${pathOf(part, place)}.reasoning_content`, 'unsupported');
    case 'tool-call': {
      const { input, as } = toolInputOf(part.argumentsJson);
      if (as === 'raw') lose(encoding, `${pathOf(part, place)}.function.arguments`, 'narrowed');
      return withCache({ type: 'tool_use', id: toolUseId(part.id), name: part.name, input }, part.cache, encoding);
    }
    case 'tool-result':
      return toolResult(part, place, encoding);
    case 'vendor':
      if (part.vendor === vendor) return part.block;
      return lose(encoding, pathOf(part, place), 'unsupported');
  }
}

function withCache(block: JsonObject, cache: JsonObject | undefined, { marked }: Encoding): Block {
  if (cache === undefined) return block;
  marked.push(block);
  block.cache_control = cache;
  return block;
}

function toolResult(part: NeutralPart & { type: 'tool-result' }, place: Place, encoding: Encoding): Block {
  const block: JsonObject = { type: 'tool_result', tool_use_id: toolUseId(part.callId) };
  const content: Block[] = [];
  for (const [inResult, one] of part.parts.entries()) {
    const inner = encodePart(one, { ...place, inResult }, encoding);
    if (inner !== null) content.push(inner);
  }
  const [only, ...others] = content;
  if (only?.type === 'text' && only.cache_control === undefined && others.length === 0)
    block.content = only.text as string;
  else if (content.length > 0) block.content = content;
  if (part.isError) block.is_error = true;
  return withCache(block, part.cache, encoding);
}

/** Anthropic accepts `^[a-zA-Z0-9_-]+$`; other vendors put dots and colons in ids. Call and result change alike. */
function toolUseId(id: string): string {
  if (id === '') return '_';
  return /[^\w-]/.test(id) ? id.replace(/[^\w-]/g, '_') : id;
}

function mediaSource(source: MediaSource, path: string, encoding: Encoding): Source | null {
  switch (source.kind) {
    case 'base64': {
      const { mediaType, base64: data } = source;
      const isPicture = mediaType.startsWith('image/');
      return { type: 'base64', media_type: isPicture ? pictureTypeOf(mediaType, data) : mediaType, data };
    }
    case 'url':
      return { type: 'url', url: source.url };
    case 'file-id':
      // A file is at the provider to which it was uploaded: Anthropic knows only its ids.
      if (source.fileId.startsWith('file_')) return { type: 'file', file_id: source.fileId };
      return refuse(encoding, path, 'A file at another provider cannot be used with this model. Send its content.');
  }
}

function documentSource(source: MediaSource, path: string, encoding: Encoding): Source | null {
  if (source.kind !== 'base64' || source.mediaType === 'application/pdf') return mediaSource(source, path, encoding);
  const mediaType = source.mediaType.toLowerCase();
  if (mediaType.startsWith('text/') || mediaType === 'application/json') {
    const data = Buffer.from(source.base64, 'base64').toString('utf8');
    return { type: 'text', media_type: 'text/plain', data };
  }
  return refuse(
    encoding,
    path,
    `Files of type ${mediaType.slice(0, mediaTypeShownMax)} are not supported by the provider of this model.`,
  );
}

/**
 * A call's arguments as the object that this format wants. A model does not always write one: empty text is `{}`, any
 * other text that is not a JSON object is `{"_raw": text}`, so that nothing fails and nothing is lost.
 */
export function toolInputOf(argumentsJson: string): { input: JsonObject; as: 'written' | 'raw' } {
  if (argumentsJson.trim() === '' || argumentsJson === '{}') return { input: {}, as: 'written' };
  const written = argumentsObject(argumentsJson);
  return written === null ? { input: { _raw: argumentsJson }, as: 'raw' } : { input: written, as: 'written' };
}
