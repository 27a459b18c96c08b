import { shardCollections } from './shard-collections.ts';
import { shardPoints } from './shard-points.ts';
import { type ShardOptions, ShardState } from './shard-state.ts';
import { shardTenants } from './shard-tenants.ts';

export type { ShardOptions } from './shard-state.ts';

/**
 * The tenants of one file. Methods mean what those of `VectorStore` do; what they read they read
 * in the caller's turn, long batches of queries and those that wait for an index aside.
 */
export type Shard = ReturnType<typeof openShard>;

export function openShard(options: ShardOptions) {
  const state = new ShardState(options);
  return {
    ...shardCollections(state),
    ...shardPoints(state),
    ...shardTenants(state),
    commits: state.group.commits,
    keepImages: () => state.keepImages(),
    close: () => state.close(),
  };
}
