import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Failure } from '../kernel/failure.ts';
import { createBodyMemory } from './body-memory.ts';
import { passCoresOf } from './embedded/index/pass-threads.ts';
import { allShards, shardOf } from './embedded/shards/shard-of.ts';
import { moveTenant } from './move-tenant.ts';
import { fromTexts, type TextPage } from './page-texts.ts';
import type { QdrantWay } from './qdrant/qdrant-connection.ts';
import type { VectorRegistry } from './registry.ts';
import { registryPort } from './registry-link.ts';
import { ThreadCalls } from './thread-calls.ts';
import type { Prepared, VectorCall, VectorEngine } from './vector-engine.ts';
import { tooManyCollections } from './vector-refusals.ts';
import type { Owner, TenantSummary, VectorStore } from './vector-store.ts';
import type { FromWorker, StoredBytes, StoreMethod, WorkerData, WorkerDriver } from './worker-messages.ts';
import { createWorkerThread, type WorkerThread } from './worker-thread.ts';

/** Threads of `auto`: one core is the main thread's. */
const autoWorkersMax = 4;
export interface VectorWorkersOptions {
  driver:
    | { kind: 'embedded'; dataDir: string; memoryBytes: number; searchThreads: number | 'auto' }
    | { kind: 'qdrant'; url: string; apiKey: string | null; way: QdrantWay; registry: VectorRegistry };
  workers: number | 'auto';
  limits: { collectionsPerAccount: number; pointsPerCall: number };
  /** Bytes that were written, or (negative) removed. */
  onStoredBytes?(bytes: number): void;
  /** For the operator's log. */
  onTrouble(message: string): void;
  clock?: Clock;
}

export interface VectorWorkers extends VectorEngine {
  /** Starts the threads whose shards keep images of indexes, so that no call waits for these. */
  takeUpImages(): void;
  /** The same data for the operator, over all threads: moving, exporting, purging. `close` closes the engine. */
  readonly store: VectorStore;
}

/**
 * The vector store in its own threads, started at the first call: the main thread neither parses nor searches. A tenant
 * is always in the same thread.
 */
export function createVectorWorkers(options: VectorWorkersOptions): VectorWorkers {
  const { driver, limits, onTrouble } = options;
  const clock = options.clock ?? systemClock;
  const places = createCollectionPlaces(limits.collectionsPerAccount);
  const count = workerCount(options.workers, driver.kind);
  const threads = Array.from({ length: count }, (_, number) => createThread(number));
  const storedBytes = createThreadTotals();
  const coresUsed = new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT);
  let closed = false;
  let trouble: string | null = null;
  let looking = false;

  function createThread(number: number): { worker: WorkerThread; calls: ThreadCalls } {
    const worker = createWorkerThread({
      data: () => dataOf(number),
      onMessage: (message) => void receive(number, worker, message),
      onDeath: (reason) => onTrouble(`vectors: a thread ended and restarts: ${reason}`),
      clock,
    });
    return { worker, calls: new ThreadCalls(worker) };
  }

  function dataOf(number: number): { workerData: WorkerData; transfer: readonly object[] } {
    if (driver.kind === 'qdrant') {
      const registry = registryPort(driver.registry);
      return { workerData: { driver: { ...driver, registry }, limits }, transfer: [registry] };
    }
    const shards = allShards.filter((shard) => shard % count === number);
    const memoryBytes = Math.floor(driver.memoryBytes / count);
    // One that ended within a pass used some.
    Atomics.store(new Int32Array(coresUsed), number, 0);
    const passCores = { cores: passCoresOf(driver.searchThreads), used: coresUsed, arena: number };
    const { kind, dataDir } = driver;
    return { workerData: { driver: { kind, dataDir, shards, memoryBytes, passCores }, limits }, transfer: [] };
  }

  async function receive(number: number, worker: WorkerThread, message: FromWorker): Promise<void> {
    switch (message.kind) {
      case 'ready':
        storedBytes.set(number, message.bytes);
        return places.set(number, message.collections);
      case 'give':
        return places.give(number, message.account, message.collections);
      case 'stored':
        options.onStoredBytes?.(message.bytes);
        return storedBytes.add(number, message);
      case 'tell':
        return onTrouble(message.message);
      case 'take': {
        // Until all have reported, nobody knows how many an account has. A dead one has reported.
        await Promise.allSettled(threads.map((thread) => thread.worker.ready()));
        const failure = places.take(number, message.account);
        worker.post({ kind: 'place', id: message.id, failure });
        return;
      }
    }
  }

  const workers = threads.map(({ worker }) => worker);
  const threadOf = (tenant: string) => threads[shardOf(tenant) % count]!;

  async function prepare(call: VectorCall): Promise<Prepared | Failure> {
    return closed ? stopped : threadOf(call.owner.tenant).calls.prepare(call);
  }

  /** Probes when a caller wants to know, with an answer that comes later: the probe of Qdrant takes a while. */
  function look(): void {
    if (looking || closed) return;
    looking = true;
    const started = threads.filter(({ worker }) => worker.started());
    Promise.all(started.map(({ worker }) => worker.ask<string | null>({ kind: 'store', method: 'trouble', args: [] })))
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
    takeUpImages() {
      if (closed || driver.kind !== 'embedded') return;
      for (const shard of allShards) {
        if (existsSync(join(driver.dataDir, 'vectors', `shard-${shard}.images`))) {
          // A call that comes later meets the same trouble, and tells it.
          threads[shard % count]!.worker.ready().catch(() => {});
        }
      }
    },
    async storedBytes(account) {
      if (driver.kind === 'qdrant') return null;
      if (!closed) await Promise.allSettled(threads.map((thread) => thread.worker.ready()));
      return storedBytes.of(account);
    },
    trouble() {
      look();
      return threads.map(({ worker }) => worker.trouble()).find((one) => one !== null) ?? trouble;
    },
    close,
    store: createThreadStore(
      driver.kind === 'qdrant' ? 'qdrant' : 'embedded',
      workers,
      (tenant) => threadOf(tenant).worker,
      close,
    ),
  };
}

