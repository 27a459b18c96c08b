import type { CallerDialectId } from '../../formats/dialects/dialect.ts';
import { dialects } from '../../formats/dialects/dialect-table.ts';
import type { ForwardedEndpointId } from '../../formats/dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../../formats/dialects/forwarded/index.ts';
import { exactly, type TextPart, type Texts, textsIn, withTexts } from '../../formats/neutral/json-texts.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { anyWidth, type JsonObject, type JsonWidth, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax, offLoopBodyBytes } from '../../kernel/limits.ts';
import { loopWidthMax, parseObject, tooLargeForLoop } from '../../kernel/parse-object.ts';
import { canonicalConversation } from '../families/chat/canonical.ts';
import { type ConversationBody, readConversation } from '../families/chat/conversation-body.ts';
import { type EmbeddingBody, type EmbeddingBodyKind, readEmbeddings } from '../families/embeddings/embedding-body.ts';
import { type ForwardedBody, readForwarded } from '../families/forwarded/forwarded-body.ts';
import { type ImageBody, readImages } from '../families/images/image-body.ts';
import { readSpeech, type SpeechBody } from '../families/speech/speech-body.ts';
import type { BodyAnswers, BodyLook, BodyReader } from '../spine/body-reader.ts';
import { promptIn, withAdded } from '../spine/prompted.ts';
import { canonicalBody } from '../spine/readable-input.ts';

/** The body that each reader gives: a conversation in a dialect, or the body of another endpoint. */
export type Bodies = Record<CallerDialectId, ConversationBody> &
  Record<ForwardedEndpointId, ForwardedBody> &
  Record<EmbeddingBodyKind, EmbeddingBody> & { speech: SpeechBody; images: ImageBody };

export type BodyKind = keyof Bodies;
export type AnyBody = Bodies[BodyKind];

/** Readers of bodies that are no conversations, and not forwarded. */
const readers: Record<Exclude<BodyKind, CallerDialectId | ForwardedEndpointId>, (raw: Buffer) => AnyBody | Failure> = {
  speech: readSpeech,
  images: readImages,
  embeddings: (raw) => readEmbeddings(raw, 'embeddings'),
  'gemini-embeddings': (raw) => readEmbeddings(raw, 'gemini-embeddings'),
  'ollama-embeddings': (raw) => readEmbeddings(raw, 'ollama-embeddings'),
  'cohere-embeddings': (raw) => readEmbeddings(raw, 'cohere-embeddings'),
  'bedrock-embeddings': (raw) => readEmbeddings(raw, 'bedrock-embeddings'),
  'ai-sdk-embeddings': (raw) => readEmbeddings(raw, 'ai-sdk-embeddings'),
};

/** Parses and checks, in whatever thread; the failure is a 400 in every case. */
export function readBody<K extends BodyKind>(raw: Buffer, kind: K): Bodies[K] | Failure;
export function readBody(raw: Buffer, kind: BodyKind): AnyBody | Failure {
  if (kind in readers) return readers[kind as keyof typeof readers](raw);
  if (kind in forwardedEndpoints) return readForwarded(raw, kind as ForwardedEndpointId);
  return readConversation(raw, kind as CallerDialectId);
}

