import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../kernel/json.ts';
import { matches } from './matches.ts';
import { readFilter } from './read-filter.ts';

function passes(filter: object, payload: JsonObject | null, id: number | string = 1): boolean {
  return matches(readFilter(filter, 'filter'), { id, payload, hasVector: (name) => name === '' });
}

/** Whether one condition holds on `{a: value}`; without a value, on a payload without `a`. */
function holds(condition: object, ...value: [unknown?]): boolean {
  return passes({ must: { key: 'a', ...condition } }, value.length === 0 ? {} : ({ a: value[0] } as JsonObject));
}

test('must is all, should is any, must_not is none, and together all three', () => {
  const is = (value: string) => ({ key: 'c', match: { value } });
  const red = { c: ['red', 'round'] };
  assert.ok(passes({}, null));
  assert.ok(passes({ must: [is('red'), is('round')] }, red));
  assert.ok(!passes({ must: [is('red'), is('blue')] }, red));
  assert.ok(passes({ should: [is('blue'), is('red')] }, red));
  assert.ok(!passes({ should: [is('blue'), is('green')] }, red));
  assert.ok(passes({ must_not: [is('blue'), is('green')] }, red));
  assert.ok(!passes({ must_not: [is('blue'), is('red')] }, red));
  assert.ok(!passes({ must: is('red'), must_not: is('round') }, red));
  assert.ok(!passes({ must: is('red'), should: is('blue') }, red));
  assert.ok(passes({ must: [{ should: [is('blue'), is('red')] }, { must_not: [is('blue')] }] }, red));
});

test('an empty should is no condition', () => {
  assert.ok(passes({ should: [] }, {}));
});

test('min_should wants as many as it says', () => {
  const conditions = [1, 2, 3].map((value) => ({ key: 'a', match: { value } }));
  for (const [count, expected] of [0, 1, 2, 3, 4].map((n) => [n, n <= 2] as const))
    assert.equal(passes({ min_should: { conditions, min_count: count } }, { a: [1, 2] }), expected, `${count}`);
});

test('match.value is strict about types: 1, "1" and true are three values', () => {
  const kinds = [1, '1', true];
  for (const wanted of kinds)
    for (const stored of kinds) assert.equal(holds({ match: { value: wanted } }, stored), wanted === stored);
  assert.ok(!holds({ match: { value: 1 } }, 1.5));
  assert.ok(!holds({ match: { value: 'Red' } }, 'red'));
  assert.ok(!holds({ match: { value: 'x' } }, { x: 'x' }));
});

test('a path that reaches an array passes if any element does; arrays within it are not looked into', () => {
  assert.ok(holds({ match: { value: 2 } }, [1, 2]));
  assert.ok(!holds({ match: { value: 2 } }, [[2]]));
  assert.ok(!holds({ match: { value: 2 } }, []));
  const nested = { a: [{ b: 1 }, { b: [2, 3] }, 5] };
  for (const [key, value, expected] of [
    ['a[].b', 1, true],
    ['a[].b', 3, true],
    ['a[].b', 5, false],
    ['a.b', 1, false],
    ['a[0].b', 1, true],
    ['a[1].b[0]', 2, true],
    ['a[1].b[]', 2, true],
    ['a[2]', 5, true],
    ['a[7]', 5, false],
    ['a', 5, true],
    ['a[]', 5, true],
  ] as const)
    assert.equal(passes({ must: { key, match: { value } } }, nested), expected, `${key} ${value}`);
});

test('a key with dots is reached in quotes, and inherited names are no keys', () => {
  assert.ok(passes({ must: { key: '"a.b".c', match: { value: 1 } } }, { 'a.b': { c: 1 } }));
  assert.ok(passes({ must: { is_empty: { key: 'constructor' } } }, {}));
  assert.ok(passes({ must: { key: '__proto__', match: { value: 1 } } }, JSON.parse('{"__proto__":1}')));
});

