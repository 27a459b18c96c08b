import { availableParallelism } from 'node:os';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';
import { createTurns, type Turns } from '../kernel/sharing/turns.ts';
import { createBodyMemory } from './body-memory.ts';
import { createCollectionPlaces } from './collection-places.ts';
import { allShards, shardOf } from './embedded/shard-of.ts';
import type { Embedded, Prepared, VectorAnswer, VectorCall, VectorEngine } from './engine.ts';
import type { QdrantWay } from './qdrant/connection.ts';
import type { VectorRegistry } from './registry.ts';
import { registryPort } from './registry-link.ts';
import type { VectorStore } from './store.ts';
import { createThreadStore, createThreadTotals } from './thread-store.ts';
import type { FromWorker, PreparedReply, WorkerData } from './worker-messages.ts';
import { createWorkerThread, type WorkerThread } from './worker-thread.ts';

/** Threads of `auto`: one core is the main thread's. */
const autoWorkersMax = 4;
/** Calls between their `prepare` and their end in one thread; further ones get 503. */
const callsMax = 1_024;
/**
 * What a thread has before it at one time: it takes one after the other, so others wait for all of it. Small ones are
 * many, so that one commit is for many of them; a large one takes a tenth of a second.
 */
const smallAtOnce = 64;
const largeAtOnce = 3;
const largeBodyBytes = 64 * 1024;

export interface VectorWorkersOptions {
  driver:
    | { kind: 'embedded'; dataDir: string; memoryBytes: number }
    | { kind: 'qdrant'; url: string; apiKey: string | null; way: QdrantWay; registry: VectorRegistry };
  workers: number | 'auto';
  limits: { collectionsPerAccount: number; pointsPerCall: number };
  /** Bytes that were written, or (negative) removed. */
  onKept?(bytes: number): void;
  /** For the operator's log. */
  onTrouble(message: string): void;
  clock?: Clock;
}

export interface VectorWorkers extends VectorEngine {
  /** The same data for the operator, over all threads: moving, exporting, purging. `close` closes the engine. */
  readonly store: VectorStore;
}

interface Thread {
  worker: WorkerThread;
  calls: Turns;
  /** In turn for the tenants that call. */
  small: Turns;
  large: Turns;
}

/**
 * The vector store in threads of its own, started at the first call: the main thread neither parses nor searches. A
 * tenant is always in the same thread.
 */
