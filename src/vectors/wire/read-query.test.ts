import assert from 'node:assert/strict';
import test from 'node:test';
import { plainSpec, readFor, refusalOf } from '../../../test/vector-call.ts';
import type { VectorVerb } from '../verbs.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';
const vector = [0.1, 0.2, 0.3, 0.4];
const floats = new Float32Array(vector);
const filter = { must: [{ key: 'metadata.k', match: { value: 'v' } }] };
const defaults = {
  filter: null,
  limit: 10,
  offset: 0,
  scoreThreshold: null,
  exact: false,
  want: { payload: false, vector: false },
};

function queryOf(verb: VectorVerb, body: unknown, spec = plainSpec) {
  const { request } = readFor(spec, verb, body);
  assert.ok(request.kind === 'query');
  return request.query;
}

function targetOf(query: unknown) {
  return queryOf('query-points', { query }).target;
}

const nearest = { kind: 'nearest', vector: floats, mmr: null };

test('a search and a query by a vector are the same', () => {
  assert.deepEqual(queryOf('search-points', { vector }), { ...defaults, target: nearest });
  assert.deepEqual(queryOf('search-points', { vector: { name: '', vector } }), { ...defaults, target: nearest });
  for (const query of [vector, { nearest: vector }, { '': vector }]) {
    assert.deepEqual(queryOf('query-points', { query }), { ...defaults, target: nearest });
  }
});

test('a query has a page, a filter, a threshold and what is wanted', () => {
  const read = queryOf('query-points', {
    query: vector,
    filter,
    limit: 5,
    offset: 2,
    score_threshold: 0.5,
    params: { exact: true, hnsw_ef: 128, indexed_only: false, quantization: { rescore: true } },
    with_vector: false,
    with_payload: ['metadata', 'content'],
    using: '',
    prefetch: null,
  });
  assert.equal(read.filter?.must.length, 1);
  assert.deepEqual(
    { ...read, filter: null },
    {
      target: nearest,
      filter: null,
      limit: 5,
      offset: 2,
      scoreThreshold: 0.5,
      exact: true,
      want: { payload: { include: ['metadata', 'content'] }, vector: false },
    },
  );
});

test('old clients say top for limit', () => {
  assert.equal(queryOf('search-points', { vector, top: 3 }).limit, 3);
});

test('a query is a point by its id, points to be like or unlike, an order, chance, or all points', () => {
  assert.deepEqual(targetOf(7), { kind: 'nearest', vector: { id: 7 }, mmr: null });
  assert.deepEqual(targetOf(uuid), { kind: 'nearest', vector: { id: uuid }, mmr: null });
  assert.deepEqual(targetOf({ recommend: { positive: [7, vector], negative: [uuid] } }), {
    kind: 'recommend',
    positive: [{ id: 7 }, floats],
    negative: [{ id: uuid }],
    strategy: 'average_vector',
  });
  assert.deepEqual(targetOf({ order_by: 'a.b' }), {
    kind: 'order-by',
    order: { key: 'a.b', direction: 'asc', startFrom: null },
  });
  assert.deepEqual(targetOf({ order_by: { key: 't', direction: 'desc', start_from: '2026-01-01T00:00:00Z' } }), {
    kind: 'order-by',
    order: { key: 't', direction: 'desc', startFrom: '2026-01-01T00:00:00Z' },
  });
  assert.deepEqual(targetOf({ sample: 'random' }), { kind: 'sample' });
  assert.deepEqual(targetOf(null), { kind: 'all' });
  assert.deepEqual(targetOf(undefined), { kind: 'all' });
});

test('points by chance are not passed over, as in Qdrant', () => {
  const sampled = queryOf('query-points', { query: { sample: 'random' }, offset: 10, limit: 4 });
  assert.deepEqual([sampled.offset, sampled.limit], [0, 4]);
  const fromPrefetch = queryOf('query-points', {
    prefetch: { query: vector },
    query: { sample: 'random' },
    offset: 10,
  });
  assert.equal(fromPrefetch.offset, 10);
});