function workerCount(workers: number | 'auto', kind: VectorWorkersOptions['driver']['kind']): number {
  const workerCount = workers === 'auto' ? Math.min(autoWorkersMax, Math.max(1, availableParallelism() - 1)) : workers;
  // A shard is one thread's.
  return kind === 'embedded' ? Math.min(workerCount, allShards.length) : workerCount;
}

const stopped: Failure = { kind: 'overloaded', message: 'The vector store is stopping. Retry it.' };

/**
 * Number of collections of accounts over all threads: an account may have several tenants, whose shards lie in
 * different threads. Derived: each thread reports its own when it starts.
 */
function createCollectionPlaces(collectionsMax: number) {
  const threads = new Map<number, Map<string, number>>();

  function add(thread: number, account: string, collections: number): void {
    const counts = threads.get(thread) ?? new Map<string, number>();
    threads.set(thread, counts);
    const count = (counts.get(account) ?? 0) + collections;
    if (count === 0) counts.delete(account);
    else counts.set(account, count);
  }

  return {
    /** A thread's collections as of now, in place of what was known of it before. */
    set(thread: number, collections: readonly { account: string; collections: number }[]): void {
      threads.delete(thread);
      for (const one of collections) add(thread, one.account, one.collections);
    },
    /** Null when the account had a place left, which is taken then. */
    take(thread: number, account: string): Failure | null {
      let count = 0;
      for (const counts of threads.values()) count += counts.get(account) ?? 0;
      if (count >= collectionsMax) return tooManyCollections(collectionsMax).failure;
      add(thread, account, 1);
      return null;
    },
    give: (thread: number, account: string, collections: number): void => add(thread, account, -collections),
  };
}

/** The store's methods, each in the thread of its tenant. */
function createThreadStore(
  kind: WorkerDriver['kind'],
  threads: readonly WorkerThread[],
  threadOf: (tenant: string) => WorkerThread,
  close: () => Promise<void>,
): VectorStore {
  const ask = <T>(worker: WorkerThread, method: StoreMethod, ...args: unknown[]) =>
    worker.ask<T>({ kind: 'store', method, args });
  const ofTenant =
    <Method extends StoreMethod>(method: Method) =>
    (tenant: string, ...args: unknown[]): Promise<never> =>
      ask<never>(threadOf(tenant), method, tenant, ...args);
  const store: VectorStore = {
    create: (owner, ...args) => ask(threadOf(owner.tenant), 'create', owner, ...args),
    drop: ofTenant('drop'),
    list: ofTenant('list'),
    find: ofTenant('find'),
    inspect: ofTenant('inspect'),
    configure: ofTenant('configure'),
    write: ofTenant('write'),
    retrieve: ofTenant('retrieve'),
    query: ofTenant('query'),
    queryGroups: ofTenant('queryGroups'),
    neighbours: ofTenant('neighbours'),
    scroll: async (tenant, ...args) => fromTexts(await ask<TextPage>(threadOf(tenant), 'scroll', tenant, ...args)),
    count: ofTenant('count'),
    facet: ofTenant('facet'),
    indexPayload: ofTenant('indexPayload'),
    aliases: ofTenant('aliases'),
    changeAliases: ofTenant('changeAliases'),
    async tenants() {
      const lists = await Promise.all(threads.map((thread) => ask<readonly TenantSummary[]>(thread, 'tenants')));
      return mergeTenants(lists.flat());
    },
    adopt: (from: string, to: Owner) =>
      // When tenants lie together, it is a change of rows.
      kind === 'qdrant' || shardOf(from) === shardOf(to.tenant)
        ? ask(threadOf(from), 'adopt', from, to)
        : moveTenant(store, from, to),
    purge: ofTenant('purge'),
    async trouble() {
      const answers = await Promise.all(threads.map((thread) => ask<string | null>(thread, 'trouble')));
      return answers.find((answer) => answer !== null) ?? null;
    },
    close,
  };
  return store;
}

/** Threads that share one registry each name every tenant. */
function mergeTenants(tenants: readonly TenantSummary[]): TenantSummary[] {
  const known = new Map(tenants.map((one) => [`${one.tenant}\0${one.account}`, one]));
  return [...known.values()].sort((a, b) => (a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : 0));
}

/** Bytes of accounts over all threads. Derived: each thread reports its own when it starts. */
function createThreadTotals() {
  const threads = new Map<number, Map<string, number>>();

  function add(thread: number, { account, bytes }: StoredBytes): void {
    const totals = threads.get(thread) ?? new Map<string, number>();
    threads.set(thread, totals);
    const total = (totals.get(account) ?? 0) + bytes;
    if (total === 0) totals.delete(account);
    else totals.set(account, total);
  }

  return {
    /** A thread's bytes as of now, in place of what was known of it before. */
    set(thread: number, reported: readonly StoredBytes[]): void {
      threads.delete(thread);
      for (const one of reported) add(thread, one);
    },
    add,
    of(account: string): number {
      let total = 0;
      for (const totals of threads.values()) total += totals.get(account) ?? 0;
      return Math.max(0, total);
    },
  };
}
