import { parentPort, workerData } from 'node:worker_threads';
import { BriefSet, type Placed } from '../kernel/brief.ts';
import { systemClock } from '../kernel/clock.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';
import { freeMemory } from '../kernel/free-memory.ts';
import { yieldToMainThread } from '../kernel/priority.ts';
import { createWorkTurns } from '../kernel/sharing/work-turns.ts';
import type { EmbeddedStore } from './embedded/embedded-store.ts';
import { asTexts } from './page-texts.ts';
import { withLanguages } from './text/languages.ts';
import type { Embedded } from './vector-engine.ts';
import type { Owner, Page, VectorStore } from './vector-store.ts';
import { type PreparedCall, prepareCall, type UnrankedAnswer } from './wire/prepare-call.ts';
import {
  type FromWorker,
  interrupted,
  type PreparedReply,
  type RunReply,
  type ToWorker,
  type WorkerData,
} from './worker-messages.ts';

/**
 * The main thread wakes up several times for a search, and each time a thread with much less priority loses its core for
 * longer than that takes (docs/decisions/0034-vector-threads-yield-a-little.md).
 */
const storeNiceness = 3;

/** A thread that reads vector calls, does them on its store and writes their answers. */
const { driver, limits } = workerData as WorkerData;
const port = parentPort!;
/** Turns of the tenants at this thread. */
const turns = createWorkTurns(systemClock);
const prepared = new Map<number, PreparedCall & { tenant: string }>();
/** Calls that ran and wait for the order of their points. */
const unranked = new Map<number, UnrankedAnswer & { tenant: string }>();
/** Asked of the main thread, which knows what the other threads have. */
const places = new Map<number, (failure: Failure | null) => void>();
let lastPlace = 0;
/** Bytes of the shards that are opened at the start, sent with `ready`; later ones report on their own. */
const bytesBefore = new Map<string, number>();
let ready = false;

yieldToMainThread(storeNiceness);

const opened = await openStore();
// A language of a text index in the store is loaded on demand; a call that throws has done nothing.
const store = new Proxy(opened, {
  get(target, name) {
    const member = Reflect.get(target, name) as unknown;
    if (typeof member !== 'function') return member;
    return (...args: unknown[]) => withLanguages(() => member.apply(target, args) as unknown);
  },
});
/** Messages whose answers are not sent yet. */
const receiving = new BriefSet<Placed & { done: Promise<void> }>();
port.on('message', (message: ToWorker) => {
  const received = { done: receive(message), place: -1 };
  receiving.add(received);
  void received.done.finally(() => receiving.delete(received));
});
const tenants = driver.kind === 'embedded' ? await store.tenants() : [];
send({
  kind: 'ready',
  collections: tenants.map(({ account, collections }) => ({ account, collections })),
  bytes: [...bytesBefore].map(([account, bytes]) => ({ account, bytes })),
});
ready = true;
await opened.takeUpImages?.();

async function openStore(): Promise<VectorStore & Partial<Pick<EmbeddedStore, 'takeUpImages'>>> {
  const report = (message: string) => send({ kind: 'tell', message });
  if (driver.kind === 'qdrant') {
    const [{ createQdrantStore }, { linkRegistry }] = await Promise.all([
      import('./qdrant/qdrant-store.ts'),
      import('./registry-link.ts'),
    ]);
    const { url, apiKey, way } = driver;
    const registry = linkRegistry(driver.registry);
    return createQdrantStore({ url, apiKey, way, registry, clock: systemClock, limits, onTrouble: report });
  }
  const { createEmbeddedStore } = await import('./embedded/embedded-store.ts');
  return createEmbeddedStore({ ...driver, limit: { take, give, onStoredBytes }, report, turns });
}

function take(account: string): Promise<void> {
  const id = ++lastPlace;
  return new Promise((resolve, reject) => {
    places.set(id, (failure) => (failure === null ? resolve() : reject(new FailureError(failure))));
    send({ kind: 'take', id, account });
  });
}

function onStoredBytes(account: string, bytes: number): void {
  if (ready) send({ kind: 'stored', account, bytes });
  else bytesBefore.set(account, (bytesBefore.get(account) ?? 0) + bytes);
}

