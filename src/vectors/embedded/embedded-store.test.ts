import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  alice,
  bob,
  everything,
  near,
  spec,
  temporaryStore,
  upsert,
} from '../../../test/fixtures/temporary-vector-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { readFilter } from '../filter/read-filter.ts';
import { shardOf } from './shards/shard-of.ts';

const fails = (kind: string, words?: RegExp) => (error: unknown) => {
  assert(error instanceof FailureError, String(error));
  assert.equal(error.failure.kind, kind);
  if (words !== undefined) assert.match('message' in error.failure ? error.failure.message : '', words);
  return true;
};

test('a collection is made, listed, found, inspected and dropped', async (t) => {
  const { store } = temporaryStore(t);
  const docs = spec('docs', 3, { distance: 'Dot', embeddingModel: 'm' });
  await store.create(alice, docs);
  await store.create(alice, spec('b'));
  assert.deepEqual(await store.list('alice'), [spec('b'), docs]);
  assert.deepEqual(await store.find('alice', 'docs'), docs);
  assert.deepEqual(await store.inspect('alice', 'docs'), { ...docs, points: 0, indexed: 0, payloadSchema: {} });
  assert.equal(await store.drop('alice', 'docs'), true);
  assert.equal(await store.drop('alice', 'docs'), false);
  assert.equal(await store.find('alice', 'docs'), null);
});

test('making a collection twice is a conflict', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await assert.rejects(store.create(alice, spec('docs', 5)), fails('conflict', /already/));
});

test('S10 another tenant of the account sees and touches nothing', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await store.write('alice', 'docs', [upsert([1, [1, 0]])]);
  assert.deepEqual(await store.list('bob'), []);
  assert.equal(await store.find('bob', 'docs'), null);
  await assert.rejects(store.query('bob', 'docs', [near([1, 0])]), fails('not-found', /'docs' does not exist/));
  await assert.rejects(store.write('bob', 'docs', [upsert([1, [0, 1]])]), fails('not-found'));
  assert.equal(await store.drop('bob', 'docs'), false);
  await store.create(bob, spec('docs'));
  assert.equal(await store.count('bob', 'docs', null), 0);
  assert.equal(await store.count('alice', 'docs', null), 1);
});

test('S10 while columns for a first filter are made of many points, others are answered', async (t) => {
  const { store } = temporaryStore(t);
  for (const owner of [alice, bob]) await store.create(owner, spec('docs'));
  const count = 12_000;
  const payloadOf = (id: number) => ({
    n: id % 3,
    text: 'A sentence of the usual length, as points have it. '.repeat(9),
  });
  for (let id = 0; id < count; id += 1_000) {
    const ids = Array.from({ length: 1_000 }, (_, i) => id + i);
    await store.write('alice', 'docs', [
      upsert(...ids.map((at): Parameters<typeof upsert>[0] => [at, [1, at], payloadOf(at)])),
    ]);
  }
  await store.write('bob', 'docs', [upsert([1, [1, 0], { n: 1 }])]);
  const filter = readFilter({ must: [{ key: 'n', match: { value: 1 } }] }, 'filter');
  const answered: string[] = [];
  const noted = async (who: string, call: Promise<unknown>) => {
    await call;
    answered.push(who);
  };
  const calls = [
    noted('alice counts', store.count('alice', 'docs', filter)),
    noted('alice deletes', store.write('alice', 'docs', [{ kind: 'delete', which: { filter } }])),
    noted('bob counts', store.count('bob', 'docs', filter)),
    noted('bob writes', store.write('bob', 'docs', [upsert([2, [1, 0]])])),
  ];
  await Promise.all(calls);
  assert.deepEqual(answered.slice(0, 2).sort(), ['bob counts', 'bob writes']);
  assert.equal(await store.count('alice', 'docs', null), (count * 2) / 3);
});

test('S13 names of tenants and collections never reach the file system', async (t) => {
  const { store, dataDir } = temporaryStore(t);
  const odd = { tenant: '../../etc/passwd', account: '/' };
  await store.create(odd, spec('../x\0y'));
  assert.equal((await store.list(odd.tenant)).length, 1);
  for (const file of readdirSync(join(dataDir, 'vectors'))) assert.match(file, /^shard-\d\.db(-wal|-shm)?$/);
  assert.deepEqual(readdirSync(dataDir), ['vectors']);
});

test('points are read back by id in the order asked, unknown ones left out', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs', 2, { distance: 'Dot' }));
  const uuid = '0d0c1b2a-0000-4000-8000-00000000abcd';
  await store.write('alice', 'docs', [upsert([7, [3, 4], { a: 1 }], [uuid, [5, 6]])]);
  assert.deepEqual(await store.retrieve('alice', 'docs', [uuid, 9, 7], everything), [
    { id: uuid, payload: null, vector: Float32Array.of(5, 6) },
    { id: 7, payload: { a: 1 }, vector: Float32Array.of(3, 4) },
  ]);
});

