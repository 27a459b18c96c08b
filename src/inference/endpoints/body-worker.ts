import { isFailure } from '../../kernel/failure.ts';
import { freeMemory } from '../../kernel/free-memory.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import type { EncodeOrder } from '../families/chat/conversation-body.ts';
import type { EmbeddingOrder } from '../families/embeddings/embedding-body.ts';
import type { BodyLook } from '../spine/body-reader.ts';
import type { ForwardOrder } from '../spine/encode-forwarded.ts';
import { bodyLost } from './body-lost.ts';
import { type AnyBody, type BodyKind, lookInto, readBody } from './body-readers.ts';

/** The same order as the body's own `encode` takes. */
export type AnyOrder = EncodeOrder | EmbeddingOrder | ForwardOrder;

/** Orders to the worker; every message is answered once, with the same `id`, except `release`. */
export type WorkerOrder =
  | { id: number; kind: 'read'; raw: Uint8Array<ArrayBuffer>; bodyKind: BodyKind }
  | { id: number; kind: 'look'; raw: Uint8Array<ArrayBuffer>; bodyKind: string; look: BodyLook }
  | { id: number; kind: 'encode'; body: number; order: AnyOrder }
  | { kind: 'release'; body: number };

const bodies = new Map<number, { body: AnyBody; raw: Uint8Array<ArrayBuffer> }>();
/** The one order that runs may still read a body that is released. */
let isEncoding = false;

threadPort().on('message', async (message: WorkerOrder) => {
  if (message.kind === 'release') {
    const released = bodies.get(message.body);
    bodies.delete(message.body);
    // Left to V8, the bytes of a few large bodies fill a small container.
    if (released !== undefined && !isEncoding) freeMemory(released.raw.buffer);
    return;
  }
  const { id } = message;
  try {
    if (message.kind === 'read') return read(id, message.raw, message.bodyKind);
    if (message.kind === 'look') return look(id, message.raw, message.bodyKind, message.look);
    const known = bodies.get(message.body);
    if (known === undefined) return threadPort().postMessage({ id, result: bodyLost });
    isEncoding = true;
    const encoded = await encode(known.body, message.order);
    if (isFailure(encoded) || 'neededMedia' in encoded) return threadPort().postMessage({ id, result: encoded });
    const { bytes } = encoded;
    const copy = new Uint8Array(Buffer.from(bytes as string));
    threadPort().postMessage({ id, result: { ...encoded, bytes: copy } }, [copy.buffer]);
  } catch (error) {
    threadPort().postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } finally {
    isEncoding = false;
  }
});

/** The order was made for this kind of body, where it was read. */
function encode(body: AnyBody, order: AnyOrder) {
  if (!('encode' in body)) throw new Error('this body is encoded where its attempts are');
  return body.encode(order as never);
}

function look(id: number, raw: Uint8Array<ArrayBuffer>, kind: string, question: BodyLook): void {
  const result = lookInto(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), kind, question);
  if (isFailure(result) || !Buffer.isBuffer(result)) return threadPort().postMessage({ id, result });
  const transferred = new Uint8Array(result);
  threadPort().postMessage({ id, result: transferred }, [transferred.buffer]);
}

function read(id: number, raw: Uint8Array<ArrayBuffer>, kind: BodyKind): void {
  const result = readBody(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), kind);
  if (isFailure(result)) return threadPort().postMessage({ id, result });
  bodies.set(id, { body: result, raw });
  threadPort().postMessage({ id, result: result.facts });
}
