// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { everything, spec, upsert } from '../../test/fixtures/temporary-vector-store.ts';
import type { Failure } from '../kernel/failure.ts';
import { shardOf } from './embedded/shards/shard-of.ts';
import type { Embedded, Prepared, VectorCall } from './vector-engine.ts';
import { createVectorWorkers, type VectorWorkers, type VectorWorkersOptions } from './worker-pool.ts';

test('a call is read in one step and done in another, bytes in and bytes out', async (t) => {
  const { workers, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const body = { points: [{ id: 1, vector: [1, 2], payload: { text: 'hello' } }] };
  const prepared = await prepare(workers, { verb: 'upsert-points', params: { collection: 'docs' }, body });
  assert.equal(await workers.store.count('alice', 'docs', null), 0);
  await run(prepared);
  const answer = await call('query-points', { query: [1, 1], with_payload: true }, { collection: 'docs' });
  assert.deepEqual(answer.result.points[0].payload, { text: 'hello' });
  assert.equal(answer.result.points[0].score, 3);
});

test('a call that is dropped does nothing, and a bad one is refused before anything is done', async (t) => {
  const { workers, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const params = { collection: 'docs' };
  const prepared = await prepare(workers, { verb: 'delete-collection', params });
  prepared.drop();
  assert.equal((await workers.store.list('alice')).length, 1);
  const bad = { points: [{ id: 1, vector: [1, 2, 3] }] };
  const failure = await workers.prepare(callOf({ verb: 'upsert-points', params, body: bad }));
  assert.equal(failure.kind, 'invalid-request');
});

test('the memory of a body goes to the thread, unless it is shared or one of several in it', async (t) => {
  const { workers, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const params = { collection: 'docs' };
  const bytes = Buffer.from(JSON.stringify({ filter: { must: [] } }));
  const count = async (body: Uint8Array) => {
    const prepared = await workers.prepare({ ...callOf({ verb: 'count-points', params }), body });
    assert.ok(prepared.kind === 'prepared', JSON.stringify(prepared));
    assert.equal((await run(prepared)).result.count, 0);
    return body.byteLength;
  };
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  const part = new Uint8Array(bytes.length + 1).subarray(1);
  for (const body of [shared, part]) {
    body.set(bytes);
    assert.equal(await count(body), bytes.length);
  }
  assert.equal(await count(new Uint8Array(bytes)), 0, 'it is not copied');
});

test('reading is done in one step, but not for a tenant whose last answer nobody took', async (t) => {
  const { workers, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const count = { verb: 'count-points', params: { collection: 'docs' }, body: {} } as const;
  const addOne = (id: number) => workers.store.write('alice', 'docs', [upsert([id, [id, id]])]);
  const countOf = async (prepared: Prepared) => (await run(prepared)).result.count;

  const taken = await prepare(workers, count);
  await addOne(1);
  assert.equal(await countOf(taken), 0);
  const left = await prepare(workers, count);
  left.drop();
  const late = await prepare(workers, count);
  await addOne(2);
  assert.equal(await countOf(late), 2);
  const again = await prepare(workers, count);
  await addOne(3);
  assert.equal(await countOf(again), 2);
});

test('texts are embedded between the two steps', async (t) => {
  const { workers, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const body = { points: [{ id: 1, vector: { text: 'hello', model: 'm' } }] };
  const prepared = await prepare(workers, { verb: 'upsert-points', params: { collection: 'docs' }, body });
  assert.deepEqual(prepared.texts, { model: 'm', purpose: 'document', texts: ['hello'] });
  await run(prepared, { size: 2, vectors: Float32Array.of(3, 4) });
  const [point] = await workers.store.retrieve('alice', 'docs', [1], everything);
  assert.deepEqual(point!.vector, Float32Array.of(3, 4));
});

test('an account has so many collections over all its keys, whichever threads these live in', async (t) => {
  const { workers, reopen } = start(t, { workers: 2, limits: { collectionsPerAccount: 2, pointsPerCall: 10 } });
  const other = elsewhere('alice', 2);
  await workers.store.create({ tenant: 'alice', account: 'acme' }, spec('a'));
  await workers.store.create({ tenant: other, account: 'acme' }, spec('b'));
  const third = { verb: 'create-collection', body: { name: 'c', vector_size: 2 } } as const;
  const refused = await outcome(workers, third);
  assert(refused.kind === 'invalid-request');
  assert.match(refused.message, /has 2 collections.*vectors\.limits\.collections/);
  const same = { verb: 'put-collection', params: { collection: 'a' }, body: { vectors: { size: 2, distance: 'Dot' } } };
  assert.equal((await outcome(workers, same as never)).kind, 'conflict');
  assert.equal((await outcome(workers, { ...third, tenant: 'carol', account: 'else' })).kind, 'answer');

  const again = await reopen();
  assert.equal((await outcome(again, third)).kind, 'invalid-request');
  await again.store.drop(other, 'b');
  assert.equal((await outcome(again, third)).kind, 'answer');
});

test('a thread that has kept indexes starts before anybody calls, and no other', async (t) => {
  const logged: string[] = [];
  const { workers, dataDir } = start(t, { workers: 2, onTrouble: (message) => void logged.push(message) });
  const [shard, other] = [shardOf('alice'), shardOf(elsewhere('alice', 2))];
  mkdirSync(join(dataDir, 'vectors', `shard-${shard}.images`), { recursive: true });
  // Whoever opens such a file says so.
  for (const one of [shard, other]) writeFileSync(join(dataDir, 'vectors', `shard-${one}.db`), 'no database');
  workers.takeUpImages();
  while (logged.length === 0) await pause(10);
  assert.deepEqual(
    logged.map((message) => /shard-\d/.exec(message)?.[0]),
    [`shard-${shard}`],
  );
});

test('closing commits what was asked for, and refuses what comes after', async (t) => {
  const { workers, reopen, call } = start(t);
  await call('create-collection', { name: 'docs', vector_size: 2, distance: 'Dot' });
  const writes = [1, 2, 3].map((id) => workers.store.write('alice', 'docs', [upsert([id, [id, id]])]));
  const again = await reopen();
  await Promise.all(writes);
  assert.equal(await again.store.count('alice', 'docs', null), 3);
  assert.equal((await workers.prepare(callOf({ verb: 'list-collections' }))).kind, 'overloaded');
});

test('a move needs no free place among the collections of the account, in the same thread or not', async (t) => {
  const { workers } = start(t, { workers: 2, limits: { collectionsPerAccount: 1, pointsPerCall: 10 } });
  const { store } = workers;
  const [from, to] = ['alice', elsewhere('alice', 2)].map((tenant) => ({ tenant, account: 'acme' }));
  await store.create(from!, spec('docs', 2));
  assert.deepEqual(await store.adopt('alice', to!), { collections: 1 });
  await assert.rejects(store.create(from!, spec('more', 2)));
  await store.purge(to!.tenant);
  await store.create(from!, spec('more', 2));
});

test('the operator moves all of a tenant to another, into another thread too, with its aliases and indexes', async (t) => {
  const { workers } = start(t, { workers: 2 });
  const { store } = workers;
  const to = { tenant: elsewhere('alice', 2), account: 'beta' };
  await store.create({ tenant: 'alice', account: 'acme' }, spec('docs', 2, { distance: 'Dot' }));
  await store.write('alice', 'docs', [upsert(...Array.from({ length: 600 }, (_, i) => [i, [i, 1], { i }] as never))]);
  await store.changeAliases('alice', [{ kind: 'create', alias: 'current', collection: 'docs' }]);
  await store.indexPayload('alice', 'docs', 'i', 'integer');
  assert.deepEqual(await store.adopt('alice', to), { collections: 1 });
  assert.deepEqual(await store.tenants(), [{ ...to, collections: 1, points: 600 }]);
  assert.deepEqual(await store.aliases(to.tenant, null), [{ alias: 'current', collection: 'docs' }]);
  assert.deepEqual((await store.inspect(to.tenant, 'current')).payloadSchema, { i: { type: 'integer', points: 600 } });
  assert.deepEqual(await store.purge(to.tenant), { collections: 1 });
  assert.deepEqual(await store.tenants(), []);
});

interface Ask {
  verb: VectorCall['verb'];
  params?: VectorCall['params'];
  body?: unknown;
  tenant?: string;
  account?: string;
}

function callOf({ verb, params = {}, body, tenant = 'alice', account = 'acme' }: Ask): VectorCall {
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
  return { owner: { tenant, account }, verb, params, search: '', body: bytes };
}

async function prepare(workers: VectorWorkers, ask: Ask): Promise<Prepared> {
  const prepared = await workers.prepare(callOf(ask));
  assert(prepared.kind === 'prepared', JSON.stringify(prepared));
  return prepared;
}

async function outcome(workers: VectorWorkers, ask: Ask): Promise<{ kind: 'answer' } | Failure> {
  const prepared = await workers.prepare(callOf(ask));
  return prepared.kind === 'prepared' ? prepared.run(null, unasked) : prepared;
}

const unasked = () => assert.fail('nothing is to be ranked');

async function run(prepared: Prepared, embedded: Embedded | null = null) {
  const answer = await prepared.run(embedded, unasked);
  assert(answer.kind === 'answer', JSON.stringify(answer));
  return JSON.parse(new TextDecoder().decode(answer.body));
}

function start(t: TestContext, options: Partial<VectorWorkersOptions> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-vectors-'));
  const open = () =>
    createVectorWorkers({
      driver: { kind: 'embedded', dataDir, memoryBytes: 64 * 1024 * 1024, searchThreads: 1 },
      workers: 1,
      limits: { collectionsPerAccount: 100, pointsPerCall: 1_000 },
      onTrouble: (message) => assert.fail(message),
      ...options,
    });
  let workers = open();
  t.after(async () => {
    await workers.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    workers,
    dataDir,
    async reopen() {
      await workers.close();
      workers = open();
      return workers;
    },
    call: async (verb: VectorCall['verb'], body: unknown, params: VectorCall['params'] = {}) =>
      run(await prepare(workers, { verb, body, params })),
  };
}

/** A tenant of another thread. */
function elsewhere(tenant: string, threads: number): string {
  for (let at = 0; ; at += 1) {
    const other = `key-${at}`;
    if (shardOf(other) % threads !== shardOf(tenant) % threads) return other;
  }
}
