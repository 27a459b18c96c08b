import { type Failure, FailureError } from '../../kernel/failure.ts';
import { createTurns, type Turn } from '../../kernel/sharing/turns.ts';
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
/** Of one tenant. */
const tenantBodiesMax = 48;
/** More than bodies times their attempts: those bound it. */
const ordersMax = 16_384;

/**
 * Parses, checks and converts large bodies in one worker thread, started at the first of them, so that a 32 MB request
 * never holds up the streams of others (faults.md F23, F24), in turn for those that send them. A crash of the thread fails its own bodies alone.
 */
export function createConversationWorkers(): ConversationReader {
  const thread = createWorkThread(new URL('./conversation-worker.mjs', import.meta.url), 'body worker');
  let idle: NodeJS.Timeout | null = null;
  const held = createTurns({
    name: 'Large requests',
    places: bodiesMax,
    tenantPlaces: tenantBodiesMax,
    waitingMax: 0,
    tenantWaitingMax: 0,
  });
  const turns = createTurns({ name: 'Large requests', places: 1, waitingMax: ordersMax });

  function release(turn: Turn): void {
    turn.giveBack();
    if (!held.idle()) return;
    idle = setTimeout(thread.letGo, idleMs);
    idle.unref();
  }

  return {
    async read(tenant, raw, kind): Promise<Result<ConversationBody>> {
      const turn = await held.take(tenant, null).catch(failureOf);
      if ('kind' in turn) return { ok: false, failure: turn };
      if (idle !== null) clearTimeout(idle);
      let bodyId = 0;
      try {
        const facts = await turns.run(tenant, null, () =>
          thread.ask<Result<ConversationFacts>>((id) => {
            bodyId = id;
            return readOrder(id, raw, kind);
          }),
        );
        if (facts.ok) return { ok: true, value: remoteBody(tenant, bodyId, facts.value, turn) };
        release(turn);
        return facts;
      } catch (error) {
        release(turn);
        throw error;
      }
    },
    async close() {
      if (idle !== null) clearTimeout(idle);
      await thread.close();
    },
  };

  function remoteBody(tenant: string, body: number, facts: ConversationFacts, turn: Turn): ConversationBody {
    let isHeld = true;
    return {
      facts,
      async encode(order: EncodeOrder): Promise<Result<EncodedBody | MediaWanted>> {
        const result = await turns.run(tenant, null, () =>
          thread.ask<Result<EncodedBody | MediaWanted>>((id) => ({
            message: { id, kind: 'encode', body, order },
            transfer: [],
          })),
        );
        if (!result.ok || 'mediaWanted' in result.value) return result;
        const bytes = result.value.bytes as unknown as Uint8Array<ArrayBuffer>;
        return {
          ok: true,
          value: { ...result.value, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
        };
      },
      release() {
        if (!isHeld) return;
        isHeld = false;
        thread.tell({ kind: 'release', body } satisfies WorkerOrder);
        release(turn);
      },
    };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof FailureError) return error.failure;
  throw error;
}

function readOrder(id: number, raw: Buffer, bodyKind: BodyKind): { message: WorkerOrder; transfer: ArrayBuffer[] } {
  // Moved, not copied, where the memory is the body's alone.
  const alone = raw.byteOffset === 0 && raw.buffer.byteLength === raw.length;
  const own = alone ? new Uint8Array(raw.buffer as ArrayBuffer) : new Uint8Array(raw);
  return { message: { id, kind: 'read', raw: own, bodyKind }, transfer: [own.buffer] };
}
