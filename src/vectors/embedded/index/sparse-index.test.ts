import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SparseVector, VectorValue } from '../../point.ts';
import { unwatched } from '../row-watch.ts';
import { finish } from './resumable-steps.ts';
import { createSparseIndex, scannedSparseMax } from './sparse-index.ts';
import { inverseFrequency, sparseDot } from './sparse-score.ts';

/** Rows in a map, with the index over them. */
function world(modifier: 'none' | 'idf', room: (bytes: number) => boolean = () => true) {
  const held = new Map<number, SparseVector>();
  const logged: string[] = [];
  const index = createSparseIndex({
    modifier,
    room,
    tooLarge: () => logged.push('too large'),
    rows: {
      count: () => held.size,
      value: (slot) => held.get(slot) ?? null,
      each(visit: (slot: number, value: VectorValue) => void) {
        for (const [slot, value] of held) visit(slot, value);
        return null;
      },
      watch: unwatched,
    },
  });
  return {
    index,
    logged,
    put(slot: number, value: SparseVector) {
      index.put(slot, value, held.get(slot) ?? null);
      held.set(slot, value);
    },
    remove(slot: number) {
      index.remove(slot, held.get(slot) ?? null);
      held.delete(slot);
    },
    /** By looking at every row. */
    plain(query: SparseVector, k: number, slots: ReadonlySet<number> | null) {
      const having = (term: number) => [...held.values()].filter(({ indices }) => indices.includes(term)).length;
      const weights = query.values.map((value, i) =>
        modifier === 'idf' ? value * inverseFrequency(held.size, having(query.indices[i]!)) : value,
      );
      return [...held]
        .flatMap(([slot, value]) => {
          const score = sparseDot({ indices: query.indices, values: weights }, value);
          return score === null || (slots !== null && !slots.has(slot)) ? [] : [{ slot, score: Math.fround(score) }];
        })
        .toSorted((a, b) => b.score - a.score || a.slot - b.slot)
        .slice(0, k);
    },
  };
}

const vectors = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 8 }).chain((indices) =>
  fc.array(fc.integer({ min: -4, max: 4 }), { minLength: indices.length, maxLength: indices.length }).map((values) => ({
    indices: Uint32Array.from(indices.toSorted((a, b) => a - b)),
    values: Float32Array.from(values),
  })),
);

for (const modifier of ['none', 'idf'] as const) {
  test(`modifier ${modifier}: whatever is written and removed, a search finds what looking at every row finds`, () => {
    const change = fc.record({ slot: fc.integer({ min: 0, max: 2_000 }), value: fc.option(vectors) });
    fc.assert(
      fc.property(
        fc.array(vectors, { minLength: 300, maxLength: 400 }),
        fc.array(change, { minLength: 1_500, maxLength: 2_500 }),
        fc.array(vectors, { minLength: 5, maxLength: 5 }),
        (first, changes, queries) => {
          const { index, put, remove, plain } = world(modifier);
          for (const [slot, value] of first.entries()) put(slot, value);
          const check = () => {
            for (const query of queries) {
              for (const slots of [null, new Set([1, 2, 3, 50, 51, 300, 1_999])]) {
                const candidates = slots === null ? null : Uint32Array.from(slots);
                const found = finish(index.search(query, 12, { slots: candidates, exact: false }));
                const expected = plain(query, 12, slots);
                assert.deepEqual(
                  [...found.slots],
                  expected.map(({ slot }) => slot),
                );
                for (const [i, score] of found.scores.entries()) assert.ok(Math.abs(score - expected[i]!.score) < 1e-5);
              }
            }
          };
          check();
          for (const { slot, value } of changes) {
            if (value === null) remove(slot);
            else put(slot, value);
          }
          check();
        },
      ),
      { numRuns: 6 },
    );
  });
}

test('of scores that are the same as f32 the smaller slot comes first', () => {
  const { index, put } = world('none');
  const of = (...values: number[]) => ({ indices: Uint32Array.from(values.keys()), values: Float32Array.from(values) });
  for (let slot = 1; slot <= scannedSparseMax; slot += 1) put(slot, of(0.5));
  put(300, of(1, 1e-9));
  put(0, of(1, -1e-9));
  assert.deepEqual([...finish(index.search(of(1, 1), 1, { slots: null, exact: false })).slots], [0]);
});

test('few vectors are searched without memory, and those that have no room from their rows, which is told once', () => {
  const value = { indices: Uint32Array.from([1, 5]), values: Float32Array.from([1, 2]) };
  const few = world('idf');
  for (let slot = 0; slot < scannedSparseMax; slot++) few.put(slot, value);
  assert.equal(finish(few.index.search(value, 3, { slots: null, exact: false })).slots.length, 3);
  assert.equal(few.index.bytes, 0);
  few.put(scannedSparseMax, value);
  finish(few.index.search(value, 3, { slots: null, exact: false }));
  assert.ok(few.index.bytes > 0);

  const many = world('idf', () => false);
  for (let slot = 0; slot < 2_000; slot++) many.put(slot, value);
  const found = finish(many.index.search(value, 3, { slots: null, exact: false }));
  assert.deepEqual([...found.slots], [0, 1, 2]);
  finish(many.index.search(value, 3, { slots: null, exact: false }));
  assert.deepEqual([many.logged.length, many.index.bytes], [1, 0]);
});