function give(account: string, collections: number): void {
  send({ kind: 'give', account, collections });
}

async function receive(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'place':
      places.get(message.id)?.(message.failure);
      places.delete(message.id);
      return;
    case 'drop':
      prepared.delete(message.prepared);
      unranked.delete(message.prepared);
      return;
    default:
      try {
        const tenant = tenantOf(message);
        const waits = tenant === null ? null : turns.begin(tenant);
        if (waits !== null) await waits;
        const { result, transfer } = await answer(message);
        send({ kind: 'done', id: message.id, result }, transfer);
      } catch (error) {
        send({ kind: 'failed', id: message.id, failure: failureOf(error) });
      }
  }
}

type Request = Exclude<ToWorker, { kind: 'place' | 'drop' }>;

/** Null: of the operator, or about what is not there any more. */
function tenantOf(message: Request): string | null {
  switch (message.kind) {
    case 'prepare':
      return message.call.owner.tenant;
    case 'run':
      return prepared.get(message.prepared)?.tenant ?? null;
    case 'rank':
      return unranked.get(message.prepared)?.tenant ?? null;
    case 'store': {
      const [of] = message.args as [(string | Owner)?];
      return typeof of === 'object' ? of.tenant : (of ?? null);
    }
    case 'close':
      return null;
  }
}

async function answer(message: Request): Promise<{ result: unknown; transfer: ArrayBuffer[] }> {
  switch (message.kind) {
    case 'prepare': {
      const { tenant } = message.call.owner;
      const call = await prepareCall(store, message.call, { limits, clock: systemClock });
      freeMemory(message.call.body.buffer);
      const { texts, rerank, effect } = call;
      const needs = { texts, rerank, effect };
      if (message.atOnce && effect === 'reads' && texts === null && rerank === null) {
        const ran = await run(message.prepared, { ...call, tenant }, null).catch(failureOf);
        return { result: { ...needs, ran } satisfies PreparedReply, transfer: memoryOf(ran) };
      }
      prepared.set(message.prepared, { ...call, tenant });
      return { result: { ...needs, ran: null } satisfies PreparedReply, transfer: [] };
    }
    case 'run': {
      const result = await run(message.prepared, taken(prepared, message.prepared), message.embedded);
      return { result, transfer: memoryOf(result) };
    }
    case 'rank': {
      const result = movable(taken(unranked, message.prepared).rank(message.ranked));
      return { result, transfer: memoryOf(result) };
    }
    case 'store': {
      const method = store[message.method] as (...args: unknown[]) => Promise<unknown>;
      const result = await method.apply(store, message.args);
      return { result: message.method === 'scroll' ? asTexts(result as Page) : result, transfer: [] };
    }
    case 'close': {
      // The thread ends at this answer: answers to earlier messages must have been sent.
      const before = receiving.values().map(({ done }) => done);
      if (driver.kind === 'qdrant') await turns.drained();
      await store.close();
      await Promise.all(before);
      return { result: null, transfer: [] };
    }
  }
}

async function run(
  number: number,
  call: PreparedCall & { tenant: string },
  embedded: Embedded | null,
): Promise<RunReply> {
  const answer = await call.run(embedded);
  if (answer instanceof Uint8Array) return movable(answer);
  unranked.set(number, { ...answer, tenant: call.tenant });
  return answer.found;
}

function taken<T>(calls: Map<number, T>, number: number): T {
  const call = calls.get(number);
  // Prepared in a thread that has died since.
  if (call === undefined) throw new FailureError(interrupted);
  calls.delete(number);
  return call;
}

/** Memory that it shares with others cannot be given away. */
function movable(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return body.byteLength === body.buffer.byteLength ? body : body.slice();
}

function memoryOf(result: RunReply | Failure): ArrayBuffer[] {
  return result instanceof Uint8Array ? [result.buffer] : [];
}

function failureOf(error: unknown): Failure {
  if (error instanceof FailureError) return error.failure;
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  send({ kind: 'tell', message: `vectors: ${words}` });
  return { kind: 'internal' };
}

function send(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
