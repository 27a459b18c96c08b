import { createHash } from 'node:crypto';
import { shardCount } from './shard-file.ts';

/** The shard of a tenant: for ever, since its data stands there. */
export function shardOf(tenant: string): number {
  return createHash('sha256').update(tenant, 'utf8').digest().readUInt32BE(0) % shardCount;
}
