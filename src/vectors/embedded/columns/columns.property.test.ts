import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRows, type Rows } from '../../../../test/fixtures/column-rows.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { matches } from '../../filter/matches.ts';
import { valuesAt } from '../../filter/reach.ts';
import { readFilter } from '../../filter/read-filter.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { PartMissing } from '../part-missing.ts';
import type { Columns } from './columns.ts';
import { createColumns, scannedRowsMax } from './create-columns.ts';
import { columnStringCharsMax } from './dictionary.ts';

const long = 'long '.repeat(columnStringCharsMax);
const words = [
  'red',
  'blue',
  'redder',
  '',
  '1',
  '2020-01-01',
  '2020-01-02T03:00:00+03:00',
  '__proto__',
  long,
  `${long}!`,
];
const numbers = [0, 1, 2, -1, 1.5, 1e300];
const scalar = fc.constantFrom<string | number | boolean | null>(...words, ...numbers, true, false, null);
const geo = fc.record({ lat: fc.constantFrom(0, 1, 2), lon: fc.constantFrom(0, 1, 2) });
const leaf = fc.oneof({ weight: 4, arbitrary: scalar }, geo);
const array = fc.array(fc.oneof({ weight: 5, arbitrary: leaf }, fc.array(scalar, { maxLength: 2 })), { maxLength: 4 });
const inner = fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(leaf, array), { maxKeys: 2 });
const value = fc.oneof(
  leaf,
  array,
  inner,
  fc.array(fc.oneof(inner, leaf), { maxLength: 3 }),
  fc.constant(Array(300).fill(1)),
);
const payload = fc.option(fc.dictionary(fc.constantFrom('a', 'b', 'x.y'), value, { maxKeys: 3 }), { freq: 8 });

const path = fc.constantFrom('a', 'b', 'a[]', 'a[0]', 'a.x', 'a[].x', 'b[].y', 'a.x[]', '"x.y"', 'a[].x[1]', 'missing');
const side = fc.constantFrom('gt', 'gte', 'lt', 'lte');
const listed = fc.oneof(fc.subarray(words), fc.subarray([0, 1, 2, -1, 5]));
const operator = fc.oneof(
  fc.record({ match: fc.record({ value: fc.constantFrom(...words, 0, 1, -1, 9, true, false) }) }),
  fc.record({ match: fc.record({ any: listed }) }),
  fc.record({ match: fc.record({ except: listed }) }),
  fc.record({ match: fc.record({ text: fc.constantFrom('re', 'long', '', 'l', '!') }) }),
  fc.record({ match: fc.record({ prefix: fc.constantFrom('re', 'l', '', long.slice(0, 300), 'ed') }) }),
  fc.record({ match: fc.record({ text_any: fc.constantFrom('blue !', 'x y', ' ') }) }),
  fc.record({ match: fc.record({ except: fc.constantFrom([long], [], [1], ['red']) }) }),
  fc.record({ range: fc.dictionary(side, fc.constantFrom(-1, 0, 1, 1.2, 2), { maxKeys: 2 }) }),
  fc.record({ range: fc.dictionary(side, fc.constantFrom('2020-01-01', '2020-01-02'), { minKeys: 1, maxKeys: 2 }) }),
  fc.record({ values_count: fc.dictionary(side, fc.constantFrom(0, 1, 2, 299, 300, 301), { maxKeys: 2 }) }),
  fc.record({ values_count: fc.constant({ lte: 0 }) }),
  fc.record({ is_empty: fc.boolean() }),
  fc.record({ is_null: fc.boolean() }),
  fc.record({ geo_radius: fc.record({ center: geo, radius: fc.constantFrom(1, 120_000, 200_000) }) }),
  fc.record({
    geo_bounding_box: fc.constant({ top_left: { lat: 2, lon: 0 }, bottom_right: { lat: 0, lon: 2 } }),
  }),
);
const field = fc
  .tuple(
    path,
    fc.oneof(
      { weight: 4, arbitrary: operator },
      fc.tuple(operator, operator).map(([a, b]) => ({ ...a, ...b })),
    ),
  )
  .map(([key, operators]) => ({ key, ...operators }));

const filters = fc.letrec((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    field,
    field,
    path.map((key) => ({ is_empty: { key } })),
    path.map((key) => ({ is_null: { key } })),
    fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 5 }).map((ids) => ({ has_id: ids })),
    fc.constantFrom({ has_vector: '' }, { has_vector: 'even' }, { has_vector: 'none' }),
    tie('filter'),
    fc.tuple(fc.constantFrom('a', 'b', 'a[]'), tie('inner')).map(([key, filter]) => ({ nested: { key, filter } })),
  ),
  filter: fc
    .record(
      {
        must: fc.array(tie('condition'), { maxLength: 3 }),
        should: fc.array(tie('condition'), { maxLength: 3 }),
        must_not: fc.array(tie('condition'), { maxLength: 2 }),
        min_should: fc.record({
          conditions: fc.array(tie('condition'), { minLength: 1, maxLength: 4 }),
          min_count: fc.nat(4),
        }),
      },
      { requiredKeys: [] },
    )
    .filter((clauses) => Object.keys(clauses).length > 0),
  inner: fc.record({
    must: fc.array(
      fc.tuple(fc.constantFrom('x', 'y', 'x[]'), operator).map(([key, operators]) => ({ key, ...operators })),
      { maxLength: 2 },
    ),
    must_not: fc.array(
      operator.map((operators) => ({ key: 'y', ...operators })),
      { maxLength: 1 },
    ),
  }),
}));
/** Single conditions half of the time: in larger filters most of them decide nothing. */
const filter = fc.oneof(
  fc.tuple(fc.constantFrom('must', 'should', 'must_not'), filters.condition).map(([name, one]) => ({ [name]: one })),
  filters.filter,
);

