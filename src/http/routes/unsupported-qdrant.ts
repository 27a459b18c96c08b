import type { Failure } from '../../kernel/failure.ts';
import type { UnsupportedCall } from './unsupported-call.ts';

const snapshots = 'Snapshots are not supported. `culvert vectors export` and `import` move data.';
const shards = 'Collections have no shards. Leave shard keys out.';
const cluster = 'There is no Qdrant cluster to manage behind this API. GET /readyz says whether the server is ready.';
const quotas = 'There are no quotas of a Qdrant node. Plans limit storage and calls; GET /v1/usage shows them.';
const telemetry = "Qdrant's telemetry is not supported. GET /metrics (admin key) has the metrics of the gateway.";
const health =
  'This path is not supported. GET /healthz and GET /readyz at the root say whether the gateway lives and is ready.';
const discovery =
  'This path is not supported. Use POST …/points/query with `query: {discover: {target, context}}` or `{context}`.';

/** Calls of Qdrant's API that Culvert does not do: they get a 501 that says so, never something half done. */
export const unsupportedQdrantCalls: readonly UnsupportedCall[] = [
  { path: '/snapshots', methods: ['GET', 'POST'], message: snapshots },
  { path: '/snapshots/:snapshot', methods: ['GET', 'DELETE'], message: snapshots },
  { path: '/collections/:collection/snapshots', methods: ['GET', 'POST'], message: snapshots },
  { path: '/collections/:collection/snapshots/upload', methods: ['POST'], message: snapshots },
  { path: '/collections/:collection/snapshots/recover', methods: ['PUT'], message: snapshots },
  { path: '/collections/:collection/snapshots/:snapshot', methods: ['GET', 'DELETE'], message: snapshots },
  { path: '/collections/:collection/shards', methods: ['GET', 'PUT'], message: shards },
  { path: '/collections/:collection/shards/delete', methods: ['POST'], message: shards },
  { path: '/collections/:collection/shards/:shard/snapshot', methods: ['GET'], message: snapshots },
  { path: '/collections/:collection/shards/:shard/snapshots', methods: ['GET', 'POST'], message: snapshots },
  { path: '/collections/:collection/shards/:shard/snapshots/upload', methods: ['POST'], message: snapshots },
  { path: '/collections/:collection/shards/:shard/snapshots/recover', methods: ['PUT'], message: snapshots },
  {
    path: '/collections/:collection/shards/:shard/snapshots/:snapshot',
    methods: ['GET', 'DELETE'],
    message: snapshots,
  },
  { path: '/cluster', methods: ['GET'], message: cluster },
  { path: '/cluster/telemetry', methods: ['GET'], message: cluster },
  { path: '/cluster/recover', methods: ['POST'], message: cluster },
  { path: '/quotas', methods: ['GET', 'PUT'], message: quotas },
  { path: '/cluster/peer/:peer', methods: ['DELETE'], message: cluster },
  { path: '/collections/:collection/cluster', methods: ['GET', 'POST'], message: cluster },
  {
    path: '/collections/:collection/optimizations',
    methods: ['GET'],
    message: 'There are no optimizations to follow: every point can be found once its write is answered.',
  },
  {
    path: '/collections/:collection/vectors/:vector',
    methods: ['PUT', 'DELETE'],
    message:
      'A collection gets the names of its vectors when it is made, and they never change. Make a new collection.',
  },
  { path: '/collections/:collection/points/discover', methods: ['POST'], message: discovery },
  { path: '/collections/:collection/points/discover/batch', methods: ['POST'], message: discovery },
  {
    path: '/collections/:collection/points/recommend/groups',
    methods: ['POST'],
    message: 'Use POST …/points/query/groups with `query: {recommend: …}`.',
  },
  { path: '/telemetry', methods: ['GET'], message: telemetry },
  { path: '/metrics', methods: ['GET'], message: telemetry },
  {
    path: '/issues',
    methods: ['GET', 'DELETE'],
    message: "Qdrant's issues are not supported. `culvert doctor` lists those of the gateway.",
  },
  { path: '/healthz', methods: ['GET'], message: health },
  { path: '/livez', methods: ['GET'], message: health },
  { path: '/readyz', methods: ['GET'], message: health },
];

/** At the root these are the gateway's own. */
export const gatewayRootPaths: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

export function unsupportedQdrant({ message }: UnsupportedCall): Failure {
  return { kind: 'unsupported', message };
}
