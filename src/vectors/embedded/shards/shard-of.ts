import { createHash } from 'node:crypto';

/** Shards that vector data is dealt over, for ever: a file knows its number and this count, and fits no other. */
export const shardCount = 8;

export const allShards: readonly number[] = Array.from({ length: shardCount }, (_, number) => number);

/** Shards of tenants that called lately: a call asks several times. */
const known = new Map<string, number>();
const knownMax = 10_000;

/** The shard of a tenant: for ever, since it has the tenant's data. */
export function shardOf(tenant: string): number {
  const found = known.get(tenant);
  if (found !== undefined) return found;
  const shard = createHash('sha256').update(tenant, 'utf8').digest().readUInt32BE(0) % shardCount;
  if (known.size >= knownMax) known.clear();
  known.set(tenant, shard);
  return shard;
}
