import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PointQuery, Target } from '../vector-store.ts';
import { readFormula } from '../wire/read-target.ts';
import { keyInPayload, partitionOf } from './partition.ts';
import { writeQuery } from './write-query.ts';

const partition = partitionOf({ generation: 'g1', size: 2, distance: 'Dot' } as never);
const [near, far] = [new Float32Array([1, 0.5]), new Float32Array([0, 0.25])];
const [id] = [partition.pointIdOf(7)];
const usual: Omit<PointQuery, 'target'> = {
  filter: null,
  limit: 3,
  offset: 0,
  scoreThreshold: null,
  exact: false,
  want: { payload: false, vector: false },
};

function written(query: Partial<PointQuery> & { target: Target }) {
  return JSON.parse(writeQuery(partition, { ...usual, ...query }, new Map() as never)) as Record<string, unknown>;
}

const rrf = { kind: 'rrf', k: 60 } as const;
const targets: readonly [Target, unknown][] = [
  [{ kind: 'nearest', vector: near, mmr: null }, [1, 0.5]],
  [
    { kind: 'nearest', vector: near, mmr: { diversity: 0.5, candidates: 20 } },
    { nearest: [1, 0.5], mmr: { diversity: 0.5, candidates_limit: 20 } },
  ],
  [{ kind: 'nearest', vector: { id: 7 }, mmr: null }, id],
  [
    { kind: 'recommend', positive: [near], negative: [{ id: 7 }], strategy: 'best_score' },
    { recommend: { positive: [[1, 0.5]], negative: [id], strategy: 'best_score' } },
  ],
  [
    { kind: 'discover', target: near, context: [{ positive: far, negative: near }] },
    {
      discover: {
        target: [1, 0.5],
        context: [{ positive: [0, 0.25], negative: [1, 0.5] }],
      },
    },
  ],
  [
    { kind: 'context', context: [{ positive: far, negative: near }] },
    { context: [{ positive: [0, 0.25], negative: [1, 0.5] }] },
  ],
  [{ kind: 'fusion', method: { kind: 'dbsf' } }, { fusion: 'dbsf' }],
  [{ kind: 'fusion', method: { ...rrf, weights: null } }, { rrf: { k: 60 } }],
  [{ kind: 'fusion', method: { ...rrf, weights: [0.5, 1] } }, { rrf: { k: 60, weights: [0.5, 1] } }],
  [{ kind: 'sample' }, { sample: 'random' }],
  [{ kind: 'all' }, undefined],
];

test('each kind of query is written in the words of Qdrant', () => {
  for (const [target, query] of targets) assert.deepEqual(written({ target }).query, query, JSON.stringify(target));
});

test('a search within one looks among the same points, and has bounds of its own', () => {
  const target: Target = { kind: 'fusion', method: { kind: 'dbsf' } };
  const part = { ...usual, target: targets[0]![0], using: 'title', scoreThreshold: 0.5, exact: true, limit: 9 };
  const { prefetch, ...query } = written({ target, prefetch: [part], offset: 5 });
  const inside = { must: [{ key: 'g', match: { value: 'g1' } }] };
  const { with_payload: _, with_vector: __, ...bounds } = query;
  assert.deepEqual(bounds, { query: { fusion: 'dbsf' }, filter: inside, limit: 3, offset: 5 });
  assert.deepEqual(prefetch, [
    {
      query: [1, 0.5],
      filter: inside,
      limit: 9,
      using: 'title',
      score_threshold: 0.5,
      params: { exact: true },
    },
  ]);
});

test('each part of a formula is written as it was read, with keys of the payload where Qdrant has them', () => {
  const formulaOver = (key: string) => ({
    sum: [
      2.5,
      '$score[1]',
      key,
      { mult: [{ neg: key }, { abs: key }] },
      { div: { left: key, right: 2 } },
      { div: { left: key, right: 2, by_zero_default: 0 } },
      { pow: { base: key, exponent: 3 } },
      { geo_distance: { origin: { lat: 1, lon: 2 }, to: key } },
      { datetime: '2026-01-02T00:00:00Z' },
      { datetime_key: key },
      { lin_decay: { x: key, midpoint: 0.25, scale: 2 } },
      { gauss_decay: { x: key, target: { datetime: '2026-01-02T00:00:00Z' }, midpoint: 0.5, scale: 1 } },
    ],
  });
  const read = readFormula({ formula: formulaOver('a'), defaults: { a: 1, '$score[1]': 0 } }, 'query');
  assert.deepEqual(written({ target: { kind: 'formula', formula: read } }).query, {
    formula: formulaOver(keyInPayload('a')),
    defaults: { [keyInPayload('a')]: 1, '$score[1]': 0 },
  });
});
