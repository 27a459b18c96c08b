// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import {
  alice,
  bob,
  near,
  spec,
  type TemporaryStore,
  temporaryStore,
  upsert,
} from '../../../test/fixtures/temporary-vector-store.ts';
import { vectorMaker } from '../../../test/memory-rows.ts';
import { callBounds } from './call-bounds.ts';
import type { EmbeddedStore } from './embedded-store.ts';
import { IndexMaking } from './index-making.ts';
import { shardOf } from './shards/shard-of.ts';

const size = 64;
const count = 8_000;

/** Each look at it takes longer than a slice: one step in each turn. */
function slowClock() {
  let nowMs = 0;
  return {
    monotonicMs() {
      nowMs += 20;
      return nowMs;
    },
  };
}

/** A collection whose index takes many steps, and a small one of somebody else. */
async function twoTenants(t: TestContext): Promise<{ made: TemporaryStore; next: () => number[] }> {
  const made = temporaryStore(t, {
    clock: slowClock(),
    imagesEveryMs: null,
    bounds: { ...callBounds, rowsMs: Number.POSITIVE_INFINITY },
  });
  const make = vectorMaker(size, { seed: 3, clusters: 40 });
  const next = () => [...make()];
  await made.store.create(alice, spec('large', size));
  for (let from = 0; from < count; from += 1_000) {
    const points = Array.from({ length: 1_000 }, (_, i): [number, number[]] => [from + i, next()]);
    await made.store.write('alice', 'large', [upsert(...points)]);
  }
  await made.store.create(bob, spec('small'));
  await made.store.write('bob', 'small', [upsert([1, [1, 0]])]);
  return { made, next };
}

const idsNear = async (store: EmbeddedStore, vector: number[], exact = false) =>
  (await store.query('alice', 'large', [near(vector, { exact })]))[0]!.map(({ id }) => Number(id));

test('another tenant is answered while a large collection is being indexed, and what is written meanwhile is found', async (t) => {
  const { made, next } = await twoTenants(t);
  const wanted = next();
  const nearest = await idsNear(made.store, wanted);
  const store = await made.reopen();
  const order: string[] = [];
  const searched = idsNear(store, wanted).finally(() => order.push('large'));
  const written = new Set<number>();
  for (let turn = 0; turn < 18; turn += 1) {
    await store.query('bob', 'small', [near([0, 1])]);
    order.push('small');
    // The last rows first, which are not read yet, and the first ones last, which are.
    const id = (17 - turn) * 440;
    const nearer = wanted.map((component, i) => component * (i === turn ? 1.01 : 1));
    const gone = nearest.filter((one, i) => i % 9 === turn % 9 && !written.has(one));
    await store.write('alice', 'large', [{ kind: 'delete', which: { ids: gone } }, upsert([id, nearer])]);
    written.add(id);
  }
  const found = await searched;
  assert.deepEqual(order, [...Array(18).fill('small'), 'large']);
  assert.ok(found.every((id) => written.has(id)));
  for (const vector of [wanted, next(), next(), next()]) {
    assert.deepEqual(await idsNear(store, vector), await idsNear(store, vector, true));
  }
});

test('a collection that is dropped while it is being indexed is not found, and its search ends', async (t) => {
  const { made, next } = await twoTenants(t);
  const store = await made.reopen();
  const searched = idsNear(store, next());
  await store.query('bob', 'small', [near([0, 1])]);
  const refused = assert.rejects(searched, ({ failure }) => failure.kind === 'not-found');
  assert.equal(await store.drop('alice', 'large'), true);
  await refused;
});

test('a row that is damaged is met in any step, and the collection refused', async (t) => {
  const { made, next } = await twoTenants(t);
  const vector = next();
  await made.store.close();
  const file = new DatabaseSync(`${made.dataDir}/vectors/shard-${shardOf('alice')}.db`);
  file.exec('UPDATE point SET vector = zeroblob(length(vector)) WHERE id = 7000');
  file.close();
  const store = await made.reopen();
  await assert.rejects(idsNear(store, vector), ({ failure }) => /'large' is damaged/.test(failure.message));
  assert.equal((await store.query('bob', 'small', [near([0, 1])]))[0]!.length, 1);
});

test('tenants take turns with the steps of their indexes, and of one tenant one is made after the other', async () => {
  const making = new IndexMaking(slowClock());
  const order: string[] = [];
  const run = (tenant: string, what: string, steps: number) =>
    making.run(tenant, what, () => ({
      step() {
        order.push(what);
        steps -= 1;
        return steps === 0 ? 'done' : 'more';
      },
      isOver: () => false,
      stop() {},
    }));
  await Promise.all(
    [run('a', 'a1', 3), run('a', 'a2', 1), run('b', 'b1', 2), run('a', 'a1', 3)].map(({ done }) => done),
  );
  assert.deepEqual(order, ['a1', 'b1', 'a1', 'b1', 'a1', 'a2']);
  await run('a', 'a3', 1).done;
  assert.equal(order.at(-1), 'a3');
});

test('who waits for a part of an index that serves comes before the rest of it is made', async () => {
  // No slice ends by the clock.
  const making = new IndexMaking({ monotonicMs: () => 0 });
  const order: (number | string)[] = [];
  const made = making.run('a', 'a1', () => ({
    step() {
      order.push(order.length);
      return order.length === 2 ? 'usable' : order.length === 5 ? 'done' : 'more';
    },
    isOver: () => false,
    stop() {},
  }));
  await made.usable;
  order.push('searched');
  await made.done;
  assert.deepEqual(order, [0, 1, 'searched', 3, 4]);
});
