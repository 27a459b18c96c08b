import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Target } from '../../src/vectors/vector-store.ts';
import { vectorDrivers } from './vector-drivers.ts';
import { filled, owner, points, spec, tenant, uuids } from './vector-points.ts';
import { everything, idsOnly, query, refusal, scrolledIds, sorted, upsert, where } from './vector-suite.ts';

for (const driver of vectorDrivers) {
  const { name } = driver;

  test(`${name}: a collection is made once, found, listed and inspected by its tenant alone`, async (t) => {
    const store = await driver.open(t);
    const other = { name: 'Notes.2', size: 3, distance: 'Cosine', embeddingModel: 'emb' } as const;
    await store.create(owner, spec);
    await store.create(owner, other);
    assert.equal(await refusal(store.create(owner, { ...spec, size: 8 })), 'conflict');
    assert.deepEqual(await store.find(tenant, 'docs'), spec);
    assert.deepEqual(await store.list(tenant), [other, spec]);
    assert.deepEqual(await store.inspect(tenant, 'docs'), { ...spec, points: 0, indexed: 0, payloadSchema: {} });
    assert.equal(await store.find('acme/phone', 'docs'), null);
    assert.deepEqual(await store.list('acme/phone'), []);
    assert.equal(await refusal(store.inspect('acme/phone', 'docs')), 'not-found');
    assert.equal(await store.drop('acme/phone', 'docs'), false);
    assert.equal(await store.drop(tenant, 'docs'), true);
    assert.equal(await store.drop(tenant, 'docs'), false);
    assert.equal(await store.find(tenant, 'docs'), null);
  });

  test(`${name}: an alias stands for its collection everywhere, and is moved in one step`, async (t) => {
    const store = await filled(await driver.open(t), points.slice(0, 3));
    await store.create(owner, { ...spec, name: 'docs-2' });
    const live = { kind: 'create', alias: 'live', collection: 'docs' } as const;
    await store.changeAliases(tenant, [live]);
    assert.equal((await store.find(tenant, 'live'))?.name, 'docs');
    assert.equal(await store.count(tenant, 'live', null), 3);
    assert.equal(await store.find('acme/phone', 'live'), null);
    for (const [bad, kind] of [
      [{ ...live, alias: 'x', collection: 'none' }, 'not-found'],
      [{ ...live, alias: 'docs-2' }, 'conflict'],
      [{ kind: 'rename', from: 'none', to: 'x' }, 'not-found'],
    ] as const) {
      const moved = { ...live, collection: 'docs-2' };
      assert.equal(await refusal(store.changeAliases(tenant, [moved, bad])), kind);
    }
    assert.equal(await store.count(tenant, 'live', null), 3, 'all or none');
    await store.changeAliases(tenant, [
      { ...live, collection: 'docs-2' },
      { ...live, alias: 'old' },
    ]);
    assert.equal(await store.count(tenant, 'live', null), 0);
    assert.deepEqual(await store.aliases(tenant, null), [
      { alias: 'live', collection: 'docs-2' },
      { alias: 'old', collection: 'docs' },
    ]);
    assert.deepEqual(await store.aliases(tenant, 'docs'), [{ alias: 'old', collection: 'docs' }]);
    assert.equal(await refusal(store.aliases(tenant, 'none')), 'not-found');
    assert.equal(await refusal(store.create(owner, { ...spec, name: 'live' })), 'conflict');
    assert.equal(await store.drop(tenant, 'live'), false, 'an alias is no collection');
    await store.drop(tenant, 'docs');
    assert.deepEqual(await store.aliases(tenant, null), [{ alias: 'live', collection: 'docs-2' }]);
  });

  test(`${name}: payload indexes are shown with the points that have the key`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.indexPayload(tenant, 'docs', 'city', 'keyword');
    await store.indexPayload(tenant, 'docs', 'deep.on', 'bool');
    await store.indexPayload(tenant, 'docs', 'n', 'integer');
    await store.indexPayload(tenant, 'docs', 'n', null);
    await store.indexPayload(tenant, 'docs', 'n', null);
    const withPayload = points.filter(({ payload }) => payload !== null).length;
    assert.deepEqual((await store.inspect(tenant, 'docs')).payloadSchema, {
      city: { type: 'keyword', points: withPayload },
      'deep.on': { type: 'bool', points: withPayload },
    });
  });

  test(`${name}: a key has 1,000 aliases at the most, a collection 100 payload indexes, and both say so`, async (t) => {
    const store = await filled(await driver.open(t));
    const add = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => ({
        kind: 'create' as const,
        alias: `a${from + at}`,
        collection: 'docs',
      }));
    await store.changeAliases(tenant, add(0, 1_000));
    await store.changeAliases(tenant, add(0, 1));
    assert.equal(await refusal(store.changeAliases(tenant, add(1_000, 1_001))), 'invalid-request');
    await store.changeAliases(tenant, [{ kind: 'delete', alias: 'a7' }, ...add(1_000, 1_001)]);
    assert.equal((await store.aliases(tenant, null)).length, 1_000);
    for (let at = 0; at < 100; at++) await store.indexPayload(tenant, 'docs', `k${at}`, 'keyword');
    await store.indexPayload(tenant, 'docs', 'k0', 'integer');
    assert.equal(await refusal(store.indexPayload(tenant, 'docs', 'k100', 'keyword')), 'invalid-request');
    assert.equal(Object.keys((await store.inspect(tenant, 'docs')).payloadSchema).length, 100);
  });

  test(`${name}: a collection that is made again is empty`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.drop(tenant, 'docs');
    await store.create(owner, spec);
    assert.equal(await store.count(tenant, 'docs', null), 0);
    assert.deepEqual(await store.retrieve(tenant, 'docs', [3, uuids[0]], idsOnly), []);
    await store.write(tenant, 'docs', [upsert(points.slice(3, 4))]);
    const [found] = await store.query(tenant, 'docs', [query([1, 0, 0, 0])]);
    assert.deepEqual(
      found?.map(({ id }) => id),
      [3],
    );
  });

  test(`${name}: tenants with the same names and ids never see or change each other's points`, async (t) => {
    const store = await filled(await driver.open(t));
    const other = { tenant: 'beta/key', account: 'beta' };
    await store.create(other, spec);
    await store.write(other.tenant, 'docs', [upsert([{ ...points[3]!, payload: { whose: 'other' } }])]);
    assert.equal(await store.count(tenant, 'docs', null), points.length);
    assert.deepEqual((await store.retrieve(tenant, 'docs', [3], everything))[0]?.payload, points[3]!.payload);
    await store.write(other.tenant, 'docs', [{ kind: 'delete', which: { filter: where({}) } }]);
    await store.write(other.tenant, 'docs', [{ kind: 'delete', which: { ids: points.map(({ id }) => id) } }]);
    assert.equal(await store.count(tenant, 'docs', null), points.length);
    const [found] = await store.query(other.tenant, 'docs', [query([1, 0, 0, 0])]);
    assert.deepEqual(found, []);
    const byPoint: Target = { kind: 'nearest', vector: { id: 3 }, mmr: null };
    assert.equal(await refusal(store.query(other.tenant, 'docs', [query([], { target: byPoint })])), 'not-found');
  });

  test(`${name}: the operator sees tenants, moves all of one's to another, and purges`, async (t) => {
    const store = await filled(await driver.open(t));
    const [from, to] = driver.tenants;
    const beta = { tenant: to, account: 'beta' };
    await store.changeAliases(from, [{ kind: 'create', alias: 'live', collection: 'docs' }]);
    await store.create(beta, { ...spec, name: 'docs' });
    assert.deepEqual(await store.tenants(), [
      { ...owner, collections: 1, points: points.length },
      { ...beta, collections: 1, points: 0 },
    ]);
    assert.equal(await refusal(store.adopt(from, beta)), 'conflict');
    assert.equal(await store.count(from, 'docs', null), points.length, 'nothing was moved');
    await store.drop(to, 'docs');
    assert.deepEqual(await store.adopt(from, beta), { collections: 1 });
    assert.deepEqual(await store.list(from), []);
    assert.equal(await store.count(to, 'live', null), points.length);
    assert.deepEqual(sorted(await scrolledIds(store, to, 'docs', 11)), sorted(points.map(({ id }) => id)));
    assert.deepEqual(await store.purge(to), { collections: 1 });
    assert.deepEqual(await store.purge(to), { collections: 0 });
    assert.deepEqual(await store.list(to), []);
    assert.deepEqual(await store.tenants(), []);
  });
}
