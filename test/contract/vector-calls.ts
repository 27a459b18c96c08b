import type { VectorVerb } from '../../src/vectors/verbs.ts';

export const twoPoints = [
  { id: 1, vector: [1, 0, 0, 0], payload: { text: 'first', source: 'a' } },
  { id: 2, vector: [0, 1, 0, 0], payload: { text: 'second', source: 'b' } },
];

/** A call of each verb that succeeds on a collection of four dimensions with `twoPoints`, in the order of the verbs. */
export const vectorCalls: Record<VectorVerb, (collection: string) => readonly [path: string, json?: unknown]> = {
  'list-collections': () => ['/collections'],
  'create-collection': (c) => ['/collections', { name: `${c}-1`, vector_size: 4, distance: 'Cosine' }],
  'put-collection': (c) => [`/collections/${c}-2`, { vectors: { size: 4, distance: 'Cosine' } }],
  'inspect-collection': (c) => [`/collections/${c}`],
  'update-collection': (c) => [`/collections/${c}`, { optimizers_config: { indexing_threshold: 10_000 } }],
  'delete-collection': (c) => [`/collections/${c}`],
  'collection-exists': (c) => [`/collections/${c}/exists`],
  'change-aliases': (c) => [
    '/collections/aliases',
    { actions: [{ create_alias: { collection_name: c, alias_name: `${c}-3` } }] },
  ],
  'list-aliases': () => ['/aliases'],
  'collection-aliases': (c) => [`/collections/${c}/aliases`],
  'create-index': (c) => [`/collections/${c}/index`, { field_name: 'source', field_schema: 'keyword' }],
  'delete-index': (c) => [`/collections/${c}/index/source`],
  'upsert-points': (c) => [`/collections/${c}/points`, { points: twoPoints }],
  'post-points': (c) => [`/collections/${c}/points`, { points: twoPoints }],
  'get-point': (c) => [`/collections/${c}/points/1`],
  'delete-points': (c) => [`/collections/${c}/points/delete`, { points: [9] }],
  'set-payload': (c) => [`/collections/${c}/points/payload`, { payload: { a: 1 }, points: [1] }],
  'overwrite-payload': (c) => [`/collections/${c}/points/payload`, { payload: { a: 1 }, points: [1] }],
  'delete-payload': (c) => [`/collections/${c}/points/payload/delete`, { keys: ['a'], points: [1] }],
  'clear-payload': (c) => [`/collections/${c}/points/payload/clear`, { points: [1] }],
  'update-vectors': (c) => [`/collections/${c}/points/vectors`, { points: [{ id: 1, vector: [1, 1, 0, 0] }] }],
  'delete-vectors': (c) => [`/collections/${c}/points/vectors/delete`, { points: [1], vector: [''] }],
  'batch-points': (c) => [
    `/collections/${c}/points/batch`,
    { operations: [{ upsert: { points: twoPoints } }, { delete: { points: [9] } }] },
  ],
  'search-points': (c) => [`/collections/${c}/points/search`, { vector: [1, 0, 0, 0], limit: 1 }],
  'search-batch': (c) => [`/collections/${c}/points/search/batch`, { searches: [{ vector: [1, 0, 0, 0], limit: 1 }] }],
  'search-groups': (c) => [
    `/collections/${c}/points/search/groups`,
    { vector: [1, 0, 0, 0], limit: 1, group_by: 'source', group_size: 1 },
  ],
  'recommend-points': (c) => [`/collections/${c}/points/recommend`, { positive: [1], limit: 1 }],
  'recommend-batch': (c) => [`/collections/${c}/points/recommend/batch`, { searches: [{ positive: [1], limit: 1 }] }],
  'query-points': (c) => [`/collections/${c}/points/query`, { query: [1, 0, 0, 0], limit: 1 }],
  'query-batch': (c) => [`/collections/${c}/points/query/batch`, { searches: [{ query: [1, 0, 0, 0], limit: 1 }] }],
  'query-groups': (c) => [
    `/collections/${c}/points/query/groups`,
    { query: [1, 0, 0, 0], limit: 1, group_by: 'source', group_size: 1 },
  ],
  'matrix-pairs': (c) => [`/collections/${c}/points/search/matrix/pairs`, { sample: 2, limit: 1 }],
  'matrix-offsets': (c) => [`/collections/${c}/points/search/matrix/offsets`, { sample: 2, limit: 1 }],
  'scroll-points': (c) => [`/collections/${c}/points/scroll`, { limit: 1 }],
  'count-points': (c) => [`/collections/${c}/points/count`, { exact: true }],
  'facet-points': (c) => [`/collections/${c}/facet`, { key: 'source' }],
};
