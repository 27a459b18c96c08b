import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRows } from '../../../../test/fixtures/column-rows.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { readFilter } from '../../filter/read-filter.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { finish } from '../index/resumable-steps.ts';
import { PartMissing } from '../part-missing.ts';
import { columnsMax } from './column-cache.ts';
import { createColumns, scannedRowsMax } from './create-columns.ts';

const large = 1_000;

function rowsOf(count: number, payload: (slot: number) => object | null) {
  const rows = createRows();
  for (let slot = 0; slot < count; slot++) {
    const object = payload(slot);
    rows.put(slot, slot, object === null ? null : JSON.stringify(object));
  }
  return rows;
}

const filter = (json: unknown) => readFilter(json, 'filter');
const key = (text: string) => readKeyPath(text, 'key');
const is = (name: string, value: string | number) => filter({ must: { key: name, match: { value } } });

test('a small collection keeps no columns: its rows are read for each call', () => {
  const rows = rowsOf(scannedRowsMax, (slot) => ({ n: slot % 4 }));
  const columns = createColumns(rows, 1e9);
  for (let call = 1; call <= 3; call++) {
    assert.equal(columns.count(is('n', 1)), scannedRowsMax / 4);
    assert.deepEqual([rows.passes, columns.bytes], [call, 0]);
  }
  columns.put(0, '{"n":1}');
  assert.equal(columns.bytes, 0);
});

test('a column is made at the first filter that uses its key, all missing ones in one pass', () => {
  const rows = rowsOf(large, (slot) => ({ a: slot % 10, b: { c: [slot % 3, 'x'] } }));
  const columns = createColumns(rows, 1e9);
  const both = filter({
    must: [
      { key: 'a', match: { value: 3 } },
      { key: 'b.c', match: { value: 0 } },
    ],
  });
  const expected = Array.from({ length: large }, (_, i) => i).filter((i) => i % 10 === 3 && i % 3 === 0);
  assert.deepEqual([...columns.select(both)], expected);
  assert.equal(columns.count(is('a', 3)), 100);
  assert.equal(columns.count(is('b.c', 'x')), large);
  assert.deepEqual([rows.passes, rows.reads], [1, 0]);
  columns.count(is('a.other', 1));
  assert.equal(rows.passes, 2);
});

test('what is written and removed afterwards is seen, without another pass', () => {
  const rows = rowsOf(large, () => ({ a: 'old' }));
  const columns = createColumns(rows, 1e9);
  assert.equal(columns.count(is('a', 'new')), 0);
  assert.equal(columns.count(is('a', 'old')), large);
  columns.put(7, '{"a":["new","old"]}');
  columns.put(large + 500, '{"a":"new"}');
  columns.put(8, null);
  columns.remove(9);
  assert.deepEqual([...columns.select(is('a', 'new'))], [7, large + 500]);
  assert.equal(columns.count(is('a', 'old')), large - 2);
  assert.deepEqual([...columns.select(filter({ must_not: { key: 'a', match: { value: 'old' } } }))], [8, large + 500]);
  assert.equal(rows.passes, 1);
});

test('columns of many rows are made in steps, with what is written between them', () => {
  const rows = rowsOf(large, () => ({ a: 'old', b: 1 }));
  const columns = createColumns(rows, 1e9, { atOnceMax: 500, perStep: 100 });
  const write = (slot: number, payload: string) => {
    rows.put(slot, slot, payload);
    columns.put(slot, payload);
  };
  assert.throws(() => columns.count(is('a', 'new')), PartMissing);
  const steps = columns.make([key('a')]);
  steps.next();
  // Whoever comes meanwhile waits, too.
  assert.throws(() => columns.count(is('a', 'new')), PartMissing);
  write(3, '{"a":"new"}');
  write(large - 3, '{"a":"new"}');
  write(large + 300, '{"a":"new"}');
  rows.remove(50);
  columns.remove(50);
  rows.remove(large - 50);
  columns.remove(large - 50);
  finish(steps);
  assert.deepEqual([...columns.select(is('a', 'new'))], [3, large - 3, large + 300]);
  assert.equal(columns.count(is('a', 'old')), large - 4);
  assert.equal(rows.passes, 1);

  assert.throws(() => columns.count(is('b', 1)), PartMissing);
  finish(columns.make([key('b')]));
  columns.clear();
  // They were made for this call, and are gone: it does not come a third time.
  assert.equal(columns.count(is('b', 1)), large - 4);
});

