import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewStoreFile, StoreRow, VectorStoreRows } from '../../src/books/metering/vector-store-rows.ts';
import { drivers } from './drivers.ts';

const bytes = (text: string) => Buffer.from(text);
const bounds = { filesMax: 10, waitingMax: 20 };
const page = { from: null, order: 'asc', limit: 10 } as const;

function store(id: string, tenant = 'dev/test', expiresMs: number | null = null): StoreRow {
  return { id, tenant, account: 'dev', keyId: 'key', createdMs: 10, activeMs: 10, expiresMs, facts: bytes('facts') };
}

function file(id: string, name = `file-of-${id}`, of: Partial<NewStoreFile> = {}): NewStoreFile {
  const own = { id, store: 'vs_1', tenant: 'dev/test', keyId: 'key', file: name, batch: null, createdMs: 10 };
  return { ...own, facts: bytes('facts'), ...of };
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

for (const driver of drivers) {
  const told = (name: string, run: (rows: VectorStoreRows) => Promise<void>) =>
    test(`${driver.name}: ${name}`, { skip: driver.skip }, async () => {
      const under = await driver.create();
      try {
        await run(await under.vectorStores());
      } finally {
        await under.remove();
      }
    });

  told('stores are their tenant’s, listed on both sides of an id, and no more than allowed', async (rows) => {
    for (const id of ['vs_1', 'vs_2', 'vs_3']) assert.equal(await rows.createStore(store(id), 3), 'created');
    assert.equal(await rows.createStore(store('vs_4'), 3), 'full');
    assert.equal(await rows.createStore(store('vs_5', 'dev/other'), 3), 'created');
    assert.equal(await rows.findStore('dev/other', 'vs_1'), null);
    assert.deepEqual(idsOf(await rows.listStores('dev/test', { ...page, order: 'desc', limit: 2 })), ['vs_3', 'vs_2']);
    const sides = async (side: 'after' | 'before', order: 'asc' | 'desc') =>
      idsOf(await rows.listStores('dev/test', { from: { id: 'vs_2', side }, order, limit: 1 }));
    assert.deepEqual([await sides('after', 'asc'), await sides('after', 'desc')], [['vs_3'], ['vs_1']]);
    assert.deepEqual([await sides('before', 'asc'), await sides('before', 'desc')], [['vs_1'], ['vs_3']]);
    await rows.changeStore({ ...store('vs_1'), facts: bytes('changed'), expiresMs: 50 });
    await rows.touchStore({ ...store('vs_2'), activeMs: 20, expiresMs: 60 });
    const [one, two] = [await rows.findStore('dev/test', 'vs_1'), await rows.findStore('dev/test', 'vs_2')];
    assert.deepEqual([Buffer.from(one!.facts).toString(), one!.expiresMs], ['changed', 50]);
    assert.deepEqual([two!.activeMs, two!.expiresMs], [20, 60]);
    assert.deepEqual(idsOf(await rows.expiredStores(50, 10)), ['vs_1']);
    await rows.emptyStore('vs_1');
    assert.deepEqual(await rows.expiredStores(50, 10), []);
    assert.equal(await rows.removeStore('dev/other', 'vs_1'), false);
    assert.equal(await rows.removeStore('dev/test', 'vs_1'), true);
    assert.equal(await rows.findStore('dev/test', 'vs_1'), null);
  });

  told('calls at once are one after another: a file is attached by each, and bounds hold', async (rows) => {
    for (const round of [1, 2, 3, 4, 5]) {
      const tenant = `dev/test${round}`;
      const ids = ['a', 'b', 'c', 'd'].map((letter) => `${letter}${round}`);
      const made = await Promise.all(ids.map((id) => rows.createStore(store(id, tenant), 3)));
      assert.deepEqual(made.toSorted(), ['created', 'created', 'created', 'full']);
      const of = { store: `a${round}`, tenant };
      const same = await Promise.all(ids.map((id) => rows.attach([file(id, 'file-same', of)], null, bounds)));
      assert.deepEqual(same, ['attached', 'attached', 'attached', 'attached']);
      const few = { ...bounds, filesMax: 3 };
      const others = await Promise.all(ids.map((id) => rows.attach([file(`o${id}`, `file-${id}`, of)], null, few)));
      assert.deepEqual(others.toSorted(), ['attached', 'attached', 'store-full', 'store-full']);
    }
  });

  told('files are counted by state, replaced by name, and bounded', async (rows) => {
    await rows.createStore(store('vs_1'), 3);
    const batch = { id: 'vsfb_1', store: 'vs_1', createdMs: 5, cancelledMs: null };
    const both = ['a', 'b'].map((id) => file(id, undefined, { batch: 'vsfb_1' }));
    assert.equal(await rows.attach(both, batch, bounds), 'attached');
    assert.equal(await rows.attach([file('c', 'file-of-a')], null, bounds), 'attached');
    const all = { store: 'vs_1', batch: null, status: null };
    assert.deepEqual(idsOf(await rows.listFiles(all, page)), ['b', 'c']);
    assert.deepEqual(idsOf(await rows.listFiles({ ...all, batch: 'vsfb_1', status: 'in_progress' }, page)), ['b']);
    assert.equal((await rows.findFile('vs_1', 'file-of-a'))!.id, 'c');
    assert.equal(await rows.attach([file('d')], null, { ...bounds, filesMax: 2 }), 'store-full');
    assert.equal(await rows.attach([file('d')], null, { ...bounds, waitingMax: 2 }), 'too-many-waiting');
    const [leased] = await rows.lease('w', 100, 200, 1);
    const end = { status: 'completed', bytes: 7, facts: bytes('read'), seen: bytes('facts') } as const;
    assert.equal(await rows.finishFile({ id: leased!.id, worker: 'other' }, end), false);
    const late = { ...end, seen: bytes('of another') };
    assert.equal(await rows.finishFile({ id: leased!.id, worker: 'w' }, late), false);
    assert.equal(await rows.finishFile({ id: leased!.id, worker: 'w' }, end), true);
    assert.equal(await rows.renew({ id: leased!.id, worker: 'w' }, 300), false);
    const counts = (await rows.counts('store', ['vs_1', 'vs_none'])).get('vs_1')!;
    assert.deepEqual([counts.completed, counts.in_progress, counts.bytes], [1, 1, 7]);
    await rows.cancelBatch('vsfb_1', 9);
    assert.equal((await rows.findBatch('vs_1', 'vsfb_1'))!.cancelledMs, 9);
    assert.equal(await rows.findBatch('vs_2', 'vsfb_1'), null);
    assert.equal(await rows.changeFile({ id: 'c', facts: bytes('new') }, bytes('facts')), true);
    assert.equal(await rows.changeFile({ id: 'c', facts: bytes('late') }, bytes('facts')), false);
    assert.equal(Buffer.from((await rows.findFile('vs_1', 'file-of-a'))!.facts).toString(), 'new');
    const removed = { id: 'c', store: 'vs_1', file: 'file-of-a' };
    assert.equal(await rows.findPlace('vs_1', 'file-of-a'), 'c');
    await rows.removeFile(removed, 1_000);
    assert.equal(await rows.findFile('vs_1', 'file-of-a'), null);
    const places = async () => [await rows.findPlace('vs_1', 'file-of-a'), await rows.findPlace('vs_2', 'file-of-a')];
    assert.deepEqual(await places(), ['c', null], 'a list may go on there');
    await rows.forgetPlaces(1_000);
    assert.deepEqual(await places(), ['c', null]);
    await rows.attach([file('e', 'file-of-a')], null, bounds);
    assert.deepEqual(await places(), ['e', null], 'where it is again');
    await rows.removeFile({ ...removed, id: 'e' }, 2_000);
    assert.deepEqual(await places(), ['e', null]);
    await rows.forgetPlaces(2_001);
    assert.deepEqual(await places(), [null, null]);
    await rows.attach([file('f', 'file-of-a')], null, bounds);
    await rows.removeFile({ ...removed, id: 'f' }, 3_000);
    await rows.removeStore('dev/test', 'vs_1');
    assert.deepEqual(await places(), [null, null], 'with its store');
  });

  told('files are leased round the tenants, each by one worker until its lease is over', async (rows) => {
    const many = Array.from({ length: 8 }, (_, at) => file(`a${at}`));
    await rows.attach(many, null, bounds);
    await rows.attach([file('z', undefined, { store: 'vs_2', tenant: 'dev/other' })], null, bounds);
    assert.deepEqual(idsOf(await rows.lease('one', 100, 200, 2)).toSorted(), ['a0', 'z']);
    assert.deepEqual(idsOf(await rows.lease('two', 100, 200, 9)).toSorted(), ['a1', 'a2', 'a3', 'a4', 'a5']);
    assert.deepEqual(await rows.lease('three', 100, 200, 9), [], 'a tenant has at most six');
    assert.equal(await rows.renew({ id: 'a0', worker: 'one' }, 500), true);
    assert.ok(!idsOf(await rows.lease('three', 300, 400, 9)).includes('a0'));
    await rows.release({ allBut: 'four' });
    assert.equal((await rows.lease('four', 300, 400, 1)).length, 1);
  });

  told('of many tenants each has its turn before one has a second, the oldest files first', async (rows) => {
    const of = (tenant: string, ids: readonly string[]) =>
      rows.attach(
        ids.map((id) => file(id, undefined, { store: `vs_${tenant}`, tenant })),
        null,
        bounds,
      );
    await of('t1', ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7']);
    await of('t2', ['c0']);
    await of('t3', ['a0', 'd0', 'd1']);
    const lease = async (limit: number, nowMs = 100) => idsOf(await rows.lease('w', nowMs, 200, limit)).toSorted();
    assert.deepEqual(await lease(1), ['a0']);
    assert.deepEqual(await lease(1), ['b0'], 'its tenant has none leased');
    assert.deepEqual(await lease(3), ['b1', 'c0', 'd0']);
    assert.deepEqual(await lease(9), ['b2', 'b3', 'b4', 'b5', 'd1']);
    assert.deepEqual(await lease(9), []);
    assert.deepEqual(await lease(3, 300), ['a0', 'b0', 'c0'], 'their leases are over');
  });
}
