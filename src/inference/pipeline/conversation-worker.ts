import { parentPort } from 'node:worker_threads';
import { type BodyKind, type ConversationBody, type EncodeOrder, readConversation } from './conversation-body.ts';
import { loadDialects } from './dialect-table.ts';

/** What the worker is asked; every message is answered once, with the same `id`, except `release`. */
export type WorkerOrder =
  | { id: number; kind: 'read'; raw: Uint8Array<ArrayBuffer>; bodyKind: BodyKind }
  | { id: number; kind: 'encode'; body: number; order: EncodeOrder }
  | { kind: 'release'; body: number };

await loadDialects();
const bodies = new Map<number, ConversationBody>();

parentPort!.on('message', (message: WorkerOrder) => {
  if (message.kind === 'release') {
    bodies.delete(message.body);
    return;
  }
  const { id } = message;
  try {
    if (message.kind === 'read') return read(id, message.raw, message.bodyKind);
    const encoded = bodies.get(message.body)!.encode(message.order);
    if (encoded instanceof Promise) throw new Error('a body in a worker encodes synchronously');
    if (!encoded.ok || 'mediaWanted' in encoded.value) return parentPort!.postMessage({ id, result: encoded });
    const { bytes } = encoded.value;
    const own = new Uint8Array(Buffer.from(bytes as string));
    parentPort!.postMessage({ id, result: { ok: true, value: { ...encoded.value, bytes: own } } }, [own.buffer]);
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

function read(id: number, raw: Uint8Array<ArrayBuffer>, kind: BodyKind): void {
  const result = readConversation(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), kind);
  if (!result.ok) return parentPort!.postMessage({ id, result });
  bodies.set(id, result.value);
  parentPort!.postMessage({ id, result: { ok: true, value: result.value.facts } });
}
