import type { Failure } from '../../../kernel/failure.ts';
import { type Loss, refuse } from '../../neutral/loss.ts';
import { pictureTypeOf } from '../../neutral/media-type.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { toolInputOf } from '../anthropic-messages/encode-messages.ts';
import { wireName } from './function-name.ts';
import type { ModelRules } from './model-rules.ts';
import { type Blob, type Content, noSignature, type Part, vendor } from './wire.ts';

/** State of one encoding run; the first failure is the one reported. */
export interface Encoding {
  readonly rules: ModelRules;
  readonly losses: Loss[];
  /** Losses so far: a body may lose something in each of its many thousand parts. */
  readonly reported: Set<string>;
  failure: Failure | null;
}

/** The same loss of the same field is reported once. */
export function lose(encoding: Encoding, field: string, why: Loss['why']): null {
  const loss = `${why} ${field}`;
  if (encoding.reported.has(loss)) return null;
  encoding.reported.add(loss);
  encoding.losses.push({ field, why });
  return null;
}

export interface EncodedContents {
  system: Part[];
  contents: Content[];
}

/** Google wants the user to speak first and last; a turn that says no more. */
const opening = '(The conversation begins with your message.)';
const continuing = 'Continue.';

/**
 * Google's turns: the model's calls, then at once their results, one each and in their order; no system message but
 * the leading ones. The caller's order is kept otherwise. Repairs, each listed as a loss: calls and results get their
 * other half (`pairToolCalls`); a conversation that the assistant begins or ends gets a user turn there.
 */
export function encodeContents(messages: readonly NeutralMessage[], encoding: Encoding): EncodedContents {
  const system: Part[] = [];
  const contents: Content[] = [];
  const first = messages.findIndex((message) => message.role !== 'system' && message.role !== 'developer');
  const leading = first < 0 ? messages.length : first;
  for (const [i, message] of messages.slice(0, leading).entries()) {
    for (const part of partsOf(message, i, encoding).parts) {
      if (part.text !== undefined) system.push(part);
      else lose(encoding, `messages[${i}].content`, 'unsupported');
    }
  }
  let calls: OpenCall[] = [];
  let results: FoundResult[] = [];
  let others: Part[] = [];
  const answer = () => {
    if (calls.length > 0) contents.push(...encodeResults(calls, results, encoding));
    if (others.length > 0) contents.push({ role: 'user', parts: others });
    [calls, results, others] = [[], [], []];
  };
  for (const [i, message] of messages.entries()) {
    if (i < leading) continue;
    const origin = message.place ?? i;
    if (message.role === 'assistant') {
      answer();
      const turn = partsOf(message, origin, encoding);
      append(contents, 'model', turn.parts);
      calls = turn.calls;
      continue;
    }
    for (const part of message.parts) {
      if (part.type === 'tool-result') results.push({ result: part, path: `messages[${origin}]` });
    }
    for (const part of partsOf(message, origin, encoding).parts) others.push(part);
  }
  answer();
  return repaired(system, contents, encoding);
}

function partsOf(message: NeutralMessage, index: number, encoding: Encoding): { parts: Part[]; calls: OpenCall[] } {
  const parts: Part[] = [];
  const calls: OpenCall[] = [];
  let content = 0;
  /** Proof of a thought: Google gave it with the piece that followed. */
  let proof: string | null = null;
  for (const part of message.parts) {
    if (part.type === 'tool-result') continue;
    const path = pathOf(part, index, content, calls.length);
    const encoded = encodePart(part, path, encoding);
    if (part.type === 'tool-call') calls.push({ id: part.id, name: part.name });
    else if (part.type === 'reasoning' && part.vendor === vendor) proof = proofOf(part, parts.at(-1)) ?? proof;
    else if (part.type !== 'reasoning' && part.type !== 'redacted-reasoning') content += 1;
    if (encoded === null) continue;
    if (part.type === 'tool-call') sign(encoded, part, proof, calls.length, encoding);
    else if (proof !== null) encoded.thoughtSignature = proof;
    else if (message.role === 'assistant' && encoded.inlineData !== undefined && encoding.rules.signedCalls) {
      // Its picture models demand one on each that they drew.
      encoded.thoughtSignature = noSignature;
    }
    proof = null;
    parts.push(encoded);
  }
  return { parts, calls };
}