test('a query may ask for variety, among as many candidates as it answers unless it says how many', () => {
  const mmr = (options: object) => {
    const target = queryOf('query-points', { limit: 4, query: { nearest: vector, mmr: options } }).target;
    return target.kind === 'nearest' && target.mmr;
  };
  assert.deepEqual(mmr({ diversity: 0.7, candidates_limit: 100 }), { diversity: 0.7, candidates: 100 });
  assert.deepEqual(mmr({}), { diversity: 0.5, candidates: 4 });
});

test('each part of a formula is read', () => {
  const read = (formula: unknown) => {
    const target = targetOf({ formula });
    assert.ok(target.kind === 'formula');
    return target.formula.expression;
  };
  const key = { text: 'a', steps: [{ kind: 'key', name: 'a' }] };
  const a = { kind: 'payload', key };
  const one = { kind: 'constant', value: 1 };
  const decay = { kind: 'decay', x: a, target: null, midpoint: 0.5, scale: 1 };
  for (const [formula, expression] of [
    ['$score[2]', { kind: 'score', prefetch: 2 }],
    [{ div: { left: 'a', right: 1 } }, { kind: 'div', left: a, right: one, byZero: null }],
    [{ div: { left: 'a', right: 1, by_zero_default: 0 } }, { kind: 'div', left: a, right: one, byZero: 0 }],
    [{ pow: { base: 'a', exponent: 1 } }, { kind: 'pow', base: a, exponent: one }],
    [{ abs: 'a' }, { kind: 'abs', of: a }],
    [
      { geo_distance: { origin: { lat: 1, lon: 2 }, to: 'a' } },
      { kind: 'geo-distance', origin: { lat: 1, lon: 2 }, to: key },
    ],
    [
      { datetime: '2026-01-02T00:00:00Z' },
      { kind: 'datetime', text: '2026-01-02T00:00:00Z', seconds: Date.UTC(2026, 0, 2) / 1_000 },
    ],
    [{ datetime_key: 'a' }, { kind: 'datetime-key', key }],
    [{ lin_decay: { x: 'a', midpoint: 1 } }, { ...decay, shape: 'lin', midpoint: 1 }],
    [{ exp_decay: { x: 'a' } }, { ...decay, shape: 'exp' }],
    [{ gauss_decay: { x: 'a', target: 1, scale: 2 } }, { ...decay, shape: 'gauss', target: one, scale: 2 }],
  ]) {
    assert.deepEqual(read(formula), expression, JSON.stringify(formula));
  }
});

test('recommend as old clients ask', () => {
  assert.deepEqual(
    queryOf('recommend-points', { positive: [1], negative: [vector], strategy: 'best_score', limit: 3 }),
    {
      ...defaults,
      limit: 3,
      target: { kind: 'recommend', positive: [{ id: 1 }], negative: [floats], strategy: 'best_score' },
    },
  );
});

test('batches hold several queries', () => {
  for (const [verb, search, form] of [
    ['search-batch', { vector }, 'search'],
    ['recommend-batch', { positive: [1] }, 'search'],
    ['query-batch', { query: vector }, 'query'],
  ] as const) {
    const { request } = readFor(plainSpec, verb, { searches: [search, { ...search, limit: 3 }] });
    assert.ok(request.kind === 'queries');
    assert.deepEqual([request.form, request.queries.map(({ limit }) => limit)], [form, [10, 3]]);
  }
});

test('groups have a key, a size and a number', () => {
  const { filter: _, offset, limit, ...shared } = defaults;
  for (const [verb, body] of [
    ['search-groups', { vector, group_by: 'a.b', group_size: 2, limit: 4 }],
    ['query-groups', { query: vector, group_by: 'a.b', group_size: 2, limit: 4 }],
  ] as const) {
    const { request } = readFor(plainSpec, verb, body);
    const query = { ...shared, filter: null, target: nearest, groupBy: 'a.b', groups: 4, groupSize: 2 };
    assert.deepEqual(request, { kind: 'groups', collection: 'plain', query, lookup: null });
  }
});

