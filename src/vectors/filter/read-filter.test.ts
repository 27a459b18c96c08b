import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FailureError } from '../../kernel/failure.ts';
import type { FieldTest } from './filter.ts';
import { filterConditionsMax, filterDepthMax, filterTextsMax, filterValuesMax } from './filter-budget.ts';
import { readFilter } from './read-filter.ts';

const key = 'a';

function failureOf(json: unknown) {
  try {
    readFilter(json, 'filter');
  } catch (error) {
    assert.ok(error instanceof FailureError, `${error}`);
    return error.failure;
  }
  return assert.fail('the filter was taken');
}

/** The message of the 400. */
function refusal(json: unknown): string {
  const failure = failureOf(json);
  assert.ok(failure.kind === 'invalid-request');
  assert.ok(failure.message.startsWith(`${failure.param}: `));
  return failure.message;
}

function testsOf(condition: object): readonly FieldTest[] {
  const [found] = readFilter({ must: [{ key, ...condition }] }, 'filter').must;
  assert.ok(found?.kind === 'field');
  return found.tests;
}

test('a clause takes one condition or an array of them, and may be null', () => {
  const one = { key, match: { value: 1 } };
  assert.deepEqual(readFilter({ must: one }, 'f'), readFilter({ must: [one], should: null, must_not: [] }, 'f'));
  assert.deepEqual(readFilter({}, 'f'), { must: [], should: [], mustNot: [], minShould: null });
});

test('every kind of condition of Qdrant 1.19 is read', () => {
  const open = { gt: -Infinity, gte: -Infinity, lt: Infinity, lte: Infinity };
  assert.deepEqual(testsOf({ match: { value: 'x' } }), [{ kind: 'value', value: 'x' }]);
  assert.deepEqual(testsOf({ match: { any: ['x', 'y'] } }), [{ kind: 'any', values: new Set(['x', 'y']) }]);
  assert.deepEqual(testsOf({ match: { except: [1, 2] } }), [{ kind: 'except', values: new Set([1, 2]) }]);
  assert.deepEqual(testsOf({ match: { text: 'x y' } }), [{ kind: 'text', text: 'x y' }]);
  assert.deepEqual(testsOf({ match: { phrase: 'x y' } }), [{ kind: 'text', text: 'x y', mode: 'phrase' }]);
  assert.deepEqual(testsOf({ match: { text_any: ' x  y ' } }), [
    { kind: 'text', text: 'x' },
    { kind: 'text', text: 'y' },
  ]);
  assert.deepEqual(testsOf({ range: { gt: 1, lte: 2.5, lt: null } }), [{ ...open, kind: 'range', gt: 1, lte: 2.5 }]);
  assert.deepEqual(testsOf({ range: { gte: '1970-01-02' } }), [{ ...open, kind: 'datetime', gte: 86_400_000 }]);
  assert.deepEqual(testsOf({ values_count: { gte: 2 } }), [{ ...open, kind: 'values-count', gte: 2 }]);
  const corner = { lat: 1, lon: 2 };
  assert.deepEqual(testsOf({ geo_bounding_box: { top_left: corner, bottom_right: { lat: 0, lon: 3 } } }), [
    { kind: 'geo-box', top: 1, left: 2, bottom: 0, right: 3 },
  ]);
  assert.deepEqual(testsOf({ geo_radius: { center: corner, radius: 10 } }), [
    { kind: 'geo-radius', lat: 1, lon: 2, radius: 10 },
  ]);
  const ring = [corner, { lat: 1, lon: 3 }, { lat: 2, lon: 3 }, corner];
  assert.deepEqual(testsOf({ geo_polygon: { exterior: { points: ring }, interiors: [{ points: ring }] } }), [
    { kind: 'geo-polygon', exterior: ring, interiors: [ring] },
  ]);
  const steps = [{ kind: 'key', name: 'a' }];
  const others = readFilter(
    {
      must: [
        { is_empty: { key } },
        { is_null: { key } },
        { has_id: [7, '550E8400-E29B-41D4-A716-446655440000'] },
        { has_vector: '' },
        { nested: { key, filter: { should: { is_null: { key } } } } },
        { should: [] },
      ],
      min_should: { conditions: [{ has_id: [] }], min_count: 1 },
    },
    'filter',
  );
  const empty = { must: [], should: [], mustNot: [], minShould: null };
  const isNull = [
    { kind: 'is-null', key: { text: key, steps } },
    { kind: 'is-null', key: { text: `${key}[]`, steps: [...steps, { kind: 'each' }] } },
  ];
  const holdsNull = { kind: 'filter', filter: { ...empty, should: isNull } };
  assert.deepEqual(others.must, [
    { kind: 'is-empty', key: { text: key, steps } },
    holdsNull,
    { kind: 'has-id', ids: new Set([7, '550e8400-e29b-41d4-a716-446655440000']) },
    { kind: 'has-vector', name: '' },
    {
      kind: 'nested',
      key: { text: key, steps },
      filter: { ...empty, should: [holdsNull] },
    },
    { kind: 'filter', filter: empty },
  ]);
  assert.deepEqual(others.minShould, { conditions: [{ kind: 'has-id', ids: new Set() }], count: 1 });
});