test('an upsert of an existing id replaces vector and payload whole, also inside one call', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs', 2, { distance: 'Dot' }));
  await store.write('alice', 'docs', [upsert([1, [1, 1], { a: 1 }], [1, [2, 2], { b: 2 }])]);
  await store.write('alice', 'docs', [upsert([1, [3, 3]])]);
  assert.equal(await store.count('alice', 'docs', null), 1);
  const [point] = await store.retrieve('alice', 'docs', [1], everything);
  assert.deepEqual(point, { id: 1, payload: null, vector: Float32Array.of(3, 3) });
});

test('the nearest points come best first, and vectors of Cosine are normalised', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await store.write('alice', 'docs', [upsert([1, [3, 4]], [2, [1, 0]], [3, [-1, 0]])]);
  const [hits] = await store.query('alice', 'docs', [near([10, 0], { limit: 2 })]);
  assert.deepEqual(
    hits!.map(({ id }) => id),
    [2, 1],
  );
  assert(Math.abs(hits![1]!.score - 0.6) < 1e-6);
  const [point] = await store.retrieve('alice', 'docs', [1], everything);
  assert.deepEqual(
    [...point!.vector!].map((x) => x.toFixed(4)),
    ['0.6000', '0.8000'],
  );
});

test('a call of which one operation fails writes nothing of it', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await store.write('alice', 'docs', [upsert([1, [1, 0]])]);
  const update = { kind: 'update-vectors', ids: [5], vectors: Float32Array.of(1, 1) } as const;
  await assert.rejects(
    store.write('alice', 'docs', [upsert([2, [0, 1]]), { kind: 'delete', which: { ids: [1] } }, update]),
    fails('not-found', /No point with id 5/),
  );
  assert.deepEqual(
    (
      await store.scroll('alice', 'docs', {
        filter: null,
        limit: 9,
        offset: null,
        orderBy: null,
        want: { payload: false, vector: false },
      })
    ).points,
    [{ id: 1 }],
  );
});

test('everything is there after a restart, and freed slots are used again', async (t) => {
  const opened = temporaryStore(t);
  await opened.store.create(alice, spec('docs', 2, { distance: 'Dot' }));
  for (const id of [1, 2, 3, 4]) await opened.store.write('alice', 'docs', [upsert([id, [id, id]])]);
  await opened.store.write('alice', 'docs', [{ kind: 'delete', which: { ids: [2, 3] } }]);
  const store = await opened.reopen();
  assert.equal(await store.write('alice', 'docs', [upsert([5, [5, 5]], [6, [6, 6]], [7, [7, 7]])]), 6);
  const [hits] = await store.query('alice', 'docs', [near([1, 0])]);
  assert.deepEqual(
    hits!.map(({ id }) => id),
    [7, 6, 5, 4, 1],
  );
});

test('calls that wait together share one commit, and a bad one spoils no other', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  const before = store.commits();
  const bad = { kind: 'update-vectors', ids: [99], vectors: Float32Array.of(1, 1) } as const;
  const calls = Array.from({ length: 20 }, (_, i) =>
    store.write('alice', 'docs', [upsert([i, [i, 1]]), ...(i === 7 ? [bad] : [])]),
  );
  const ends = await Promise.allSettled(calls);
  assert.equal(store.commits() - before, 1);
  assert.deepEqual(ends.map(({ status }) => status).indexOf('rejected'), 7);
  assert.equal(await store.count('alice', 'docs', null), 19);
});

test('a change of vectors of another size is refused, and leaves them as they were', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await store.write('alice', 'docs', [upsert([1, [1, 0]], [2, [0, 1]])]);
  const wrong = { kind: 'update-vectors', ids: [1, 2], vectors: Float32Array.of(0, 1, 0, 1, 0, 1) } as const;
  await assert.rejects(
    store.write('alice', 'docs', [wrong]),
    fails('invalid-request', /expected 2 numbers a vector, got 3/),
  );
  const [hits] = await store.query('alice', 'docs', [near([1, 0])]);
  assert.equal(hits![0]!.id, 1);
});

test('a file of another layout is refused with what to do, to callers and in the log', async (t) => {
  const made = temporaryStore(t);
  await made.store.create(alice, spec('docs'));
  await made.store.close();
  const file = new DatabaseSync(join(made.dataDir, 'vectors', `shard-${shardOf('alice')}.db`));
  file.exec('UPDATE shard SET count = 16');
  file.close();
  const store = await made.reopen();
  const words = /is shard \d of 16, not \d of 8\. Put the files back as they were/;
  await assert.rejects(store.list('alice'), fails('overloaded', words));
  assert.equal(made.logged.length, 1);
  assert.match(made.logged[0]!, words);
});
