import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shardOf } from '../../src/vectors/embedded/shards/shard-of.ts';
import { everything, upsert } from '../stores/vector-suite.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const config = {
  accounts: { acme: {}, beta: {} },
  keys: [
    { key: 'sk-cv-declared-laptop', account: 'acme', name: 'laptop' },
    { key: 'sk-cv-declared-phone', account: 'beta', name: 'phone' },
  ],
};
const owner = { tenant: 'acme/laptop', account: 'acme' };
const spec = { name: 'docs', size: 2, distance: 'Dot', embeddingModel: null } as const;
const uuid = '5c56c793-69f3-4fbf-87e6-c4bf54c28c26';

/** Three points in one collection, with a payload index and an alias; another one is empty. */
async function fill({ vectors }: OpenAdmin, who = owner): Promise<void> {
  const store = vectors();
  await store.create(who, spec);
  await store.create(who, { name: 'texts', size: 3, distance: 'Cosine', embeddingModel: 'emb' });
  await store.indexPayload(who.tenant, 'docs', 'city', 'keyword');
  await store.changeAliases(who.tenant, [{ kind: 'create', alias: 'live', collection: 'docs' }]);
  await store.write(who.tenant, 'docs', [
    upsert([
      { id: 7, vector: [0.1, -2.5], payload: { city: 'Rome', deep: [{ a: null }] } },
      { id: uuid, vector: [1e-12, 3], payload: null },
      { id: 9_007_199_254_740_991, vector: [0, 0], payload: {} },
    ]),
  ]);
}

const exported = [
  { culvert_vectors: 1, tenant: 'acme/laptop' },
  {
    collection: {
      name: 'docs',
      vector_size: 2,
      distance: 'Dot',
      embedding_model: null,
      payload_indexes: { city: 'keyword' },
      aliases: ['live'],
    },
  },
  { id: 7, vector: [0.1, -2.5], payload: { city: 'Rome', deep: [{ a: null }] } },
  { id: 9_007_199_254_740_991, vector: [0, 0], payload: {} },
  { id: uuid, vector: [1e-12, 3], payload: null },
  {
    collection: {
      name: 'texts',
      vector_size: 3,
      distance: 'Cosine',
      embedding_model: 'emb',
      payload_indexes: {},
      aliases: [],
    },
  },
  { end: { collections: 2, points: 3 } },
];

test('the operator sees who has vectors, and whom no key reaches any more', async (t) => {
  const admin = await openAdmin(t, config);
  assert.deepEqual((await admin.ok('GET', '/vectors/tenants')).data, []);
  await fill(admin);
  await fill(admin, { tenant: 'acme/lost', account: 'acme' });
  const { data, next_cursor: next } = await admin.ok('GET', '/vectors/tenants?limit=1');
  assert.deepEqual(data, [{ ...owner, collections: 2, points: 3, keys: 1 }]);
  const rest = await admin.ok('GET', `/vectors/tenants?limit=1&cursor=${next}`);
  assert.deepEqual(rest.data, [{ tenant: 'acme/lost', account: 'acme', collections: 2, points: 3, keys: 0 }]);
});

test('an export has every collection with its points, each number as it was written', async (t) => {
  const admin = await openAdmin(t, config);
  await fill(admin);
  const { text } = await admin.call('GET', '/vectors/export.jsonl?tenant=acme%2Flaptop');
  const lines = text.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    exported,
  );
  const [status, , message] = await admin.refused('GET', '/vectors/export.jsonl?tenant=nobody');
  assert.deepEqual([status, message.includes("'nobody' has no collections")], [404, true]);
});

test('what was exported is imported for another tenant with all ids, however often', async (t) => {
  const admin = await openAdmin(t, config);
  const tenant = 'beta/phone';
  const points = exported.filter((line) => 'id' in line);
  for (let round = 0; round < 2; round += 1) {
    for (const line of exported) {
      if (line.collection === undefined) continue;
      await admin.ok('POST', '/vectors/collections', { tenant, collection: line.collection });
    }
    await admin.ok('POST', '/vectors/points', { tenant, collection: 'docs', points });
  }
  const store = admin.vectors();
  assert.deepEqual((await store.tenants())[0], { tenant, account: 'beta', collections: 2, points: 3 });
  const found = await store.retrieve(tenant, 'live', [7, uuid], everything);
  assert.deepEqual(
    found.map(({ id, payload, vector }) => ({ id, payload, vector: [...(vector ?? [])].map(Math.fround) })),
    [points[0]!, points[2]!].map((point) => ({ ...point, vector: point.vector?.map(Math.fround) })),
  );
  assert.deepEqual((await store.inspect(tenant, 'docs')).payloadSchema, { city: { type: 'keyword', points: 1 } });
});