test('several operators in one condition stand side by side', () => {
  assert.deepEqual(
    testsOf({ match: { value: 1 }, range: { gt: 5 }, values_count: null }).map((found) => found.kind),
    ['value', 'range'],
  );
});

test('an unknown key is refused with the nearest known one: a filter is never lost', () => {
  assert.equal(refusal({ mustnot: [] }), "filter: unknown key 'mustnot' (did you mean 'must_not'?)");
  assert.equal(
    refusal({ must: [{ key, mach: { value: 1 } }] }),
    "filter.must[0]: unknown key 'mach' (did you mean 'match'?)",
  );
  assert.equal(
    refusal({ should: { key, range: { gte: 1, lower: 2 } } }),
    "filter.should.range: unknown key 'lower'; allowed: gt, gte, lt, lte",
  );
  assert.match(
    refusal({ must: [{ field: 'a', match: { value: 1 } }] })!,
    /^filter\.must\[0\]: unknown key 'field'; allowed: key, match,/,
  );
  assert.equal(refusal({ must: [{ has_id: [1], must: [] }] }), "filter.must[0]: unknown key 'must'; allowed: has_id");
});

test('a filter in the words of another database is refused with an example', () => {
  const allowed =
    'allowed: must, should, must_not, min_should, such as {"must": [{"key": "city", "match": {"value": "Rome"}}]}';
  assert.equal(refusal({ year: { $gte: 2020 } }), `filter: unknown key 'year'; ${allowed}`);
  assert.equal(refusal({ $and: [{ year: 2020 }] }), `filter: unknown key '$and'; ${allowed}`);
});

const wrong: [unknown, string][] = [
  [null, 'filter: expected an object, got null'],
  [[], 'filter: expected an object, got an array'],
  [{ must: 'x' }, 'filter.must: expected an object, got a string'],
  [{ must: [{}] }, 'filter.must[0]: expected a condition, got an empty object'],
  [
    { must: [{ match: { value: 1 } }] },
    "filter.must[0]: 'match' needs a 'key' next to it, the path of the payload field",
  ],
  [
    { must: [{ key }] },
    "filter.must[0]: a condition on 'key' needs one of match, range, geo_bounding_box, geo_radius, geo_polygon, values_count, is_empty, is_null",
  ],
  [{ must: [{ key: 5, match: { value: 1 } }] }, 'filter.must[0].key: expected a key path, got a number'],
  [
    { must: [{ key, match: {} }] },
    'filter.must[0].match: expected one of value, any, except, prefix, text, text_any, phrase, substring',
  ],
  [
    { must: [{ key, match: { value: 1, text: 'x' } }] },
    'filter.must[0].match: expected one of value, any, except, prefix, text, text_any, phrase, substring, got value and text',
  ],
  [
    { must: [{ key, match: { value: 1.5 } }] },
    'filter.must[0].match.value: expected a string, an integer or a boolean, got 1.5; use range for other numbers',
  ],
  [
    { must: [{ key, match: { value: 2 ** 60 } }] },
    'filter.must[0].match.value: expected an integer between -2^53 and 2^53; store larger ones as strings',
  ],
  [
    { must: [{ key, match: { any: 'x' } }] },
    'filter.must[0].match.any: expected an array of strings or of integers, got a string',
  ],
  [
    { must: [{ key, match: { any: ['x', 1] } }] },
    'filter.must[0].match.any[1]: expected strings alone or integers alone',
  ],
  [
    { must: [{ key, match: { except: [true] } }] },
    'filter.must[0].match.except[0]: expected a string or an integer, got a boolean',
  ],
  [{ must: [{ key, match: { text: 5 } }] }, 'filter.must[0].match.text: expected a string, got a number'],
  [{ must: [{ key, range: { gte: true } }] }, 'filter.must[0].range.gte: expected a number, got a boolean'],
  [{ must: [{ key, range: { gte: '2020-01-01', lt: 5 } }] }, 'filter.must[0].range.lt: expected a time, got a number'],
  [
    { must: [{ key, range: { gte: 'soon' } }] },
    "filter.must[0].range.gte: 'soon' is not an RFC 3339 time, such as 2026-01-31T12:00:00Z",
  ],
  [
    { must: [{ key, values_count: { gt: -1 } }] },
    'filter.must[0].values_count.gt: expected an integer from 0 on, got -1',
  ],
  [{ must: [{ key, is_null: 'yes' }] }, 'filter.must[0].is_null: expected true or false, got a string'],
  [{ must: [{ is_empty: 'a' }] }, 'filter.must[0].is_empty: expected an object, got a string'],
  [{ must: [{ has_id: 5 }] }, 'filter.must[0].has_id: expected an array of point ids, got a number'],
  [
    { must: [{ has_id: ['a'] }] },
    'filter.must[0].has_id[0]: expected an unsigned integer up to 2^53-1 or a UUID, got "a"',
  ],
  [
    { must: { nested: { key, filter: { must: { has_id: [1] } } } } },
    'filter.must.nested.filter.must.has_id: a nested object has no id: put has_id next to the nested condition',
  ],
  [{ must: { nested: { key } } }, 'filter.must.nested.filter: expected an object, got nothing'],
  [{ min_should: { conditions: [] } }, 'filter.min_should.conditions: expected an array of at least one condition'],
  [
    { min_should: { conditions: [{ has_id: [1] }] } },
    'filter.min_should.min_count: expected an integer from 0 on, got nothing',
  ],
  [
    { must: { key, geo_radius: { center: { lat: 91, lon: 0 }, radius: 1 } } },
    'filter.must.geo_radius.center.lat: expected degrees from -90 to 90, got 91',
  ],
  [
    { must: { key, geo_bounding_box: { top_left: { lat: 0, lon: 0 } } } },
    'filter.must.geo_bounding_box.bottom_right: expected an object, got nothing',
  ],
  [
    { must: { key, geo_polygon: { exterior: { points: [{ lat: 0, lon: 0 }] } } } },
    'filter.must.geo_polygon.exterior.points: expected 4 to 10000 points, got 1',
  ],
  [
    { must: { key, geo_polygon: { exterior: { points: [0, 1, 2, 3].map((lon) => ({ lat: 0, lon })) } } } },
    'filter.must.geo_polygon.exterior.points: the last point must be the first again, to close the line',
  ],
];
for (const [json, message] of wrong) {
  test(`400 ${message}`, () => assert.equal(refusal(json), message));
}

