import { createWorkThread } from '../../kernel/work-thread.ts';
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

/**
 * Parses, checks and converts large bodies in one worker thread, started at the first of them, so that a 32 MB request
 * never holds up the streams of others (faults.md F23, F24). A crash of the thread fails its own bodies alone.
 */
export function createConversationWorkers(): ConversationReader {
  const thread = createWorkThread(new URL('./conversation-worker.mjs', import.meta.url), 'body worker');
  let idle: NodeJS.Timeout | null = null;
  let bodies = 0;

  function released(): void {
    bodies--;
    if (bodies > 0) return;
    idle = setTimeout(thread.letGo, idleMs);
    idle.unref();
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
        const facts = await thread.ask<Result<ConversationFacts>>((id) => {
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
      await thread.close();
    },
  };

  function remoteBody(body: number, facts: ConversationFacts): ConversationBody {
    let held = true;
    return {
      facts,
      async encode(order: EncodeOrder): Promise<Result<EncodedBody | MediaWanted>> {
        const result = await thread.ask<Result<EncodedBody | MediaWanted>>((id) => ({
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
        thread.tell({ kind: 'release', body } satisfies WorkerOrder);
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