export function createVectorWorkers(options: VectorWorkersOptions): VectorWorkers {
  const { driver, limits, onTrouble } = options;
  const clock = options.clock ?? systemClock;
  const places = createCollectionPlaces(limits.collectionsPerAccount);
  const count = workerCount(options.workers, driver.kind);
  const threads = Array.from({ length: count }, (_, number) => createThread(number));
  const kept = createThreadTotals();
  let lastPrepared = 0;
  let closed = false;
  let trouble: string | null = null;
  let looking = false;

  function createThread(number: number): Thread {
    const worker = createWorkerThread({
      data: () => dataOf(number),
      onMessage: (message) => void receive(number, worker, message),
      onDeath: (reason) => onTrouble(`vectors: a thread ended and is started again: ${reason}`),
      clock,
    });
    const name = 'Vector calls';
    return {
      worker,
      calls: createTurns({
        name,
        places: callsMax,
        waitingMax: 0,
        tenantWaitingMax: 0,
      }),
      small: createTurns({ name, places: smallAtOnce, waitingMax: callsMax, tenantWaitingMax: callsMax }),
      large: createTurns({ name, places: largeAtOnce, waitingMax: callsMax, tenantWaitingMax: callsMax }),
    };
  }

  function dataOf(number: number): { workerData: WorkerData; transfer: readonly object[] } {
    if (driver.kind === 'qdrant') {
      const registry = registryPort(driver.registry);
      return { workerData: { driver: { ...driver, registry }, limits }, transfer: [registry] };
    }
    const shards = allShards.filter((shard) => shard % count === number);
    const memoryBytes = Math.floor(driver.memoryBytes / count);
    return { workerData: { driver: { ...driver, shards, memoryBytes }, limits }, transfer: [] };
  }

  async function receive(number: number, worker: WorkerThread, message: FromWorker): Promise<void> {
    switch (message.kind) {
      case 'ready':
        kept.set(number, message.bytes);
        return places.set(number, message.collections);
      case 'give':
        return places.give(number, message.account, message.collections);
      case 'kept':
        options.onKept?.(message.bytes);
        return kept.add(number, message);
      case 'tell':
        return onTrouble(message.message);
      case 'take': {
        // Before all have said what they have, nobody knows how many an account has. One that died has said so.
        await Promise.allSettled(threads.map((thread) => thread.worker.ready()));
        const failure = places.take(number, message.account);
        worker.tell({ kind: 'place', id: message.id, failure });
        return;
      }
    }
  }

  const workers = threads.map(({ worker }) => worker);
  const threadOf = (tenant: string) => threads[shardOf(tenant) % count]!;

  function stopped(): Failure {
    return { kind: 'overloaded', message: 'The vector store is stopping. Retry it.' };
  }

  async function prepare(call: VectorCall): Promise<Prepared | Failure> {
    if (closed) return stopped();
    const thread = threadOf(call.owner.tenant);
    const { tenant } = call.owner;
    const place = await thread.calls.take(tenant, null).catch(failureOf);
    if ('kind' in place) return place;
    const held = place;
    const line = call.body.byteLength > largeBodyBytes ? thread.large : thread.small;
    const prepared = ++lastPrepared;
    let isPrepared = false;
    try {
      const { texts, effect } = await line.run(tenant, null, () => {
        const { body, moved } = given(call.body);
        return thread.worker.ask<PreparedReply>({ kind: 'prepare', prepared, call: { ...call, body } }, moved);
      });
      isPrepared = true;
      return { kind: 'prepared', texts, effect, run, drop };
    } catch (error) {
      held.giveBack();
      return failureOf(error);
    }

    function drop(): void {
      if (isPrepared) thread.worker.tell({ kind: 'drop', prepared });
      isPrepared = false;
      held.giveBack();
    }

    async function run(embedded: Embedded | null): Promise<VectorAnswer | Failure> {
      isPrepared = false;
      try {
        const order = { kind: 'run', prepared, embedded } as const;
        const body = await line.run(tenant, null, () => thread.worker.ask<Uint8Array>(order));
        return { kind: 'answer', status: 200, body };
      } catch (error) {
        return failureOf(error);
      } finally {
        held.giveBack();
      }
    }
  }

  /** Asked when somebody wants to know, told when it has answered: the probe of Qdrant takes a while. */
  function look(): void {
    if (looking || closed) return;
    looking = true;
    const asked = threads.filter(({ worker }) => worker.started());
    Promise.all(asked.map(({ worker }) => worker.ask<string | null>({ kind: 'store', method: 'trouble', args: [] })))
      .then((answers) => {
        trouble = answers.find((answer) => answer !== null) ?? null;
      })
      .catch(() => {})
      .finally(() => {
        looking = false;
      });
  }

  async function close(): Promise<void> {
    closed = true;
    await Promise.all(threads.map(({ worker }) => worker.close()));
  }

  return {
    bodyMemory: createBodyMemory(),
    prepare,
    async keptBytes(account) {
      if (driver.kind === 'qdrant') return null;
      if (!closed) await Promise.allSettled(threads.map((thread) => thread.worker.ready()));
      return kept.of(account);
    },
    trouble() {
      look();
      return threads.map(({ worker }) => worker.trouble()).find((one) => one !== null) ?? trouble;
    },
    close,
    store: createThreadStore(driver.kind, workers, (tenant) => threadOf(tenant).worker, close),
  };
}

function workerCount(workers: number | 'auto', kind: 'embedded' | 'qdrant'): number {
  const wanted = workers === 'auto' ? Math.min(autoWorkersMax, Math.max(1, availableParallelism() - 1)) : workers;
  // A shard is one thread's.
  return kind === 'embedded' ? Math.min(wanted, allShards.length) : wanted;
}

/** Moved or shared, not copied, where the memory is the body's alone. */
function given(body: Uint8Array): { body: Uint8Array; moved: ArrayBuffer[] } {
  if (body.buffer instanceof SharedArrayBuffer) return { body, moved: [] };
  const alone = body.byteLength === body.buffer.byteLength;
  const own = alone ? new Uint8Array(body.buffer as ArrayBuffer) : new Uint8Array(body);
  return { body: own, moved: [own.buffer] };
}

function failureOf(error: unknown): Failure {
  return error instanceof FailureError ? error.failure : { kind: 'internal' };
}