test('values that no row has any more give their memory back', () => {
  const rows = rowsOf(large, (slot) => ({ a: `value ${slot}` }));
  const columns = createColumns(rows, 1e9);
  columns.count(is('a', 'x'));
  const before = columns.bytes;
  for (let round = 0; round < 20; round++)
    for (let slot = 0; slot < large; slot++) columns.put(slot, JSON.stringify({ a: `other ${1_000 * round + slot}` }));
  assert.ok(columns.bytes < before * 1.5, `${columns.bytes} of ${before}`);
  for (let slot = 0; slot < large; slot++) columns.put(slot, null);
  assert.ok(columns.bytes < before / 4, `${columns.bytes} of ${before}`);
});

test('lists of values that are overwritten give their memory back', () => {
  const rows = rowsOf(large, () => ({ a: [1, 2, 3] }));
  const columns = createColumns(rows, 1e9);
  columns.count(is('a', 1));
  const before = columns.bytes;
  for (let round = 0; round < 20; round++) for (let slot = 0; slot < large; slot++) columns.put(slot, '{"a":[3,2]}');
  assert.ok(columns.bytes < before * 2.5, `${columns.bytes} of ${before}`);
  assert.equal(columns.count(is('a', 3)), large);
  assert.equal(columns.count(is('a', 1)), 0);
});

test('a row with a few values takes some bytes of a column, not the memory of a list', () => {
  const rows = rowsOf(4_000, (slot) => ({ tags: ['all', `t${slot % 50}`, `u${slot % 7}`] }));
  const columns = createColumns(rows, 1e9);
  assert.equal(columns.count(is('tags', 't7')), 80);
  assert.ok(columns.bytes < 4_000 * 45, `${columns.bytes / 4_000} bytes a row`);
});

test('a time or a place that is written after the first question is found by the next one', () => {
  const rows = rowsOf(large, (slot) => ({ at: '2020-01-01', loc: { lat: slot === 0 ? 50 : 1, lon: 1 } }));
  const columns = createColumns(rows, 1e9);
  const late = filter({ must: { key: 'at', range: { gt: '2021-01-01' } } });
  const north = filter({ must: { key: 'loc', geo_radius: { center: { lat: 50, lon: 1 }, radius: 10 } } });
  assert.deepEqual([columns.count(late), columns.count(north)], [0, 1]);
  columns.put(1, '{"at":"2022-01-01"}');
  // The only northern place goes, another place takes its number, and it comes again.
  columns.put(0, '{"loc":{"lat":7,"lon":7}}');
  columns.put(2, '{"loc":{"lat":50,"lon":1}}');
  assert.deepEqual([...columns.select(late)], [1]);
  assert.deepEqual([...columns.select(north)], [2]);
});

test('long strings, which no column keeps, are told apart by their rows', () => {
  const long = (end: string) => `${'x'.repeat(1_000)}${end}`;
  const rows = rowsOf(large, (slot) => ({ a: slot === 0 ? long('a') : slot === 1 ? long('b') : null }));
  const columns = createColumns(rows, 1e9);
  const select = (match: object) => [...columns.select(filter({ must: { key: 'a', match } }))];
  assert.deepEqual(select({ value: long('a') }), [0]);
  assert.deepEqual(select({ any: [long('b'), long('c')] }), [1]);
  assert.deepEqual(select({ except: [long('a')] }), [1]);
  assert.deepEqual(select({ except: ['short'] }), [0, 1]);
  assert.deepEqual(select({ text: 'xb' }), [1]);
});

test('facets do not count points that were removed', () => {
  const rows = rowsOf(large, (slot) => ({ a: slot < 2 ? 'few' : 'many' }));
  const columns = createColumns(rows, 1e9);
  columns.count(is('a', 'few'));
  columns.remove(0);
  assert.deepEqual(columns.facet(key('a'), null, 10), [
    { value: 'many', count: large - 2 },
    { value: 'few', count: 1 },
  ]);
});

test('columns beyond the memory they may take are given up, the least recently used first', () => {
  const rows = rowsOf(large, (slot) => ({ a: slot, b: slot, c: slot }));
  const whole = createColumns(rows, 1e9);
  whole.count(is('a', 1));
  const one = whole.bytes;
  const columns = createColumns(rows, one * 2.2);
  const start = rows.passes;
  const passesFor = (name: string) => {
    assert.equal(columns.count(is(name, 5)), 1);
    assert.ok(columns.bytes <= one * 2.3);
    return rows.passes - start;
  };
  assert.deepEqual(['a', 'b', 'a', 'c', 'a', 'b'].map(passesFor), [1, 2, 2, 3, 3, 4]);
});