/** The answer to a question about a body, in whatever thread. All but `object`, `named` and `prompt` are of one that was read before. */
export function lookInto<L extends BodyLook>(raw: Buffer, kind: string, look: L): BodyAnswers<L> | Failure;
export function lookInto(raw: Buffer, kind: string, look: BodyLook): BodyAnswers<BodyLook> | Failure {
  if (look.get === 'object') {
    const parsed = parseObject(raw, undefined, loopWidthMax);
    return isFailure(parsed) ? parsed : { body: parsed.body };
  }
  // Of any width, so that none is refused.
  if (look.get === 'named') return withModel(raw, look.model) as Buffer;
  if (look.get === 'canonical' && kind in dialects) {
    return canonicalConversation(raw, kind as CallerDialectId, look.part);
  }
  if (look.get === 'prompt') return promptIn(raw, kind as CallerDialectId);
  if (look.get === 'added') return withAdded(raw, kind as CallerDialectId, look.addition);
  const text = raw.toString('utf8');
  if (look.get === 'rewritten') return Buffer.from(withTexts(text, look.changes));
  // A double does not hold all digits of a long card.
  if (look.get === 'texts') {
    const texts = textsIn(/\d{16}/.test(text) ? exactly(text) : JSON.parse(text));
    return kind.endsWith('embeddings') ? withEmbedded(texts) : texts;
  }
  return canonicalBody(kind, JSON.parse(text) as JsonObject, text);
}

/** Members with texts that models embed, in formats that say no more of them. */
const embedded = new Set<unknown>(['texts', 'inputs', 'values', 'inputText', 'content', 'text']);

/** The same, where what is embedded is a user's text, whatever its format calls it. */
function withEmbedded({ parts, unread }: Texts): Texts {
  const isEmbedded = ({ kind, path }: TextPart) =>
    kind === 'other' && embedded.has(path.findLast((step) => typeof step === 'string'));
  return { parts: parts.map((part) => (isEmbedded(part) ? { ...part, kind: 'user' } : part)), unread };
}

/** The bodies of every family. */
export interface AllBodies extends BodyReader<Bodies> {
  /** By `with-model`, off the loop where `raw` is large; `raw` stays as it is. */
  withModel(tenant: string, raw: Buffer, model: string): Buffer | Failure | Promise<Buffer | Failure>;
  close(): Promise<void>;
}

/** `offLoop` reads bodies and looks into those that are too large for the loop, in bytes or values; see body-worker.ts. */
export function createBodyReader(offLoop: AllBodies): AllBodies {
  return {
    readInThread: (tenant, raw, kind) => offLoop.readInThread(tenant, raw, kind),
    look(tenant, raw, kind, look) {
      const isLarge = raw.length > offLoopBodyBytes || scanJson(raw, jsonDepthMax, loopWidthMax).tooWide;
      return isLarge ? offLoop.look(tenant, raw, kind, look) : lookInto(raw, kind, look);
    },
    readObject(tenant, raw) {
      if (raw.length > offLoopBodyBytes) return offLoop.readObject(tenant, raw);
      return lookInto(raw, '', { get: 'object' });
    },
    withModel(tenant, raw, model) {
      if (raw.length > offLoopBodyBytes) return offLoop.withModel(tenant, raw, model);
      const named = withModel(raw, model, loopWidthMax);
      return Buffer.isBuffer(named) ? named : offLoop.withModel(tenant, raw, model);
    },
    close: () => offLoop.close(),
  };
}

/**
 * The text of a JSON object with this `model` in place of the one it has; all other bytes stay as they came. What is no
 * such object stays as it is, for the one who parses it to refuse. The failure is `tooLargeForLoop`: the text is wider
 * than `widthMax`.
 */
function withModel(raw: Buffer, model: string, widthMax: JsonWidth = anyWidth): Buffer | Failure {
  const scan = scanJson(raw, jsonDepthMax, widthMax);
  if (scan.tooWide) return tooLargeForLoop;
  if (scan.tooDeep || scan.afterBrace < 0) return raw;
  const name = Buffer.from(JSON.stringify(model.toWellFormed()));
  const place = scan.model;
  if (place !== null) return Buffer.concat([raw.subarray(0, place.start), name, raw.subarray(place.end)]);
  // With a `model` that is there twice, or written with escapes, this makes one more: such a body is refused.
  const comma = scan.memberCount === 0 ? '' : ',';
  const first = Buffer.concat([Buffer.from('"model":'), name, Buffer.from(comma)]);
  return Buffer.concat([raw.subarray(0, scan.afterBrace), first, raw.subarray(scan.afterBrace)]);
}