test('has_vector takes the name of any vector', () => {
  assert.deepEqual(readFilter({ must: { has_vector: 'image' } }, 'filter').must, [
    { kind: 'has-vector', name: 'image' },
  ]);
});

test('a filter is bounded in depth, conditions, listed values and the text that is looked for', () => {
  const chain = (levels: number) => {
    let filter: object = { must: { has_id: [] } };
    for (let i = 1; i < levels; i++) filter = { must: filter };
    return filter;
  };
  readFilter(chain(filterDepthMax), 'filter');
  assert.match(refusal(chain(filterDepthMax + 1)), /: filters nest at most 64 deep$/);
  assert.match(refusal(chain(5_000)), /: filters nest at most 64 deep$/);

  const beside = Array.from({ length: 2 * filterDepthMax }, () => ({ must: { has_id: [] } }));
  assert.equal(readFilter({ must: beside }, 'filter').must.length, 2 * filterDepthMax);

  const conditions = (count: number) => ({ should: Array.from({ length: count }, () => ({ is_null: { key } })) });
  readFilter(conditions(filterConditionsMax), 'filter');
  const tooMany = `filter.should[${filterConditionsMax}]: a filter has at most ${filterConditionsMax} conditions`;
  assert.equal(refusal(conditions(filterConditionsMax + 1)), tooMany);

  const half = Array.from({ length: filterValuesMax / 2 }, (_, i) => i);
  readFilter({ must: [{ key, match: { any: half } }, { has_id: half }] }, 'filter');
  const more = { must: [{ key, match: { any: half } }, { has_id: half }, { key, match: { except: [1] } }] };
  assert.match(refusal(more), /^filter\.must\[2\]\.match\.except: a filter lists at most 10000 values/);
  assert.match(refusal({ must: { key, match: { text: 'x'.repeat(4_097) } } }), /at most 4096 characters/);
  const side = (lon: number) => Array.from({ length: 2_000 }, (_, lat) => ({ lat: lat / 100, lon }));
  const exterior = { points: [...side(0), ...side(1), { lat: 0, lon: 0 }] };
  const polygons = (count: number) => ({ should: new Array(count).fill({ key, geo_polygon: { exterior } }) });
  readFilter(polygons(2), 'filter');
  assert.match(refusal(polygons(3)), /^filter\.should\[2\]\.geo_polygon: a filter lists at most 10000 values/);
  const words = (count: number) => ({ must: { key, match: { text_any: 'x '.repeat(count) } } });
  readFilter(words(filterTextsMax), 'filter');
  assert.match(refusal(words(filterTextsMax + 1)), /must\.match\.text_any: a filter looks for at most 128 texts/);
});

test('any JSON is a filter or a 4xx or 501, never another error', () => {
  const names = ['must', 'should', 'must_not', 'min_should', 'key', 'match', 'value', 'any', 'range', 'gte', 'nested'];
  const more = [
    'filter',
    'has_id',
    'is_null',
    'is_empty',
    'geo_polygon',
    'exterior',
    'points',
    'conditions',
    '__proto__',
  ];
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom(null, true, 0, 1, -1.5, 'a', 'a[].b', '2020-01-01', ''),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, ...more), tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(json, (value) => {
      try {
        readFilter(value, 'filter');
      } catch (error) {
        assert.ok(error instanceof FailureError, `${error}`);
        assert.ok(['invalid-request', 'unsupported'].includes(error.failure.kind));
      }
    }),
    { seed: 5, numRuns: 3_000 },
  );
});