test('points are scrolled, counted and their values told', () => {
  const read = (verb: VectorVerb, body: unknown) => readFor(plainSpec, verb, body).request;
  const scroll = { filter: null, limit: 10, offset: null, orderBy: null, want: { payload: true, vector: false } };
  assert.deepEqual(read('scroll-points', {}), { kind: 'scroll', collection: 'plain', query: scroll });
  assert.deepEqual(
    read('scroll-points', { offset: uuid, limit: 2, with_payload: false, with_vector: true, filter: null }),
    {
      kind: 'scroll',
      collection: 'plain',
      query: { ...scroll, offset: uuid, limit: 2, want: { payload: false, vector: true } },
    },
  );
  assert.deepEqual(read('count-points', { exact: true }), { kind: 'count', collection: 'plain', filter: null });
  const facet = { key: 'a.b', filter: null, limit: 10 };
  assert.deepEqual(read('facet-points', { key: 'a.b' }), { kind: 'facet', collection: 'plain', query: facet });
  const want = { payload: true, vector: true };
  const get = readFor(plainSpec, 'get-point', '', { params: { id: '7' } }).request;
  assert.deepEqual(get, { kind: 'get', collection: 'plain', id: 7, want });
});

const taste = 'use recommend with positive and negative';
for (const [verb, body, message] of [
  ['search-points', {}, '400 vector: is missing: give a vector, or a text to embed in text'],
  ['search-points', { vector: [1] }, '400 vector: expected 4 numbers, got 1'],
  ['search-points', { vector, text: 'a' }, '400 text: give text or vector, not both'],
  ['search-points', { vector, fitler: {} }, "400 body: unknown key 'fitler' (did you mean 'filter'?)"],
  ['search-points', { vector, limit: 0 }, '400 limit: expected a whole number from 1 to 100000, got 0'],
  ['search-points', { vector, limit: 1e6 }, '400 limit: expected a whole number from 1 to 100000, got 1000000'],
  ['search-points', { vector, offset: -1 }, '400 offset: expected a whole number from 0 to 1000000, got -1'],
  ['search-points', { vector, score_threshold: '1' }, "400 score_threshold: expected a finite number, got '1'"],
  ['search-points', { vector, params: { exact: 1 } }, '400 params.exact: expected true or false, got 1'],
  [
    'search-points',
    { vector, params: { ef: 1 } },
    "400 params: unknown key 'ef'; allowed: exact, hnsw_ef, indexed_only, quantization, acorn, idf",
  ],
  [
    'search-points',
    { vector, with_payload: 'text' },
    '400 with_payload: expected true, false, an array of keys, or {"include"} or {"exclude"}, got a string',
  ],
  ['search-points', { vector, with_payload: {} }, '400 with_payload: give either include or exclude'],
  [
    'search-points',
    { vector, with_vectors: false, with_vector: true },
    '400 with_vectors: give with_vector or with_vectors, not both',
  ],
  ['search-points', { vector, with_vector: [1] }, '400 with_vector[0]: expected a name, got a number'],
  [
    'search-points',
    { vector: { name: 'a', vector } },
    "400 vector: the collection 'plain' has no vector named 'a'; it has an unnamed one",
  ],
  [
    'query-points',
    { query: 'what is it?' },
    `400 query: a string must be the id of a point, a UUID, which 'what is it?' is not. To search by text send {"text": …}`,
  ],
  ['query-points', { query: { nearst: vector } }, "400 query: unknown key 'nearst' (did you mean 'nearest'?)"],
  ['query-points', { query: {} }, '400 query: expected an array of 4 numbers or {"text"}, got an object'],
  [
    'query-points',
    { query: { recommend: {} } },
    '400 query.recommend.positive: must not be empty with the strategy average_vector',
  ],
  [
    'query-points',
    { query: { recommend: { strategy: 'best_score' } } },
    '400 query.recommend.positive: must not be empty',
  ],
  [
    'query-points',
    { query: { recommend: { positive: [1], strategy: 'best' } } },
    "400 query.recommend.strategy: expected average_vector, best_score, sum_scores, got 'best'",
  ],
  ['query-points', { query: { sample: 'first' } }, "400 query.sample: expected random, got 'first'"],
  [
    'query-points',
    { query: { order_by: { key: 'a', direction: 'up' } } },
    "400 query.order_by.direction: expected asc, desc, got 'up'",
  ],
  [
    'query-points',
    { query: { order_by: { key: 'a', start_from: 'soon' } } },
    "400 query.order_by.start_from: expected a number or an RFC 3339 time, got 'soon'",
  ],
  [
    'query-points',
    { query: { nearest: vector, mmr: { diversity: 2 } } },
    '400 query.mmr.diversity: expected a number from 0 to 1, got 2',
  ],
  [
    'query-points',
    { query: { nearest: vector, mmr: { candidates_limit: 20_000 } } },
    '400 query.mmr.candidates_limit: expected a whole number from 1 to 16384, got 20000',
  ],
  ['query-points', { query: { fusion: 'max' } }, "400 query.fusion: expected rrf, dbsf, got 'max'"],
  [
    'query-points',
    { query: { rrf: { k: 0 } } },
    '400 query.rrf.k: expected a whole number from 1 to 9007199254740991, got 0',
  ],
  [
    'query-points',
    { query: { rrf: { weights: [-1] } } },
    '400 query.rrf.weights[0]: expected a number from 0 on, got -1',
  ],
  [
    'query-points',
    { query: { formula: { sum: ['$score[a]'] } } },
    "400 query.formula.sum[0]: expected $score, $score[0] or a payload key, got '$score[a]'",
  ],
  [
    'query-points',
    { query: { formula: { exp_decay: { x: 'a', midpoint: 1 } } } },
    '400 query.formula.exp_decay.midpoint: expected a number between 0 and 1, got 1',
  ],
  [
    'query-points',
    { query: { formula: { sun: [1] } } },
    "400 query.formula: unknown key 'sun'; allowed: key, match, range, geo_bounding_box, geo_radius, geo_polygon, values_count, is_empty, is_null, has_id, has_vector, nested, must, should, must_not, min_should",
  ],
  ...(
    [
      [true, ': expected a number, a variable or an expression, got a boolean'],
      [{ sum: [] }, '.sum: must not be empty'],
      [{ mult: new Array(101).fill(1) }, '.mult: at most 100 elements, got 101'],
      [
        { sum: new Array(11).fill({ sum: new Array(100).fill(1) }) },
        '.sum[9].sum[89]: a formula has at most 1000 parts',
      ],
      [{ div: { left: 1, right: 2, by_zero_default: 'x' } }, ".div.by_zero_default: expected a finite number, got 'x'"],
      [{ geo_distance: { origin: { lat: 91 }, to: 'at' } }, '.geo_distance.origin: expected {"lat", "lon"}'],
      [{ datetime: 'noon' }, ".datetime: expected an RFC 3339 time, got 'noon'"],
      [{ datetime_key: 1 }, '.datetime_key: expected a key path, got a number'],
      [{ lin_decay: { x: 'a', midpoint: 1.5 } }, '.lin_decay.midpoint: expected a number from 0 to 1, got 1.5'],
      [{ gauss_decay: { x: 'a', midpoint: 0 } }, '.gauss_decay.midpoint: expected a number between 0 and 1, got 0'],
      [{ exp_decay: { x: 'a', scale: 0 } }, '.exp_decay.scale: expected a number above 0, got 0'],
    ] as const
  ).map(([formula, message]) => ['query-points', { query: { formula } }, `400 query.formula${message}`] as const),
  [
    'query-points',
    { query: { relevance_feedback: {} } },
    `501 query.relevance_feedback: this kind of query is not supported; ${taste}.`,
  ],
  [
    'query-points',
    { prefetch: [{ query: vector }, { query: [1] }], query: { fusion: 'rrf' } },
    '400 prefetch[1].query: expected 4 numbers, got 1',
  ],
  [
    'query-points',
    { prefetch: { query: vector, offset: 1 }, query: { fusion: 'rrf' } },
    "400 prefetch: unknown key 'offset'; allowed: query, text, prefetch, using, lookup_from, filter, params, score_threshold, limit",
  ],
  [
    'query-points',
    { prefetch: Array.from({ length: 65 }, () => ({ query: 1 })), query: { fusion: 'rrf' } },
    '400 prefetch[64]: at most 64 prefetches a query',
  ],
  [
    'query-points',
    { query: vector, using: 'title' },
    "400 query: the collection 'plain' has no vector named 'title'; it has an unnamed one",
  ],
  [
    'query-points',
    { query: 1, lookup_from: { collection: 'x/y' } },
    "400 lookup_from.collection: expected 1 to 255 letters, digits, '_', '-' or '.', got 'x/y'",
  ],
  [
    'query-batch',
    { searches: [{ query: vector }, { query: [1] }] },
    '400 searches[1].query: expected 4 numbers, got 1',
  ],
  ['query-batch', { searches: [{ qery: 1 }] }, "400 searches[0]: unknown key 'qery' (did you mean 'query'?)"],
  [
    'query-batch',
    { searches: [{ limit: 60_000 }, { limit: 60_000 }] },
    '400 searches: at most 100000 points a call (the sum of limit), got 120000',
  ],
  ['query-groups', { query: vector }, '400 group_by: expected a key path, got nothing'],
  [
    'query-groups',
    { query: vector, group_by: 'a', limit: 1_000, group_size: 1_000 },
    '400 group_size: at most 100000 points a call (limit × group_size), got 1000000',
  ],
  [
    'query-groups',
    { query: vector, group_by: 'a', with_lookup: { collection: 'x', with_vector: true, with_vectors: true } },
    '400 with_lookup.with_vectors: give with_vector or with_vectors, not both',
  ],
  ['recommend-points', { negative: [1] }, '400 positive: must not be empty with the strategy average_vector'],
  ['scroll-points', { offset: 1, order_by: 'a' }, '400 offset: does not work with order_by. Use order_by.start_from'],
  ['scroll-points', { offset: 'x' }, '400 offset: expected an unsigned integer up to 2^53-1 or a UUID, got "x"'],
  ['scroll-points', { limits: 1 }, "400 body: unknown key 'limits' (did you mean 'limit'?)"],
  ['count-points', { exact: 'yes' }, "400 exact: expected true or false, got 'yes'"],
  ['facet-points', {}, '400 key: expected a key path, got nothing'],
] as const) {
  test(`refused: ${verb}: ${message}`, () => {
    assert.equal(
      refusalOf(() => readFor(plainSpec, verb, body)),
      message,
    );
  });
}

test('the id in a path is a number or a UUID', () => {
  const read = (id: string) => refusalOf(() => readFor(plainSpec, 'get-point', '', { params: { id } }));
  assert.equal(read('x'), '400 id: expected an unsigned integer up to 2^53-1 or a UUID, got "x"');
  assert.equal(
    read('9007199254740993'),
    '400 id: expected an unsigned integer up to 2^53-1 or a UUID, got 9007199254740992',
  );
  assert.equal(read('-1'), '400 id: expected an unsigned integer up to 2^53-1 or a UUID, got "-1"');
});
