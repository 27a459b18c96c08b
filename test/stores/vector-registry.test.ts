import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { RegisteredCollection } from '../../src/vectors/registry.ts';
import { drivers } from './drivers.ts';

const nowMs = 1_750_000_000_000;

function row(name: string, given: Partial<RegisteredCollection> = {}): RegisteredCollection {
  return {
    generation: randomUUID(),
    tenant: 'acme/laptop',
    account: 'acme',
    name,
    size: 4,
    distance: 'Cosine',
    embeddingModel: null,
    ...given,
  };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a collection is found by name, by its tenant alone, and listed by name`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const [notes, docs] = [row('notes', { embeddingModel: 'emb' }), row('docs', { distance: 'Dot', size: 8 })];
    for (const one of [notes, docs, row('Docs')]) assert.equal(await registry.create(one, 10), 'created');
    assert.equal(await registry.create(row('docs'), 10), 'exists');
    assert.deepEqual(await registry.find('acme/laptop', 'notes'), notes);
    assert.equal(await registry.find('acme/phone', 'notes'), null);
    assert.equal(await registry.find('acme/laptop', 'note'), null);
    assert.deepEqual(
      (await registry.list('acme/laptop')).map(({ name }) => name),
      ['Docs', 'docs', 'notes'],
    );
    assert.deepEqual(await registry.list('acme/phone'), []);
    assert.equal(await registry.create(row('docs', { tenant: 'acme/phone' }), 10), 'created', 'another tenant');
    await registry.close();
  });

  test(`${driver.name}: an account never has more collections than its limit, over all its keys and at once`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const processes = await Promise.all([1, 2].map(() => store.vectorRegistry()));
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        processes[at % 2]!.create(row(`c${at}`, { tenant: `acme/key-${at % 3}` }), 5),
      ),
    );
    assert.equal(made.filter((one) => one === 'created').length, 5);
    assert.equal(made.filter((one) => one === 'full').length, 3);
    assert.equal(await processes[0]!.create(row('c0', { account: 'other', tenant: 'other/key' }), 5), 'created');
    for (const one of processes) await one.close();
  });

  test(`${driver.name}: a dropped collection takes aliases and payload indexes along and leaves a deletion`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const first = row('docs', { size: 8, distance: 'Euclid' });
    await registry.create(first, 10);
    await registry.index(first.generation, { key: 'a.b', type: 'keyword' }, 10);
    await registry.changeAliases(first.tenant, [{ kind: 'create', alias: 'live', collection: 'docs' }], 10);
    const deletion = { generation: first.generation, size: 8, distance: 'Euclid', droppedMs: nowMs, tries: 0 };
    assert.equal(await registry.drop('acme/phone', 'docs', nowMs), null, "another tenant's");
    assert.equal(await registry.drop(first.tenant, 'live', nowMs), null, 'an alias');
    assert.deepEqual(await registry.drop(first.tenant, 'docs', nowMs), deletion);
    assert.equal(await registry.drop(first.tenant, 'docs', nowMs), null);
    assert.deepEqual(await registry.aliases(first.tenant, null), []);
    const second = row('docs');
    assert.equal(await registry.create(second, 10), 'created');
    assert.deepEqual(await registry.indexes(second.generation), []);
    assert.deepEqual(await registry.dueDeletions(nowMs, nowMs + 1, 10), [deletion]);
    await registry.close();
  });

  test(`${driver.name}: payload indexes are kept by key, changed, removed, and bounded`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const docs = row('docs');
    await registry.create(docs, 10);
    assert.equal(await registry.index(docs.generation, { key: 'b', type: 'integer' }, 2), 'done');
    assert.equal(await registry.index(docs.generation, { key: 'a', type: 'keyword' }, 2), 'done');
    assert.equal(await registry.index(docs.generation, { key: 'c', type: 'keyword' }, 2), 'full');
    const text = { key: 'a', type: 'text', params: { type: 'text', on_disk: true } } as const;
    assert.equal(await registry.index(docs.generation, text, 2), 'done', 'no further one');
    assert.deepEqual(await registry.indexes(docs.generation), [text, { key: 'b', type: 'integer' }]);
    assert.equal(await registry.forgetIndex(docs.generation, 'b'), undefined);
    assert.equal(await registry.forgetIndex(docs.generation, 'b'), undefined);
    assert.equal(await registry.index(docs.generation, { key: 'a', type: 'text' }, 2), 'done');
    assert.deepEqual(await registry.indexes(docs.generation), [{ key: 'a', type: 'text' }]);
    assert.equal(
      await registry.index(randomUUID(), { key: 'a', type: 'text' }, 2),
      'done',
      'a collection that has just gone',
    );
    await registry.close();
  });

  test(`${driver.name}: settings are kept with a collection, and changed by whoever knows them`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [registry, other] = await Promise.all([store.vectorRegistry(), store.vectorRegistry()]);
    const docs = row('docs', { settings: { metadata: { team: 'search', 2: [null], 1: 'é' } } });
    await registry.create(docs, 10);
    const found = async () => (await other.find(docs.tenant, 'docs'))!.settings;
    assert.deepEqual(await found(), docs.settings);
    const after = { on_disk_payload: true };
    assert.equal(await other.configure(docs.generation, { metadata: {} }, after), 'changed');
    assert.equal(await other.configure(docs.generation, undefined, after), 'changed');
    assert.equal(await other.configure(docs.generation, await found(), after), 'done');
    assert.equal(await registry.configure(docs.generation, docs.settings, {}), 'changed', 'another was quicker');
    assert.deepEqual(await found(), after);
    assert.equal(await registry.configure(docs.generation, after, undefined), 'done');
    assert.equal(await found(), undefined);
    assert.equal(await registry.configure(docs.generation, undefined, after), 'done');
    assert.equal(await registry.configure(randomUUID(), undefined, after), 'changed', 'it has gone');
    await Promise.all([registry.close(), other.close()]);
  });

  test(`${driver.name}: aliases change all or none, and no name means two collections`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const tenant = 'acme/laptop';
    const [one, two] = [row('one'), row('two')];
    await registry.create(one, 10);
    await registry.create(two, 10);
    const change = registry.changeAliases;
    const live = { kind: 'create', alias: 'live', collection: 'one' } as const;
    assert.deepEqual(await change(tenant, [live, { ...live, alias: 'old' }], 2), { kind: 'done' });
    assert.deepEqual(await registry.find(tenant, 'live'), one);
    assert.equal(await registry.find('acme/phone', 'live'), null);
    assert.equal(await registry.create(row('live'), 10), 'exists');

    const swap = { kind: 'create', alias: 'live', collection: 'two' } as const;
    const refused = [
      [
        { ...live, collection: 'three' },
        { kind: 'no-collection', name: 'three' },
      ],
      [
        { ...live, alias: 'two' },
        { kind: 'is-collection', name: 'two' },
      ],
      [
        { kind: 'rename', from: 'none', to: 'any' },
        { kind: 'no-alias', name: 'none' },
      ],
      [
        { kind: 'rename', from: 'old', to: 'two' },
        { kind: 'is-collection', name: 'two' },
      ],
      [{ ...live, alias: 'third' }, { kind: 'full' }],
    ] as const;
    for (const [bad, expected] of refused) assert.deepEqual(await change(tenant, [swap, bad], 2), expected);
    assert.deepEqual(await registry.find(tenant, 'live'), one, 'none was made');

    const swapped = await change(
      tenant,
      [swap, { kind: 'rename', from: 'old', to: 'older' }, { kind: 'delete', alias: 'never was' }],
      2,
    );
    assert.deepEqual(swapped, { kind: 'done' });
    assert.deepEqual(await registry.aliases(tenant, null), [
      { alias: 'live', collection: 'two' },
      { alias: 'older', collection: 'one' },
    ]);
    assert.deepEqual(await registry.aliases(tenant, 'two'), [{ alias: 'live', collection: 'two' }]);
    assert.deepEqual(await registry.aliases(tenant, 'none'), []);
    assert.deepEqual(await registry.aliases('acme/phone', null), []);
    await registry.close();
  });

  test(`${driver.name}: all of a tenant's goes to another, or nothing where a name is taken`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const [docs, notes] = [row('docs'), row('notes')];
    await registry.create(docs, 10);
    await registry.create(notes, 10);
    await registry.changeAliases(docs.tenant, [{ kind: 'create', alias: 'live', collection: 'docs' }], 10);
    const to = { tenant: 'beta/key', account: 'beta' };
    await registry.create(row('live', to), 10);
    assert.deepEqual(await registry.adopt(docs.tenant, to), { kind: 'exists', name: 'live' });
    assert.equal((await registry.list(docs.tenant)).length, 2);
    await registry.drop(to.tenant, 'live', nowMs);
    assert.deepEqual(await registry.adopt(docs.tenant, to), { kind: 'done', collections: 2 });
    assert.deepEqual(await registry.find(to.tenant, 'live'), { ...docs, ...to });
    assert.deepEqual(await registry.list(docs.tenant), []);
    assert.deepEqual(await registry.adopt('nobody', to), { kind: 'done', collections: 0 });
    await registry.close();
  });

  test(`${driver.name}: the operator sees all tenants' collections page by page, and purges one's`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const registry = await store.vectorRegistry();
    const rows = ['a/1', 'a/2', 'b/1', 'b/1'].map((tenant, at) => row(`c${at}`, { tenant }));
    for (const one of rows) await registry.create(one, 10);
    const inOrder = rows.toSorted((a, b) => (a.generation < b.generation ? -1 : 1));
    const first = await registry.all(null, 3);
    assert.deepEqual(first, inOrder.slice(0, 3));
    assert.deepEqual(await registry.all(first.at(-1)!.generation, 3), inOrder.slice(3));
    const purged = await registry.purge('b/1', nowMs);
    assert.deepEqual(
      purged.map(({ generation }) => generation).sort(),
      [rows[2]!, rows[3]!].map((one) => one.generation).sort(),
    );
    assert.deepEqual(await registry.purge('b/1', nowMs), []);
    assert.equal((await registry.all(null, 10)).length, 2);
    assert.equal((await registry.dueDeletions(nowMs, nowMs + 1, 10)).length, 2);
    await registry.close();
  });

  test(`${driver.name}: a deletion is one asker's until its lease ends, is tried again later, and is done once`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [one, other] = [await store.vectorRegistry(), await store.vectorRegistry()];
    const rows = [1, 2, 3].map((at) => row(`c${at}`));
    for (const [at, made] of rows.entries()) {
      await one.create(made, 10);
      await one.drop(made.tenant, made.name, nowMs + at);
    }
    const generations = rows.map(({ generation }) => generation);
    const due = async (registry: typeof one, atMs: number, limit: number) =>
      (await registry.dueDeletions(atMs, atMs + 100, limit)).map(({ generation }) => generation);
    assert.deepEqual(await due(one, nowMs - 1, 10), [], 'not before its time');
    assert.deepEqual(await due(one, nowMs + 5, 2), generations.slice(0, 2));
    assert.deepEqual(await due(other, nowMs + 6, 10), generations.slice(2));
    assert.deepEqual(await due(other, nowMs + 104, 10), []);
    await one.deleted(generations[0]!);
    await one.deleteLater(generations[1]!, 3, nowMs + 900);
    assert.deepEqual(await due(one, nowMs + 899, 10), generations.slice(2));
    const [again] = await other.dueDeletions(nowMs + 900, nowMs + 901, 10);
    assert.deepEqual([again?.generation, again?.tries], [generations[1], 3]);
    await one.close();
    await other.close();
  });
}
