// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { alice, near, spec, temporaryStore, upsert } from '../../../test/fixtures/temporary-vector-store.ts';
import { readFilter } from '../filter/read-filter.ts';
import type { WriteOperation } from '../vector-store.ts';

/** The collection's contents, kept the plain way. */
type Model = Map<number, { x: number; n: number | null }>;

const id = fc.nat(340);
const operation = fc.oneof(
  fc.record({ kind: fc.constant('upsert' as const), id, x: fc.integer({ min: -500, max: 500 }), n: fc.nat(6) }),
  fc.record({ kind: fc.constant('delete' as const), id }),
  fc.record({ kind: fc.constant('delete-where' as const), n: fc.nat(6) }),
  fc.record({ kind: fc.constant('set' as const), n: fc.nat(6), to: fc.nat(6) }),
  fc.record({ kind: fc.constant('clear' as const), id }),
  fc.record({ kind: fc.constant('move' as const), id, x: fc.integer({ min: -500, max: 500 }) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

/** Calls that are made at once, so that they meet in one commit, and then the next ones. */
const rounds = fc.array(fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 6,
});

const hasN = (n: number) => readFilter({ must: [{ key: 'n', match: { value: n } }] }, 'filter');

test('whatever is written at once or in turn, with calls that fail between, searches and filters see exactly what stays', async (t) => {
  const opened = temporaryStore(t);
  let collection = 0;
  const check = fc.asyncProperty(rounds, async (given) => {
    let { store } = opened;
    const name = `c${collection++}`;
    await store.create(alice, spec(name, 2, { distance: 'Euclid' }));
    const first = Array.from({ length: 300 }, (_, i) => ({ kind: 'upsert', id: i, x: i, n: i % 7 }) as const);
    let model = applied(new Map(), first)!;
    await store.write('alice', name, [upsert(...first.map(({ id, x, n }) => [id, [x, 0], { n }] as never))]);
    for (const [round, calls] of given.entries()) {
      // Index and columns are there before some rounds, made anew before others.
      if (round % 3 === 2) store = await opened.reopen();
      else await sees(store, name, model);
      const writes = calls.map((operations) => store.write('alice', name, operations.map(written)));
      const ends = await Promise.allSettled(writes);
      for (const [i, operations] of calls.entries()) {
        const after = applied(model, operations);
        assert.equal(ends[i]!.status, after === null ? 'rejected' : 'fulfilled');
        model = after ?? model;
      }
      await sees(store, name, model);
    }
    await store.drop('alice', name);
  });
  await fc.assert(check, { seed: 12, numRuns: 25 });

  async function sees(store: typeof opened.store, name: string, model: Model): Promise<void> {
    assert.equal(await store.count('alice', name, null), model.size);
    for (const n of [0, 3, 6]) {
      const expected = [...model.values()].filter((point) => point.n === n).length;
      assert.equal(await store.count('alice', name, hasN(n)), expected);
    }
    for (const x of [-500, 120, 500]) {
      const [hits] = await store.query('alice', name, [near([x, 0], { limit: 5 })]);
      const expected = [...model.values()].map((point) => Math.abs(point.x - x)).sort((a, b) => a - b);
      assert.deepEqual(
        hits!.map(({ score }) => score),
        expected.slice(0, 5),
      );
      for (const { id, score } of hits!) assert.equal(Math.abs(model.get(id as number)!.x - x), score);
    }
  }
});

/** Null when the call is refused: nothing of it is done. */
function applied(model: Model, operations: readonly Operation[]): Model | null {
  const next: Model = new Map(model);
  for (const one of operations) {
    if (one.kind === 'upsert') next.set(one.id, { x: one.x, n: one.n });
    else if (one.kind === 'delete') next.delete(one.id);
    else if (one.kind === 'delete-where') {
      for (const [id, { n }] of next) if (n === one.n) next.delete(id);
    } else if (one.kind === 'set') {
      for (const [id, point] of next) if (point.n === one.n) next.set(id, { ...point, n: one.to });
    } else {
      const point = next.get(one.id);
      if (one.kind === 'clear' && point !== undefined) next.set(one.id, { ...point, n: null });
      if (one.kind === 'move' && point === undefined) return null;
      if (one.kind === 'move') next.set(one.id, { ...point!, x: one.x });
    }
  }
  return next;
}

function written(one: Operation): WriteOperation {
  switch (one.kind) {
    case 'upsert':
      return upsert([one.id, [one.x, 0], { n: one.n }]);
    case 'delete':
      return { kind: 'delete', which: { ids: [one.id] } };
    case 'delete-where':
      return { kind: 'delete', which: { filter: hasN(one.n) } };
    case 'set':
      return { kind: 'set-payload', which: { filter: hasN(one.n) }, payload: JSON.stringify({ n: one.to }), key: null };
    case 'clear':
      return { kind: 'clear-payload', which: { ids: [one.id] } };
    case 'move':
      return { kind: 'update-vectors', ids: [one.id], vectors: Float32Array.of(one.x, 0) };
  }
}
