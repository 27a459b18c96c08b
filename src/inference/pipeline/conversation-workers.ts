import { Worker } from 'node:worker_threads';
import type { Result } from '../dialects/dialect.ts';
import type {
  BodyKind,
  ConversationBody,
  ConversationFacts,
  EncodedBody,
  EncodeOrder,
  MediaWanted,
} from './conversation-body.ts';
import type { ConversationReader } from './conversation-reader.ts';
import type { WorkerOrder } from './conversation-worker.ts';

/** An unused worker costs some 40 MB: it is let go after this. */
const idleMs = 60_000;
/** Bodies in the worker at a time; at up to 32 MB each this bounds its memory. Further ones are refused. */
const bodiesMax = 64;

interface Waiting {
  resolve(result: never): void;
  reject(error: Error): void;
}

/**
 * Parses, checks and converts large bodies in one worker thread, started at the first of them, so that a 32 MB request
 * never holds up the streams of others (faults.md F23, F24). A crash of the thread fails its own bodies alone.
 */
export function createConversationWorkers(): ConversationReader {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | null = null;
  let bodies = 0;
  let lastId = 0;

  function running(): Worker {
    if (worker !== null) return worker;
    const started = new Worker(new URL('./conversation-worker.mjs', import.meta.url));
    started.on('message', (message: { id: number; result?: never; error?: string }) => {
      const order = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error !== undefined) order?.reject(new Error(message.error));
      else order?.resolve(message.result!);
    });
    const lost = (error: Error) => {
      // One that was let go had nothing left to do: what waits now waits for its successor.
      if (worker !== started) return;
      worker = null;
      for (const order of waiting.values()) order.reject(error);
      waiting.clear();
    };
    started.on('error', lost);
    started.on('exit', () => lost(new Error('the body worker ended')));
    started.unref();
    worker = started;
    return started;
  }

  function ask<T>(order: (id: number) => { message: WorkerOrder; transfer: ArrayBuffer[] }): Promise<T> {
    const id = ++lastId;
    const { message, transfer } = order(id);
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      running().postMessage(message, transfer);
    });
  }

  function released(): void {
    bodies--;
    if (bodies > 0) return;
    idle = setTimeout(letGo, idleMs);
    idle.unref();
  }

  /** Forgotten at once, since it takes a while to end and would drop what it is still given. */
  function letGo(): void {
    void worker?.terminate();
    worker = null;
  }

  return {
    async read(raw, kind): Promise<Result<ConversationBody>> {
      if (bodies >= bodiesMax) {
        return {
          ok: false,
          failure: { kind: 'overloaded', message: 'Too many large requests at once. Retry shortly.' },
        };
      }
      if (idle !== null) clearTimeout(idle);
      bodies++;
      let bodyId = 0;
      try {
        const facts = await ask<Result<ConversationFacts>>((id) => {
          bodyId = id;
          return readOrder(id, raw, kind);
        });
        if (!facts.ok) {
          released();
          return facts;
        }
        return { ok: true, value: remoteBody(bodyId, facts.value) };
      } catch (error) {
        released();
        throw error;
      }
    },
    async close() {
      if (idle !== null) clearTimeout(idle);
      await worker?.terminate();
    },
  };

  function remoteBody(body: number, facts: ConversationFacts): ConversationBody {
    let held = true;
    return {
      facts,
      async encode(order: EncodeOrder): Promise<Result<EncodedBody | MediaWanted>> {
        const result = await ask<Result<EncodedBody | MediaWanted>>((id) => ({
          message: { id, kind: 'encode', body, order },
          transfer: [],
        }));
        if (!result.ok || 'mediaWanted' in result.value) return result;
        const bytes = result.value.bytes as unknown as Uint8Array<ArrayBuffer>;
        return {
          ok: true,
          value: { ...result.value, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
        };
      },
      release() {
        if (!held) return;
        held = false;
        worker?.postMessage({ kind: 'release', body } satisfies WorkerOrder);
        released();
      },
    };
  }
}

function readOrder(id: number, raw: Buffer, bodyKind: BodyKind): { message: WorkerOrder; transfer: ArrayBuffer[] } {
  // Moved, not copied, where the memory is the body's alone.
  const alone = raw.byteOffset === 0 && raw.buffer.byteLength === raw.length;
  const own = alone ? new Uint8Array(raw.buffer as ArrayBuffer) : new Uint8Array(raw);
  return { message: { id, kind: 'read', raw: own, bodyKind }, transfer: [own.buffer] };
}
