import { type Failure, failureIn, isFailure } from '../../kernel/failure.ts';
import { createTurns, type Turn } from '../../kernel/sharing/turns.ts';
import { createWorkThread, ThreadLost } from '../../kernel/threads/work-thread.ts';
import type { BodyAnswers, BodyLook } from '../spine/body-reader.ts';
import type { RequestFacts } from '../spine/request-body.ts';
import { bodyLost } from './body-lost.ts';
import type { AllBodies, Bodies, BodyKind } from './body-readers.ts';
import type { AnyOrder, WorkerOrder } from './body-worker.ts';

/** An unused worker costs some 40 MB: it is let go after this. */
const idleMs = 60_000;
/** Bodies in the worker at a time; at up to 32 MB each this bounds its memory. Further ones are refused. */
const bodiesMax = 64;
/** More than bodies times their attempts: those bound it. */
const ordersMax = 16_384;

/**
 * Parses, checks and converts large bodies in one worker thread, started at the first of them, so that a 32 MB request
 * never holds up the streams of others (faults.md F23, F24). Senders take turns. A crash of the thread fails only its
 * own bodies.
 */
export function createBodyWorkers(): AllBodies {
  const thread = createWorkThread(new URL('./body-worker.ts', import.meta.url), 'body worker');
  let idle: NodeJS.Timeout | null = null;
  const held = createTurns({ name: 'Large requests', places: bodiesMax, waitingMax: 0, tenantWaitingMax: 0 });
  const turns = createTurns({ name: 'Large requests', places: 1, waitingMax: ordersMax });

  function release(turn: Turn): void {
    turn.giveBack();
    if (!held.idle()) return;
    idle = setTimeout(thread.letGo, idleMs);
    idle.unref();
  }

  /** In the thread, about a copy of `raw`, of which it keeps nothing. */
  async function look<L extends BodyLook>(tenant: string, raw: Buffer, bodyKind: string, look: L) {
    const turn = await held.take(tenant, null).catch(failureIn);
    if (isFailure(turn)) return turn;
    if (idle !== null) clearTimeout(idle);
    try {
      const answer = await turns.run(tenant, null, () =>
        thread.ask<BodyAnswers<L> | Failure>((id) => {
          const copy = new Uint8Array(raw);
          return { message: { id, kind: 'look', raw: copy, bodyKind, look }, transfer: [copy.buffer] };
        }),
      );
      if (isFailure(answer) || !(answer instanceof Uint8Array)) return answer;
      return Buffer.from(answer.buffer) as BodyAnswers<L>;
    } catch (error) {
      return lostOf(error);
    } finally {
      release(turn);
    }
  }

  return {
    async readInThread<K extends BodyKind>(tenant: string, raw: Buffer, kind: K): Promise<Bodies[K] | Failure> {
      const turn = await held.take(tenant, null).catch(failureIn);
      if (isFailure(turn)) return turn;
      if (idle !== null) clearTimeout(idle);
      let bodyId = 0;
      try {
        const facts = await turns.run(tenant, null, () =>
          thread.ask<RequestFacts | Failure>((id) => {
            bodyId = id;
            return readOrder(id, raw, kind);
          }),
        );
        // Facts and orders are those of this kind of body, there as here.
        if (!isFailure(facts)) return remoteBody(tenant, bodyId, facts, turn) as unknown as Bodies[K];
        release(turn);
        return facts;
      } catch (error) {
        release(turn);
        return lostOf(error);
      }
    },
    look,
    readObject: (tenant, raw) => look(tenant, raw, '', { get: 'object' }),
    withModel: (tenant, raw, model) => look(tenant, raw, '', { get: 'named', model }),
    async close() {
      if (idle !== null) clearTimeout(idle);
      await thread.close();
    },
  };

  function remoteBody(tenant: string, body: number, facts: RequestFacts, turn: Turn) {
    let isHeld = true;
    return {
      facts,
      async encode(order: AnyOrder): Promise<RemoteEncoded | Failure> {
        const result = await turns
          .run(tenant, null, () =>
            thread.ask<RemoteEncoded | Failure>((id) => ({
              message: { id, kind: 'encode', body, order },
              transfer: [],
            })),
          )
          .catch(lostOf);
        if (isFailure(result) || 'neededMedia' in result) return result;
        const { bytes } = result;
        return { ...result, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
      },
      release() {
        if (!isHeld) return;
        isHeld = false;
        thread.post({ kind: 'release', body } satisfies WorkerOrder);
        release(turn);
      },
    };
  }
}

/** Data from the thread. */
type RemoteEncoded = { bytes: Uint8Array<ArrayBuffer> } | { neededMedia: unknown };

/** Its bodies alone are lost with the thread; whatever else went wrong is a fault of ours. */
function lostOf(error: unknown): Failure {
  if (error instanceof ThreadLost) return bodyLost;
  throw error;
}

function readOrder(id: number, raw: Buffer, bodyKind: BodyKind): { message: WorkerOrder; transfer: ArrayBuffer[] } {
  // A copy: an Idempotency-Key, a kept response and files that the body names need its bytes afterwards.
  const copy = new Uint8Array(raw);
  return { message: { id, kind: 'read', raw: copy, bodyKind }, transfer: [copy.buffer] };
}
