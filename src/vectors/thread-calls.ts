import { type Failure, FailureError, isFailure } from '../kernel/failure.ts';
import { createTurns, type Turns } from '../kernel/sharing/turns.ts';
import type { Embedded, Prepared, RankTexts, VectorAnswer, VectorCall } from './vector-engine.ts';
import type { PreparedReply, RunReply } from './worker-messages.ts';
import type { WorkerRequest, WorkerThread } from './worker-thread.ts';

/** Calls between their `prepare` and their end in one thread; further ones get 503. */
const callsMax = 1_024;
/**
 * Work that a thread has before it: it takes one call after the other, so others wait for all of it. Small ones are
 * many, so that one commit is for many of them; a large one takes a tenth of a second.
 */
const smallAtOnce = 64;
const largeAtOnce = 3;
const largeBodyBytes = 64 * 1024;
/** More are forgotten, which costs the work of a call that nobody pays for. */
const unpaidMax = 1_000;

/**
 * Calls to one thread: bounded, and in turn for the tenants that call. A call that only reads goes there once: it is run
 * before it is charged, and its answer waits here. So a tenant whose last answer nobody took is asked to pay first.
 */
export class ThreadCalls {
  readonly #worker: WorkerThread;
  readonly #calls: Turns;
  readonly #small: Turns;
  readonly #large: Turns;
  /** Tenants whose last prepared call was dropped. */
  readonly #unpaid = new Set<string>();
  #lastPrepared = 0;

  constructor(worker: WorkerThread) {
    this.#worker = worker;
    const name = 'Vector calls';
    this.#calls = createTurns({ name, places: callsMax, waitingMax: 0, tenantWaitingMax: 0 });
    this.#small = createTurns({ name, places: smallAtOnce, waitingMax: callsMax, tenantWaitingMax: callsMax });
    this.#large = createTurns({ name, places: largeAtOnce, waitingMax: callsMax, tenantWaitingMax: callsMax });
  }

  /** Reads the call in the thread; it holds a place until it was run or dropped. */
  async prepare(call: VectorCall): Promise<Prepared | Failure> {
    const { tenant } = call.owner;
    const worker = this.#worker;
    const unpaid = this.#unpaid;
    const place = await this.#calls.take(tenant, null).catch(failureOf);
    if (isFailure(place)) return place;
    const held = place;
    const line = call.body.byteLength > largeBodyBytes ? this.#large : this.#small;
    const prepared = ++this.#lastPrepared;
    /** Whether the thread keeps it. */
    let isPrepared = false;
    let ran: PreparedReply['ran'] = null;
    try {
      const atOnce = !unpaid.has(tenant);
      const reply = await line.run(tenant, null, () => {
        const { body, moved } = given(call.body);
        return worker.ask<PreparedReply>({ kind: 'prepare', prepared, call: { ...call, body }, atOnce }, moved);
      });
      ran = reply.ran;
      isPrepared = ran === null;
      const { texts, rerank, effect } = reply;
      return { kind: 'prepared', texts, rerank, effect, ran: outcomeOf(ran), run, drop };
    } catch (error) {
      held.giveBack();
      return failureOf(error);
    }

    function drop(): void {
      if (unpaid.size >= unpaidMax) unpaid.clear();
      unpaid.add(tenant);
      end();
    }

    function end(): void {
      if (isPrepared) worker.post({ kind: 'drop', prepared });
      isPrepared = false;
      held.giveBack();
    }

    async function run(embedded: Embedded | null, rank: RankTexts): Promise<VectorAnswer | Failure> {
      unpaid.delete(tenant);
      isPrepared = false;
      try {
        const found = ran ?? (await done<RunReply>({ kind: 'run', prepared, embedded }));
        if (isFailure(found)) return found;
        if (found instanceof Uint8Array) return answerOf(found);
        isPrepared = true;
        const ranked = await rank(found);
        if (isFailure(ranked)) return ranked;
        isPrepared = false;
        const body = await done<Uint8Array>({ kind: 'rank', prepared, ranked });
        return isFailure(body) ? body : answerOf(body);
      } finally {
        end();
      }
    }

    function done<T>(order: WorkerRequest): Promise<T | Failure> {
      return line.run(tenant, null, () => worker.ask<T>(order)).catch(failureOf);
    }
  }
}

function outcomeOf(ran: PreparedReply['ran']): Prepared['ran'] {
  if (ran instanceof Uint8Array) return answerOf(ran);
  return isFailure(ran) ? ran : null;
}

function answerOf(body: Uint8Array): VectorAnswer {
  return { kind: 'answer', status: 200, body };
}

/** Moved or shared, not copied, where the memory is the body's alone. */
function given(body: Uint8Array): { body: Uint8Array; moved: ArrayBuffer[] } {
  if (body.buffer instanceof SharedArrayBuffer) return { body, moved: [] };
  const alone = body.byteLength === body.buffer.byteLength;
  const movable = alone ? new Uint8Array(body.buffer as ArrayBuffer) : new Uint8Array(body);
  return { body: movable, moved: [movable.buffer] };
}

function failureOf(error: unknown): Failure {
  return error instanceof FailureError ? error.failure : { kind: 'internal' };
}