test('a column that does not fit is not tried again at every call; its filters read the rows that others left over', () => {
  const rows = rowsOf(large, (slot) => ({ id: `${slot}`.repeat(60), kind: slot % 100 }));
  const columns = createColumns(rows, 40_000);
  const narrow = filter({
    must: [
      { key: 'id', match: { value: '205'.repeat(60) } },
      { key: 'kind', match: { value: 5 } },
    ],
  });
  assert.deepEqual([...columns.select(narrow)], [205]);
  const { passes, reads } = rows;
  assert.deepEqual([...columns.select(narrow)], [205]);
  assert.deepEqual([rows.passes - passes, rows.reads - reads], [0, 10]);
  assert.ok(columns.bytes <= 40_000);
});

test('a filter of more keys than there may be columns is answered all the same', () => {
  const rows = rowsOf(large, (slot) => ({ [`k${slot % 200}`]: 1 }));
  const columns = createColumns(rows, 1e9);
  const should = Array.from({ length: 200 }, (_, i) => ({ key: `k${i}`, match: { value: 1 } }));
  assert.equal(columns.count(filter({ should })), large);
  assert.equal(columns.count(filter({ must: should })), 0);
  assert.ok(should.length > columnsMax);
});

test('a nested condition reads only the rows whose elements could satisfy it', () => {
  const rows = rowsOf(large, (slot) => ({
    diet: [
      { food: slot === 3 || slot === 4 ? 'meat' : 'leaves', likes: slot !== 3 },
      { food: 'fruit', likes: true },
    ],
  }));
  const columns = createColumns(rows, 1e9);
  const must = [
    { key: 'food', match: { value: 'meat' } },
    { key: 'likes', match: { value: true } },
  ];
  assert.deepEqual([...columns.select(filter({ must: { nested: { key: 'diet', filter: { must } } } }))], [4]);
  assert.equal(rows.reads, 2);
});

test('a row that cannot be read fails the call, and the next one starts anew', () => {
  const rows = rowsOf(large, () => ({ a: 1 }));
  let broken = true;
  const columns = createColumns(
    {
      ...rows,
      count: rows.count,
      each: (visit) =>
        rows.each((slot, id, payload) => {
          if (broken && slot === 500) throw new Error('damaged');
          visit(slot, id, payload);
        }),
    },
    1e9,
  );
  assert.throws(() => columns.count(is('a', 1)), /damaged/);
  broken = false;
  assert.equal(columns.count(is('a', 1)), large);
});

test('after clear everything is read again', () => {
  const rows = rowsOf(large, () => ({ a: 1 }));
  const columns = createColumns(rows, 1e9);
  columns.count(is('a', 1));
  columns.put(0, '{"a":2}');
  columns.clear();
  assert.equal(columns.bytes, 0);
  assert.equal(columns.count(is('a', 1)), large);
});

for (const count of [scannedRowsMax, large]) {
  const from = count === large ? 'a column' : 'the rows';

  test(`facets from ${from} are the most frequent values, then by value; a point counts once for each`, () => {
    const long = 'x'.repeat(1_000);
    const rows = rowsOf(count, (slot) => {
      if (slot === 0) return { a: ['z', 'z', 'b'] };
      if (slot === 1) return { a: ['b', long, { o: 1 }, null, 1.5] };
      if (slot === 2) return { a: [7, true, 'c', long] };
      return slot === 3 ? { a: null } : {};
    });
    const columns = createColumns(rows, 1e9);
    const all = [
      { value: 'b', count: 2 },
      { value: long, count: 2 },
      { value: 'c', count: 1 },
      { value: 'z', count: 1 },
      { value: 7, count: 1 },
      { value: true, count: 1 },
    ];
    assert.deepEqual(columns.facet(key('a'), null, 10), all);
    assert.deepEqual(columns.facet(key('a'), null, 2), all.slice(0, 2));
    assert.deepEqual(columns.facet(key('a'), Uint32Array.of(0, 3), 10), [
      { value: 'b', count: 1 },
      { value: 'z', count: 1 },
    ]);
    assert.deepEqual(columns.facet(key('nothing'), null, 10), []);
  });

  test(`order from ${from} is by number or time, a point once for each value, equal ones by slot`, () => {
    const rows = rowsOf(count, (slot) => {
      if (slot === 0) return { n: [5, 1], at: '2020-01-01T00:00:00.000001Z' };
      if (slot === 1) return { n: 3.5, at: ['2019-12-31', 'soon'] };
      return slot === 2 ? { n: [3.5, 3.5, 'x', null] } : { m: 1 };
    });
    const columns = createColumns(rows, 1e9);
    const order = (name: string, direction: 'asc' | 'desc', startFrom: number | null, limit = 10) =>
      columns.order(key(name), { direction, startFrom, slots: null, limit }).map(({ slot, value }) => [slot, value]);
    const ascending = [
      [0, 1],
      [1, 3.5],
      [2, 3.5],
      [0, 5],
    ];
    assert.deepEqual(order('n', 'asc', null), ascending);
    assert.deepEqual(order('n', 'asc', 3.5, 2), ascending.slice(1, 3));
    assert.deepEqual(order('n', 'desc', 3.5), [
      [1, 3.5],
      [2, 3.5],
      [0, 1],
    ]);
    assert.deepEqual(order('at', 'asc', null), [
      [1, 1_577_750_400_000_000],
      [0, 1_577_836_800_000_001],
    ]);
    assert.equal(columns.order(key('m'), { direction: 'asc', startFrom: null, slots: null, limit: 5 }).length, 5);
    const some = { direction: 'asc', startFrom: null, slots: Uint32Array.of(2), limit: 5 } as const;
    assert.deepEqual(columns.order(key('n'), some), [{ slot: 2, value: 3.5 }]);
  });
}