/** Proof for the part that follows; after the text of one that is no thought, in formats that have a place for it. */
function proofOf({ text, signature }: Extract<NeutralPart, { type: 'reasoning' }>, before: Part | undefined) {
  const stands = text !== '' || before?.text === undefined || before.thoughtSignature !== undefined;
  if (stands || signature === undefined) return signature;
  before.thoughtSignature = signature;
  return undefined;
}

/** Google signs the first of a turn's calls, and demands it back there. */
function sign(
  encoded: Part,
  call: Extract<NeutralPart, { type: 'tool-call' }>,
  proof: string | null,
  ordinal: number,
  encoding: Encoding,
): void {
  const given = call.vendor === vendor ? call.signature : undefined;
  const signature = given || proof || (ordinal === 1 && encoding.rules.signedCalls ? noSignature : '');
  if (signature !== '') encoded.thoughtSignature = signature;
}

/** Place of the part in the caller's message. */
function pathOf(part: NeutralPart, message: number, content: number, call: number): string {
  if (part.type === 'tool-call') return `messages[${message}].tool_calls[${call}]`;
  const beside = part.type === 'reasoning' || part.type === 'redacted-reasoning';
  return beside ? `messages[${message}]` : `messages[${message}].content[${content}]`;
}

function append(contents: Content[], role: Content['role'], parts: Part[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  if (last?.role !== role) contents.push({ role, parts });
  // Not by spreading: a hundred thousand arguments overflow the stack.
  else for (const part of parts) last.parts.push(part);
}

function repaired(system: Part[], contents: Content[], encoding: Encoding): EncodedContents {
  if (contents.length === 0) {
    // Instructions alone are a question to OpenAI's models; Google needs someone to ask it.
    if (system.length > 0) return { system: [], contents: [{ role: 'user', parts: system }] };
    refuse(
      encoding,
      'messages',
      'The messages have no content. Send at least one with text, a picture or a tool result.',
    );
    return { system, contents };
  }
  if (contents[0]?.role === 'model') {
    lose(encoding, 'messages[0]', 'narrowed');
    contents.unshift({ role: 'user', parts: [{ text: opening }] });
  }
  if (contents.at(-1)?.role === 'model') {
    lose(encoding, 'messages', 'narrowed');
    contents.push({ role: 'user', parts: [{ text: continuing }] });
  }
  if (encoding.rules.systemInstruction || system.length === 0) return { system, contents };
  // It keeps its text, in the user's voice.
  return { system: [], contents: [{ role: 'user', parts: system }, ...contents] };
}

const filesOrigin = 'https://generativelanguage.googleapis.com/v1beta/';

/**
 * The part for one piece of a message, or null when nothing of it can be sent. Results of tools are not pieces here:
 * see encodeResults. `path` names the piece in the caller's body.
 */
function encodePart(part: NeutralPart, path: string, encoding: Encoding): Part | null {
  if ('cache' in part && part.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? null : { text: part.text };
    case 'image':
      if (part.detail !== undefined && part.detail !== 'auto') {
        lose(encoding, `${path}.image_url.detail`, 'unsupported');
      }
      return mediaPart(part.source, path, encoding);
    case 'audio':
      return { inlineData: { mimeType: audioType(part.format), data: part.base64 } };
    case 'document':
      return mediaPart(part.source, path, encoding);
    case 'tool-call': {
      const { input: args, as } = toolInputOf(part.argumentsJson);
      if (as === 'raw') lose(encoding, `${path}.function.arguments`, 'narrowed');
      const id = encoding.rules.signedCalls && part.id !== '' ? { id: part.id } : {};
      return { functionCall: { ...id, name: wireName(part.name), args } };
    }
    case 'vendor':
      if (part.vendor === vendor) return part.block as Part;
      return lose(encoding, path, 'unsupported');
    case 'reasoning':
    case 'redacted-reasoning':
      // Google does not need its thoughts back; their signature is sent, see partsOf.
      if (part.vendor !== vendor) lose(encoding, `${path}.reasoning_content`, 'unsupported');
      return null;
    case 'tool-result':
      return null;
  }
}

function mediaPart(source: MediaSource, path: string, encoding: Encoding): Part | null {
  switch (source.kind) {
    case 'base64':
      return { inlineData: blobOf(source) };
    case 'url':
      // The pipeline fetches content at http(s); content that comes here was not available.
      refuse(encoding, path, 'The provider of this model accepts pictures and files inline only. Send their content.');
      return null;
    case 'file-id':
      if (source.fileId.startsWith(filesOrigin)) return { fileData: { fileUri: source.fileId } };
      // A file is at the provider to which it was uploaded: Google knows only its names.
      if (/^files\/[\w-]{1,64}$/.test(source.fileId)) return { fileData: { fileUri: filesOrigin + source.fileId } };
      return refuse(encoding, path, 'A file at another provider cannot be used with this model. Send its content.');
  }
}

function blobOf(source: Extract<MediaSource, { kind: 'base64' }>): Blob {
  const mimeType = source.mediaType.toLowerCase();
  const isPicture = mimeType.startsWith('image/');
  return { mimeType: isPicture ? pictureTypeOf(mimeType, source.base64) : mimeType, data: source.base64 };
}

function audioType(format: string): string {
  return format === 'mp3' ? 'audio/mp3' : `audio/${format.toLowerCase().replace(/[^a-z0-9.+-]/g, '') || 'wav'}`;
}

type ToolResult = Extract<NeutralPart, { type: 'tool-result' }>;

interface FoundResult {
  result: ToolResult;
  /** Place of its message in the caller's body. */
  path: string;
}

/** A call that the model's last turn made and that waits for its result. */
interface OpenCall {
  id: string;
  name: string;
}

/** Types that Gemini 3 accepts inside a result; any other follows as the user's. */
const insideResult = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/;

/**
 * Turn that answers a turn's calls, one part a call in their order, as Google demands: each result is that of the call
 * with its index. Pictures that cannot be inside it follow as a turn of the user.
 */
function encodeResults(calls: readonly OpenCall[], results: readonly FoundResult[], encoding: Encoding): Content[] {
  const beside: Part[] = [];
  const parts = calls.flatMap((call, at): Part[] => {
    const found = results[at];
    if (found === undefined) return [];
    const id = encoding.rules.signedCalls && call.id !== '' ? { id: call.id } : {};
    const name = wireName(call.name);
    const before = beside.length;
    const { texts, inside } = contentOf(found.result, found.path, beside, encoding);
    if (texts === '' && inside.length === 0 && beside.length > before) return [seeNext(id, name)];
    const response = found.result.isError ? { error: texts } : { output: texts };
    return [{ functionResponse: { ...id, name, response, ...(inside.length > 0 ? { parts: inside } : {}) } }];
  });
  const turns: Content[] = [{ role: 'user', parts }];
  if (beside.length > 0) turns.push({ role: 'user', parts: beside });
  return turns;
}

function seeNext(id: { id?: string }, name: string): Part {
  return { functionResponse: { ...id, name, response: { output: '[see the next message]' } } };
}

function contentOf(
  result: ToolResult,
  path: string,
  beside: Part[],
  encoding: Encoding,
): { texts: string; inside: { inlineData: Blob }[] } {
  if (result.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  const texts: string[] = [];
  const inside: { inlineData: Blob }[] = [];
  result.parts.forEach((part, i) => {
    const at = `${path}.content[${i}]`;
    const nested = nestedMedia(part, encoding);
    if (nested !== null) {
      inside.push({ inlineData: nested });
      return;
    }
    const encoded = encodePart(part, at, encoding);
    if (encoded === null) return;
    if (encoded.text === undefined) beside.push(encoded);
    else texts.push(encoded.text);
  });
  return { texts: texts.join('\n'), inside };
}

function nestedMedia(part: NeutralPart, encoding: Encoding): Blob | null {
  if (!encoding.rules.mediaInResults || (part.type !== 'image' && part.type !== 'document')) return null;
  if (part.source.kind !== 'base64') return null;
  const blob = blobOf(part.source);
  return insideResult.test(blob.mimeType) ? blob : null;
}
