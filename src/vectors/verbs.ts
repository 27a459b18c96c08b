/**
 * Every call of the vector API: `culvert` rows are the contract's own, all others Qdrant's. Paths are under
 * `/v1/vectors` and at the root; `:name` are find-my-way's parameters. A row's name is the verb everywhere.
 */
export const vectorVerbs = {
  'list-collections': { method: 'GET', path: '/collections' },
  'create-collection': { method: 'POST', path: '/collections' },
  'put-collection': { method: 'PUT', path: '/collections/:collection' },
  'inspect-collection': { method: 'GET', path: '/collections/:collection' },
  'update-collection': { method: 'PATCH', path: '/collections/:collection' },
  'delete-collection': { method: 'DELETE', path: '/collections/:collection' },
  'collection-exists': { method: 'GET', path: '/collections/:collection/exists' },
  'change-aliases': { method: 'POST', path: '/collections/aliases' },
  'list-aliases': { method: 'GET', path: '/aliases' },
  'collection-aliases': { method: 'GET', path: '/collections/:collection/aliases' },
  'create-index': { method: 'PUT', path: '/collections/:collection/index' },
  'delete-index': { method: 'DELETE', path: '/collections/:collection/index/:field' },
  'upsert-points': { method: 'PUT', path: '/collections/:collection/points' },
  /** With `points` an upsert, with `ids` a retrieve. */
  'post-points': { method: 'POST', path: '/collections/:collection/points' },
  'get-point': { method: 'GET', path: '/collections/:collection/points/:id' },
  'delete-points': { method: 'POST', path: '/collections/:collection/points/delete' },
  'set-payload': { method: 'POST', path: '/collections/:collection/points/payload' },
  'overwrite-payload': { method: 'PUT', path: '/collections/:collection/points/payload' },
  'delete-payload': { method: 'POST', path: '/collections/:collection/points/payload/delete' },
  'clear-payload': { method: 'POST', path: '/collections/:collection/points/payload/clear' },
  'update-vectors': { method: 'PUT', path: '/collections/:collection/points/vectors' },
  'delete-vectors': { method: 'POST', path: '/collections/:collection/points/vectors/delete' },
  'batch-points': { method: 'POST', path: '/collections/:collection/points/batch' },
  'search-points': { method: 'POST', path: '/collections/:collection/points/search' },
  'search-batch': { method: 'POST', path: '/collections/:collection/points/search/batch' },
  'search-groups': { method: 'POST', path: '/collections/:collection/points/search/groups' },
  'recommend-points': { method: 'POST', path: '/collections/:collection/points/recommend' },
  'recommend-batch': { method: 'POST', path: '/collections/:collection/points/recommend/batch' },
  'query-points': { method: 'POST', path: '/collections/:collection/points/query' },
  'query-batch': { method: 'POST', path: '/collections/:collection/points/query/batch' },
  'query-groups': { method: 'POST', path: '/collections/:collection/points/query/groups' },
  'matrix-pairs': { method: 'POST', path: '/collections/:collection/points/search/matrix/pairs' },
  'matrix-offsets': { method: 'POST', path: '/collections/:collection/points/search/matrix/offsets' },
  'scroll-points': { method: 'POST', path: '/collections/:collection/points/scroll' },
  'count-points': { method: 'POST', path: '/collections/:collection/points/count' },
  'facet-points': { method: 'POST', path: '/collections/:collection/facet' },
} as const satisfies Record<string, { method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; path: string }>;

export type VectorVerb = keyof typeof vectorVerbs;

export const vectorVerbNames = Object.keys(vectorVerbs) as readonly VectorVerb[];