test('order of many rows gives exactly the first ones', () => {
  const rows = rowsOf(4_000, (slot) => ({ n: (slot * 7_919) % 4_000 }));
  const columns = createColumns(rows, 1e9);
  const found = columns.order(key('n'), { direction: 'desc', startFrom: null, slots: null, limit: 3 });
  assert.deepEqual(
    found.map(({ value }) => value),
    [3_999, 3_998, 3_997],
  );
});

test('groups are strings and integers, each of a point once', () => {
  const rows = rowsOf(3, (slot) =>
    slot === 0 ? { g: ['a', 'a', 1, 1.5, true, null] } : slot === 1 ? { g: 'b' } : null,
  );
  const groups = createColumns(rows, 1e9).groupValues(key('g'), Uint32Array.of(1, 0, 2));
  assert.deepEqual(finish(groups), [['b'], ['a', 1], []]);
});

test('values that memory has no room to count are refused in plain words', () => {
  const columns = createColumns(
    rowsOf(large, (slot) => ({ a: `value ${slot}` })),
    10_000,
  );
  assert.throws(
    () => columns.facet(key('a'), null, 10),
    (error: unknown) => error instanceof FailureError && error.failure.kind === 'unsupported',
  );
});

test('slots of a filter are kept for the next search, until any row changes', () => {
  const rows = rowsOf(large, (slot) => ({ a: slot % 10, b: slot % 4 }));
  const columns = createColumns(rows, 1e9, { atOnceMax: large, perStep: large });
  const found = (text: unknown) => finish(columns.selecting(filter(text)));
  const three = { must: [{ key: 'a', match: { value: 3 } }] };
  const write = (slot: number, payload: string) => {
    rows.put(slot, slot, payload);
    columns.put(slot, payload);
  };
  const first = found(three);
  assert.equal(first.length, large / 10);
  assert.equal(found(three), first);
  assert.notDeepEqual(found({ must: [{ key: 'a', match: { value: '3' } }] }), first);
  assert.notDeepEqual(found({ must: [...three.must, { key: 'b', match: { value: 1 } }] }), first);
  assert.notDeepEqual(found({ should: three.must, must_not: [{ key: 'b', match: { value: 1 } }] }), first);
  const before = columns.bytes;

  write(0, '{"a":3}');
  assert.deepEqual([...found(three)], [0, ...first]);
  assert.ok(columns.bytes <= before, 'those of rows as they were are given up');
  rows.remove(3);
  columns.remove(3);
  assert.deepEqual([...found(three)], [0, ...first.subarray(1)]);
  rows.put(13, 13, '{"a":4}');
  columns.clear();
  assert.deepEqual([...found(three)], [0, ...first.subarray(2)]);

  for (let value = 0; value < 200; value += 1) found({ must: [{ key: 'b', match: { value } }] });
  assert.notEqual(found(three), found({ must: [{ key: 'b', match: { value: 1 } }] }));
  assert.ok(columns.bytes < before + 8 * large * 8, 'so many and no more');
});
