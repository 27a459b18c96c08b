import { shardCollections } from './shard-collections.ts';
import { shardPoints } from './shard-points.ts';
import { type ShardOptions, ShardState } from './shard-state.ts';
import { shardTenants } from './shard-tenants.ts';

export type { ShardOptions } from './shard-state.ts';

/**
 * The tenants of one file. Methods mean the same as those of `VectorStore`. They read in the caller's turn, except for
 * long batches of queries and those that wait for an index or for columns.
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
    keepAllImages: (untilMs: number) => state.keepAllImages(untilMs),
    takeUpImages: () => state.takeUpImages(),
    close: () => state.close(),
  };
}