test('a missing path is false but for is_empty, and under must_not', () => {
  const match = { key: 'a', match: { value: 1 } };
  const range = { key: 'a', range: {} };
  for (const payload of [{}, null, { b: 1 }]) {
    for (const condition of [match, range, { key: 'a', match: { except: [1] } }, { is_null: { key: 'a' } }]) {
      assert.ok(!passes({ must: condition }, payload));
      assert.ok(passes({ must_not: condition }, payload));
    }
    assert.ok(passes({ must: { is_empty: { key: 'a' } } }, payload));
    assert.ok(passes({ must: { key: 'a', values_count: { lt: 1 } } }, payload));
    assert.ok(passes({ must: { key: 'a', values_count: { gte: 0 } } }, payload));
    assert.ok(!passes({ must: { key: 'a', values_count: { gte: 1 } } }, payload));
  }
});

test('any and except look at values of their own type; except passes every other value but null', () => {
  assert.ok(holds({ match: { any: ['x', 'y'] } }, ['z', 'y']));
  assert.ok(!holds({ match: { any: ['1'] } }, 1));
  assert.ok(!holds({ match: { any: [] } }, 1));
  assert.ok(holds({ match: { except: ['x'] } }, 'y'));
  assert.ok(!holds({ match: { except: ['x'] } }, 'x'));
  assert.ok(holds({ match: { except: ['x'] } }, ['x', 'y']));
  for (const other of [5, 1.5, true, {}, [['x']]]) assert.ok(holds({ match: { except: ['x'] } }, other));
  assert.ok(!holds({ match: { except: ['x'] } }, null));
  assert.ok(!holds({ match: { except: ['x'] } }, [null]));
});

test('match.text without an index is a case-sensitive substring; text_any wants one of the words', () => {
  assert.ok(holds({ match: { text: 'good cheap' } }, 'good cheap hardware'));
  assert.ok(!holds({ match: { text: 'cheap good' } }, 'good cheap hardware'));
  assert.ok(!holds({ match: { text: 'Good' } }, 'good'));
  assert.ok(holds({ match: { text: '(a+)+$' } }, 'x(a+)+$'));
  assert.ok(!holds({ match: { text: '1' } }, 1));
  assert.ok(holds({ match: { text_any: 'cheap soft' } }, 'hardware, cheap'));
  assert.ok(!holds({ match: { text_any: '  ' } }, 'a b'));
});

test('match.substring is any part of a string, exactly', () => {
  assert.ok(holds({ match: { substring: '/a.' } }, ['x', 'https://a.example']));
  assert.ok(!holds({ match: { substring: 'A.' } }, 'https://a.example'));
  assert.ok(!holds({ match: { substring: '1' } }, 12));
});

test('match.prefix is the beginning of a string, exactly', () => {
  assert.ok(holds({ match: { prefix: 'https://' } }, ['x', 'https://a.example']));
  assert.ok(!holds({ match: { prefix: 'HTTPS' } }, 'https://a.example'));
  assert.ok(!holds({ match: { prefix: 'a.' } }, 'https://a.example'));
  assert.ok(!holds({ match: { prefix: '1' } }, 12));
  assert.ok(holds({ match: { prefix: '' } }, 'anything'));
  assert.ok(!holds({ match: { prefix: '' } }, null));
});

