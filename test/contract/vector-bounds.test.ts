import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

/* Bounds of vector calls (docs/vectors.md): what is at one is taken, and what is above it is refused with its number. */

const gateway = await startGateway({ after: after as TestContext['after'] });
const send = async (path: string, json: object) => {
  const response = await gateway.fetch(`/v1/vectors/collections${path}`, { json });
  return { status: response.status, text: await response.text() };
};
const made = await send('', { name: 'docs', vector_size: 2, distance: 'Dot' });
assert.equal(made.status, 200, made.text);
const points = [1, 2].map((id) => ({ id, vector: [id, 1], payload: { text: 'one two', n: id } }));
const put = await send('/docs/points', { points });
assert.equal(put.status, 200, put.text);

const many = <T>(count: number, one: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => one(at));
const vector = [1, 0];
const isOne = { key: 'n', match: { value: 1 } };
const fetchedBefore = (depth: number): object =>
  depth === 0 ? {} : { prefetch: { query: vector, limit: 1, ...fetchedBefore(depth - 1) } };
const search = (more: object) => ['/docs/points/search', { vector, limit: 1, ...more }] as const;
const query = (more: object) => ['/docs/points/query', { query: vector, limit: 1, ...more }] as const;
const filtered = (filter: object) => search({ filter });

const bounds: Record<string, readonly [max: number, call: (count: number) => readonly [path: string, json: object]]> = {
  'points of a search': [100_000, (limit) => search({ limit })],
  'points of a batch': [100_000, (limit) => ['/docs/points/search/batch', { searches: [{ vector, limit }] }]],
  'the offset': [1_000_000, (offset) => query({ offset })],
  'queries of a batch': [
    1_000,
    (count) => ['/docs/points/search/batch', { searches: many(count, () => ({ vector, limit: 1 })) }],
  ],
  'candidates of mmr': [
    16_384,
    (candidates_limit) => query({ query: { nearest: vector, mmr: { diversity: 0.5, candidates_limit } } }),
  ],
  'the sample of a matrix': [1_000, (sample) => ['/docs/points/search/matrix/pairs', { sample, limit: 1 }]],
  'examples of a recommendation': [
    128,
    (count) => ['/docs/points/recommend', { positive: many(count, () => vector), limit: 1 }],
  ],
  'prefetches in each other': [16, (depth) => query(fetchedBefore(depth))],
  'prefetches of a query': [64, (count) => query({ prefetch: many(count, () => ({ query: vector, limit: 1 })) })],
  'paths of payloads': [1_000, (count) => search({ with_payload: many(count, (at) => `a${at}`) })],
  'conditions of a filter': [1_024, (count) => filtered({ must: many(count, () => isOne) })],
  'values of a filter': [
    10_000,
    (count) => filtered({ must: [{ key: 'n', match: { any: many(count, (at) => at) } }] }),
  ],
  'texts of a filter': [
    128,
    (count) => filtered({ should: many(count, () => ({ key: 'text', match: { text: 'one' } })) }),
  ],
  'characters of a key': [1_024, (count) => filtered({ must: [{ ...isOne, key: 'k'.repeat(count) }] })],
  'steps of a key': [64, (count) => filtered({ must: [{ ...isOne, key: many(count, () => 'k').join('.') }] })],
  'points of a polygon': [
    10_000,
    (count) => {
      const corners = many(count - 1, (at) => ({ lon: (at % 2) * 10, lat: ((at >> 1) % 2) * 10 }));
      return filtered({ must: [{ key: 'at', geo_polygon: { exterior: { points: [...corners, corners[0]] } } }] });
    },
  ],
  'a text of a filter': [4_096, (count) => filtered({ must: [{ key: 'text', match: { text: 'x'.repeat(count) } }] })],
  'operations of a batch': [
    1_000,
    (count) => ['/docs/points/batch', { operations: many(count, () => ({ delete: { points: [99] } })) }],
  ],
  'keys of payloads to delete': [
    1_000,
    (count) => ['/docs/points/payload/delete', { keys: many(count, (at) => `a${at}`), points: [1] }],
  ],
  'components of a vector': [
    65_536,
    (vector_size) => ['', { name: `of-${vector_size}`, vector_size, distance: 'Dot' }],
  ],
  'vectors of a point': [
    32,
    (count) => [
      '',
      {
        name: `with-${count}`,
        vectors: Object.fromEntries(many(count, (at) => [`v${at}`, { size: 2, distance: 'Dot' }])),
      },
    ],
  ],
};

for (const [what, [max, call]] of Object.entries(bounds)) {
  test(`${what}: ${max} at most`, async () => {
    const atBound = await send(...call(max));
    assert.ok(atBound.status < 300, `${atBound.status} ${atBound.text.slice(0, 500)}`);
    const above = await send(...call(max + 1));
    assert.equal(above.status, 400, above.text.slice(0, 500));
    assert.ok(above.text.replaceAll(/(?<=\d)[,_](?=\d)/g, '').includes(String(max)), above.text);
  });
}
