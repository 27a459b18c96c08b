import type { DialectId, Result } from '../dialects/dialect.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { type ConversationBody, readConversation } from './conversation-body.ts';
import { type EmbeddingBody, type EmbeddingBodyKind, isEmbedding, readEmbeddings } from './embedding-body.ts';
import { type ForwardedBody, readForwarded } from './forwarded-body.ts';
import { type ImageBody, readImages } from './image-body.ts';
import { readSpeech, type SpeechBody } from './speech-body.ts';

/** How a body is read: as a conversation in a dialect, or for another endpoint. */
export type BodyKind = DialectId | ForwardedEndpointId | EmbeddingBodyKind | 'speech' | 'images';

/** What comes of it. */
export type BodyOf<K extends BodyKind> = K extends DialectId
  ? ConversationBody
  : K extends ForwardedEndpointId
    ? ForwardedBody
    : K extends EmbeddingBodyKind
      ? EmbeddingBody
      : K extends 'speech'
        ? SpeechBody
        : ImageBody;

export type AnyBody = BodyOf<BodyKind>;

/** Parses and checks; the failure is a 400 in every case. Synchronous: for bodies up to `offLoopBodyBytes`. */
export function readBody<K extends BodyKind>(raw: Buffer, kind: K): Result<BodyOf<K>>;
export function readBody(raw: Buffer, kind: BodyKind): Result<AnyBody> {
  if (kind === 'speech') return readSpeech(raw);
  if (kind === 'images') return readImages(raw);
  if (isEmbedding(kind)) return readEmbeddings(raw, kind);
  return isForwarded(kind) ? readForwarded(raw, kind) : readConversation(raw, kind);
}

function isForwarded(kind: BodyKind): kind is ForwardedEndpointId {
  return Object.hasOwn(forwardedEndpoints, kind);
}