test('S11 F25 signs of patterns are looked for as they stand', () => {
  for (const text of ['%', '_', '%%%%', '.*', '(a+)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '\\', "' OR 1=1 --"]) {
    assert.ok(holds({ match: { text } }, `before ${text} after`), text);
    assert.ok(!holds({ match: { text } }, 'a'.repeat(100_000)), text);
    assert.ok(!holds({ match: { value: text } }, 'a'), text);
  }
});

test('a range of numbers tests numbers, one of times tests times', () => {
  assert.ok(holds({ range: { gte: 1, lt: 2 } }, 1));
  assert.ok(!holds({ range: { gte: 1, lt: 2 } }, 2));
  assert.ok(holds({ range: { gt: 1, lte: 2 } }, [0, 2]));
  // One element must lie in the range as a whole.
  assert.ok(!holds({ range: { gt: 1, lt: 2 } }, [0, 3]));
  assert.ok(!holds({ range: { gt: 0 } }, '1'));
  assert.ok(holds({ range: { gte: '2020-02-01T00:00:00Z', lt: '2020-03-01T00:00:00Z' } }, '2020-02-15T00:00:00Z'));
  assert.ok(!holds({ range: { gte: '2020-03-01T00:00:00Z' } }, '2020-02-15T00:00:00Z'));
  assert.ok(holds({ range: { gte: '2020-01-01T01:00:00+01:00', lte: '2020-01-01' } }, '2020-01-01T00:00:00Z'));
  assert.ok(!holds({ range: { gte: '2020-01-01' } }, 'soon'));
  assert.ok(!holds({ range: { gte: '2020-01-01' } }, 1_600_000_000_000));
});

test('values_count counts an array, one for another value and none for null', () => {
  const between = (gte: number, lte: number) => ({ values_count: { gte, lte } });
  assert.ok(holds(between(2, 2), [null, 1]));
  assert.ok(holds(between(0, 0), []));
  assert.ok(holds(between(0, 0), null));
  for (const one of ['x', 5, false, {}]) assert.ok(holds(between(1, 1), one));
});

test('is_empty is missing, null and [], and nothing else', () => {
  const empty = (payload: JsonObject) => passes({ must: { is_empty: { key: 'a' } } }, payload);
  for (const payload of [{}, { a: null }, { a: [] }]) assert.ok(empty(payload));
  for (const a of [[null], '', 0, false, {}]) assert.ok(!empty({ a }));
  // Over several values: all of them.
  const inner = (a: JsonObject[]) => passes({ must: { is_empty: { key: 'a[].b' } } }, { a });
  assert.ok(inner([{ b: null }, { c: 1 }, { b: [] }]));
  assert.ok(!inner([{ b: null }, { b: 1 }]));
});

test('is_null is an explicit null, by itself or in an array', () => {
  const isNull = (payload: JsonObject) => passes({ must: { is_null: { key: 'a' } } }, payload);
  for (const payload of [{ a: null }, { a: [null] }, { a: [1, null] }]) assert.ok(isNull(payload));
  for (const payload of [{}, { a: [[null]] }, { a: [] }, { a: 0 }]) assert.ok(!isNull(payload));
  assert.ok(passes({ must: { is_null: { key: 'a[].b' } } }, { a: [{ b: 1 }, { b: null }] }));
});

test('the flags is_empty and is_null say yes or no; is_null sees a null inside an array', () => {
  const table: [value: unknown, empty: boolean, isNull: boolean][] = [
    [null, true, true],
    [[], true, false],
    [[null], false, true],
    [[true, null], false, true],
    [[true], false, false],
    [{}, false, false],
    ['x', false, false],
    [0, false, false],
  ];
  for (const [value, empty, isNull] of table) {
    assert.equal(holds({ is_empty: true }, value), empty);
    assert.equal(holds({ is_empty: false }, value), !empty);
    assert.equal(holds({ is_null: true }, value), isNull);
    assert.equal(holds({ is_null: false }, value), !isNull);
  }
  assert.deepEqual([holds({ is_empty: true }), holds({ is_empty: false })], [true, false]);
  assert.deepEqual([holds({ is_null: true }), holds({ is_null: false })], [false, true]);
});

test('several operators in one condition are OR-ed', () => {
  const either = { match: { value: 'x' }, range: { gt: 5 }, is_null: true };
  for (const value of ['x', 6, null]) assert.ok(holds(either, value));
  for (const value of ['y', 5]) assert.ok(!holds(either, value));
});

test('nested wants one element that satisfies all', () => {
  const diet = [
    { food: 'leaves', likes: false },
    { food: 'meat', likes: true },
  ];
  const both = (food: string, likes: boolean) => [
    { key: 'food', match: { value: food } },
    { key: 'likes', match: { value: likes } },
  ];
  const inNested = (food: string, likes: boolean, key = 'diet') =>
    passes({ must: { nested: { key, filter: { must: both(food, likes) } } } }, { diet });
  assert.ok(inNested('meat', true));
  assert.ok(inNested('meat', true, 'diet[]'));
  assert.ok(!inNested('leaves', true));
  const flat = both('leaves', true).map((condition) => ({ ...condition, key: `diet[].${condition.key}` }));
  assert.ok(passes({ must: flat }, { diet }));
  const none = { must: { nested: { key: 'diet', filter: { must_not: both('meat', true) } } } };
  assert.ok(passes(none, { diet: [...diet, { food: 'fruit' }] }));
  // Elements that are not objects, and values that are not arrays, satisfy nothing.
  assert.ok(!passes(none, { diet: [1, null, [{}]] }));
  assert.ok(!passes(none, { diet: { food: 'fruit' } }));
});

test('has_id and has_vector look at the point', () => {
  assert.ok(passes({ must: { has_id: [1, 2] } }, null, 2));
  assert.ok(!passes({ must: { has_id: [1, 2] } }, null, 3));
  assert.ok(passes({ must: { has_vector: '' } }, null));
  assert.ok(!passes({ must: { has_vector: 'title' } }, null));
});

const berlin = { lat: 52.52, lon: 13.4 };
const moscow = { lat: 55.75, lon: 37.62 };

test('a geo box leaves out its edges, and may cross the antimeridian', () => {
  const box = (top: number, left: number, bottom: number, right: number) => ({
    geo_bounding_box: { top_left: { lat: top, lon: left }, bottom_right: { lat: bottom, lon: right } },
  });
  assert.ok(holds(box(52.7, 13, 52.3, 13.8), [moscow, berlin]));
  assert.ok(!holds(box(52.7, 13, 52.3, 13.8), moscow));
  assert.ok(!holds(box(1, -1, -1, 1), { lat: 1, lon: 0 }));
  const america = box(74.07, 167, 18.77, -66.88);
  assert.ok(holds(america, { lat: 40.75, lon: -73.99 }));
  assert.ok(!holds(america, berlin));
  for (const other of [{ lat: 52.5 }, { lat: '52.5', lon: '13.4' }, [52.5, 13.4], 'x', null])
    assert.ok(!holds(box(52.7, 13, 52.3, 13.8), other));
});

test('a geo radius is metres along the great circle', () => {
  const within = (radius: number, center = berlin) => ({ geo_radius: { center, radius } });
  assert.ok(holds(within(80_000, { lat: 0, lon: 0 }), { lat: 0.5, lon: 0.5 }));
  // 78,626.3 m apart.
  assert.ok(!holds(within(78_626, { lat: 0, lon: 0 }), { lat: 0.5, lon: 0.5 }));
  assert.ok(holds(within(78_627, { lat: 0, lon: 0 }), { lat: 0.5, lon: 0.5 }));
  assert.ok(holds(within(2_000_000), moscow));
  assert.ok(!holds(within(1_000_000), moscow));
});

test('a geo polygon leaves out its lines and its holes', () => {
  const ring = (...corners: [lon: number, lat: number][]) => ({
    points: [...corners, corners[0]!].map(([lon, lat]) => ({ lon, lat })),
  });
  const inside = (polygon: object, lon: number, lat: number) => holds({ geo_polygon: polygon }, { lon, lat });
  const square = { exterior: ring([-1, -1], [1, -1], [1, 1], [-1, 1]) };
  assert.deepEqual([inside(square, 0.5, 0.5), inside(square, 1.5, 1.5), inside(square, 1, 0)], [true, false, false]);
  const twisted = { exterior: ring([-1, -1], [1, 1], [1, -1], [-1, 1]) };
  assert.deepEqual([inside(twisted, 0.5, 0), inside(twisted, 0, 0.5), inside(twisted, 0, 0)], [true, false, false]);
  const holed = {
    exterior: ring([-1, -1], [1.5, -1], [1.5, 1.5], [-1, 1.5]),
    interiors: [ring([-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5])],
  };
  assert.deepEqual([inside(holed, 0.6, 0.6), inside(holed, 0, 0), inside(holed, 0.5, 0.5)], [true, false, false]);
});
