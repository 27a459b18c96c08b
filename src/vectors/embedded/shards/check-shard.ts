import { openCollectionTable } from '../collection-table.ts';
import { reasonOf } from '../damage.ts';
import { finish } from '../index/resumable-steps.ts';
import { openFieldTable } from '../named-vector-rows.ts';
import { checkRows } from '../open-collection.ts';
import { openPointTable } from '../point-table.ts';
import { DamagedRows } from '../storage-trouble.ts';
import { openShardFile, type ShardFile } from './shard-file.ts';

/**
 * Checks every row of a shard's file against its checksum, for `culvert doctor`; minutes for many GB. Returns a
 * sentence for each damage, by collection if it is known; empty when all rows are sound. Throws what SQLite throws.
 */
function damageOfShard(file: string, number: number): string[] {
  const shard = openShardFile(file, number);
  try {
    const collections = openCollectionTable(shard);
    const points = openPointTable(shard);
    const fields = openFieldTable(shard);
    const found: string[] = [];
    try {
      collections.check();
    } catch (error) {
      found.push(reasonOf(error));
    }
    for (const tenant of tenantsIn(shard)) {
      try {
        for (const row of collections.list(tenant)) {
          try {
            if (points.count(row.cid) !== row.points) throw new DamagedRows('the number of points');
            finish(checkRows(points, row.cid));
            points.eachVector(row.cid, row.spec.size, () => {});
            for (const fid of Object.values(row.fields)) {
              fields.count(fid);
              fields.each(fid, () => {});
            }
          } catch (error) {
            found.push(`collection '${row.spec.name}' of ${tenant}: ${reasonOf(error)}`);
          }
        }
      } catch (error) {
        found.push(`a collection of ${tenant}: ${reasonOf(error)}`);
      }
    }
    return found;
  } finally {
    shard.close();
  }
}

function tenantsIn(shard: ShardFile): string[] {
  return shard
    .prepare('SELECT DISTINCT tenant FROM collection ORDER BY tenant')
    .all()
    .map(({ tenant }) => String(tenant));
}

/** The same for the file of any database: none for one that is no shard. Rows carry checksums, so that bits show which SQLite takes for good. */
export function damagesOfRows(file: string): { file: string; what: string }[] {
  const number = /shard-(\d+)\.db$/.exec(file)?.[1];
  return number === undefined ? [] : damageOfShard(file, Number(number)).map((what) => ({ file, what }));
}