/** A row's payload by its place among the variants; null removes it. */
const change = fc.tuple(fc.nat(scannedRowsMax + 40), fc.option(fc.nat(39), { freq: 5 }));
/** At once, or in steps. */
const making = fc.constantFrom({ atOnceMax: 1_000, perStep: 1 }, { atOnceMax: 0, perStep: 90 });
const bytesMax = fc.constantFrom(1e9, 1e9, 14_000, 0);

function slotsThatMatch(rows: Rows, json: unknown): number[] {
  const wanted = readFilter(json, 'filter');
  return rows
    .all()
    .filter(({ id, payload: text }) => {
      const object = text === null ? null : (JSON.parse(text) as JsonObject);
      return matches(wanted, { id, payload: object, hasVector: (name) => rows.hasVector(rows.slotOf(id)!, name) });
    })
    .map(({ slot }) => slot);
}

/** Result of a call once its columns are made, `between` the steps of which something happens. */
function whole<T>(columns: Columns, call: () => T, between = () => {}): T {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof PartMissing) || error.part.kind !== 'columns') throw error;
      for (const _ of columns.make(error.part.keys)) between();
    }
  }
}

test('columns select exactly the points that the filter means, kept or made, whatever was written before', () => {
  fc.assert(
    fc.property(
      fc.array(payload, { minLength: 40, maxLength: 40 }),
      fc.array(fc.tuple(filter, fc.array(change, { maxLength: 4 })), { minLength: 16, maxLength: 16 }),
      bytesMax,
      making,
      fc.boolean(),
      (variants, steps, bytes, pace, isSaved) => {
        const rows = createRows();
        const columns = createColumns(rows, bytes, pace);
        const texts = variants.map((variant) => (variant === null ? null : JSON.stringify(variant)));
        for (let slot = 0; slot <= scannedRowsMax + 20; slot++) rows.put(slot, 400 - slot, texts[slot % 40]!);
        for (const [json, changes] of steps) {
          const left = changes.values();
          const change = () => {
            const [slot, variant] = left.next().value ?? [-1, null];
            if (variant !== null) {
              rows.put(slot, 400 - slot, texts[variant]!);
              columns.put(slot, texts[variant]!);
            } else if (rows.remove(slot)) columns.remove(slot);
          };
          if (isSaved) {
            rows.keep(columns.image());
            columns.clear();
          }
          const wanted = readFilter(json, 'filter');
          const found = [...whole(columns, () => columns.select(wanted), change)];
          const expected = slotsThatMatch(rows, json);
          assert.deepEqual(found, expected, JSON.stringify(json));
          assert.equal(
            whole(columns, () => columns.count(wanted)),
            expected.length,
          );
          for (const _ of changes) change();
        }
      },
    ),
    { seed: 12, numRuns: 130 },
  );
});

test('facets and order are those of the rows, from a column as from the rows', () => {
  fc.assert(
    fc.property(
      fc.array(payload, { minLength: 40, maxLength: 40 }),
      path,
      fc.boolean(),
      fc.constantFrom<'asc' | 'desc'>('asc', 'desc'),
      fc.constantFrom(null, 0, 1),
      (variants, keyText, some, direction, startFrom) => {
        const rows = createRows();
        for (let slot = 0; slot <= scannedRowsMax; slot++) {
          const variant = variants[slot % 40]!;
          rows.put(slot, slot, variant === null ? null : JSON.stringify(variant));
        }
        const key = readKeyPath(keyText, 'key');
        const slots = some ? Uint32Array.from({ length: 100 }, (_, i) => i * 2) : null;
        const valuesOf = (text: string | null) => [
          ...new Set(valuesAt(text === null ? null : JSON.parse(text), key.steps).flat(1)),
        ];
        const counts = new Map<unknown, number>();
        const numbersOf: [slot: number, value: number][] = [];
        for (const { slot, payload: text } of rows.all()) {
          if (slots !== null && !slots.includes(slot)) continue;
          for (const found of valuesOf(text)) {
            if (typeof found === 'string' || typeof found === 'boolean' || Number.isInteger(found))
              counts.set(found, (counts.get(found) ?? 0) + 1);
            if (typeof found === 'number') numbersOf.push([slot, found]);
            if (found === '2020-01-01') numbersOf.push([slot, 1_577_836_800_000_000]);
            if (found === '2020-01-02T03:00:00+03:00') numbersOf.push([slot, 1_577_923_200_000_000]);
          }
        }
        const sign = direction === 'asc' ? 1 : -1;
        const ordered = numbersOf
          .filter(([, number]) => startFrom === null || sign * (number - startFrom) >= 0)
          .sort((a, b) => sign * (a[1] - b[1]) || a[0] - b[0])
          .slice(0, 50)
          .map(([slot, number]) => ({ slot, value: number }));
        for (const bytes of [1e9, 0]) {
          const columns = createColumns(rows, bytes);
          assert.deepEqual(columns.order(key, { direction, startFrom, slots, limit: 50 }), ordered);
          // With no memory at all values cannot be counted, unless there are none.
          if (bytes === 0 && counts.size > 0) assert.throws(() => columns.facet(key, slots, 1_000));
          else assert.deepEqual(new Map(columns.facet(key, slots, 1_000).map((hit) => [hit.value, hit.count])), counts);
        }
      },
    ),
    { seed: 13, numRuns: 100 },
  );
});
