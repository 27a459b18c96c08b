import type { KeptBytes } from '../../metering/storage-counts.ts';
import { keptBytesOf, storageLooks } from '../storage-sizes.ts';
import type { Database } from './database.ts';

/** Bytes of accounts in the tables that replicas share. */
export async function postgresStorageSizes({ rest }: Pick<Database, 'rest'>): Promise<KeptBytes[]> {
  const sizes: KeptBytes[] = [];
  // One after the other: it is nobody's hurry, and other queries need the connections.
  for (const look of storageLooks) sizes.push(...keptBytesOf(look, (await rest.run(look.sql('culvert.'))).rows));
  return sizes;
}