test('an import that does not fit is refused and says where, with nothing written', async (t) => {
  const admin = await openAdmin(t, config);
  const tenant = 'acme/laptop';
  const { collection } = exported[1]!;
  await admin.ok('POST', '/vectors/collections', { tenant, collection });
  const title = { kind: 'dense', size: 3, distance: 'Dot', embeddingModel: null };
  const withTitle = { ...collection, name: 'titled', aliases: [], named_vectors: { title } };
  await admin.ok('POST', '/vectors/collections', { tenant, collection: withTitle });
  const titled = (value: unknown) => ({ collection: 'titled', points: [{ ...point, vectors: { title: value } }] });
  const point = { id: 1, vector: [1, 2], payload: null };
  const refusals = [
    [{ points: [point, { ...point, vector: [1] }] }, 400, /^points\[1\]\.vector: expected 2 numbers, got 1/],
    [{ points: [{ ...point, id: 'x' }] }, 400, /^points\[0\]\.id: expected an unsigned integer/],
    [{ points: [point, { ...point, vector: [1, 1e39] }] }, 400, /^points\[1\]\.vector\[1\]: expected a number/],
    [titled(null), 400, /^points\[0\]\.vectors\.title: expected an array of 3 numbers, got null/],
    [titled([1, 2]), 400, /^points\[0\]\.vectors\.title: expected 3 numbers, got 2/],
    [{ points: [] }, 400, /^points: /],
    [{ collection: 'none', points: [point] }, 404, /'none' does not exist/],
  ] as const;
  for (const [given, status, message] of refusals) {
    const refused = await admin.refused('POST', '/vectors/points', { tenant, collection: 'docs', ...given });
    assert.equal(refused[0], status);
    assert.match(refused[2], message);
  }
  assert.equal(await admin.vectors().count(tenant, 'docs', null), 0);
  const other = { ...collection, vector_size: 3 };
  const conflict = await admin.refused('POST', '/vectors/collections', { tenant, collection: other });
  assert.deepEqual([conflict[0], conflict[2].includes('exists and differs: 2 numbers, Dot')], [409, true]);
  const nobody = await admin.refused('POST', '/vectors/collections', { tenant: 'acme/none', collection });
  assert.deepEqual(nobody.slice(0, 2), [400, 'tenant']);
});

test('all of a tenant is handed over to a key, or nothing of it, and the trail says who did it', async (t) => {
  const admin = await openAdmin(t, config);
  const lost = { tenant: neighbourOf(owner.tenant), account: 'acme' };
  await fill(admin, lost);
  const [from, to] = [lost.tenant, owner.tenant];
  assert.equal((await admin.refused('POST', '/vectors/adopt', { from, to: 'acme/none' }))[1], 'to');
  assert.equal((await admin.refused('POST', '/vectors/adopt', { from, to: from }))[1], 'to');
  assert.equal((await admin.refused('POST', '/vectors/adopt', { from: 'acme/none', to }))[0], 404);
  const store = admin.vectors();
  await store.create(owner, { ...spec, name: 'texts' });
  assert.equal((await admin.refused('POST', '/vectors/adopt', { from, to }))[0], 409);
  assert.deepEqual((await admin.ok('GET', '/audit')).data, [], 'what was refused is not in the trail');
  await store.drop(to, 'texts');
  await store.create(owner, { ...spec, name: 'mine' });
  await store.changeAliases(to, [{ kind: 'create', alias: 'live', collection: 'mine' }]);
  const taken = await admin.refused('POST', '/vectors/adopt', { from, to });
  assert.deepEqual([taken[0], taken[2]], [409, "A collection or an alias 'live' exists already."]);
  assert.deepEqual(await store.aliases(to, null), [{ alias: 'live', collection: 'mine' }], 'and leads where it did');
  await store.drop(to, 'mine');
  assert.deepEqual(await admin.ok('POST', '/vectors/adopt', { from, to }), { collections: 2 });
  assert.equal(await store.count(to, 'live', null), 3);
  const [row] = (await admin.ok('GET', '/audit')).data;
  assert.deepEqual(
    [row.action, row.subject, row.actor, row.before, row.after],
    ['vectors.adopt', from, 'test', { ...lost, collections: 2, points: 3 }, owner],
  );
});

test('a purge deletes all of one tenant and nothing of another, and is in the trail', async (t) => {
  const admin = await openAdmin(t, config);
  await fill(admin);
  await fill(admin, { tenant: 'beta/phone', account: 'beta' });
  assert.equal((await admin.refused('POST', '/vectors/purge', { tenant: 'nobody' }))[0], 404);
  assert.deepEqual(await admin.ok('POST', '/vectors/purge', { tenant: owner.tenant }), { collections: 2 });
  const tenants = (await admin.ok('GET', '/vectors/tenants')).data;
  assert.deepEqual(
    tenants.map(({ tenant }: { tenant: string }) => tenant),
    ['beta/phone'],
  );
  const [row] = (await admin.ok('GET', '/audit')).data;
  assert.deepEqual(
    [row.action, row.subject, row.before, row.after],
    ['vectors.purge', owner.tenant, { ...owner, collections: 2, points: 3 }, null],
  );
});

/** A tenant of the same shard: between shards it is the gateway's workers that copy. */
function neighbourOf(tenant: string): string {
  for (let at = 0; ; at += 1) if (shardOf(`acme/lost-${at}`) === shardOf(tenant)) return `acme/lost-${at}`;
}
