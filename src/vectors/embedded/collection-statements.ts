import { collectionColumns } from './collection-row.ts';
import type { ShardFile } from './shards/shard-file.ts';

/** Statements on the tables of collections, aliases and dropped collections. */
export function prepareCollections(shard: ShardFile) {
  return {
    byName: shard.prepareRows(`SELECT ${collectionColumns} FROM collection WHERE tenant = ? AND name = ?`),
    byCid: shard.prepareRows(`SELECT ${collectionColumns} FROM collection WHERE cid = ?`),
    all: shard.prepareRows(`SELECT ${collectionColumns} FROM collection NOT INDEXED ORDER BY cid`),
    names: shard.prepareRows(
      'SELECT cid, tenant, name FROM collection INDEXED BY sqlite_autoindex_collection_1 ORDER BY tenant, name',
    ),
    byTenant: shard.prepareRows(`SELECT ${collectionColumns} FROM collection WHERE tenant = ? ORDER BY name`),
    insert: shard.prepare(
      `INSERT INTO collection (tenant, name, account, size, distance, model, points, seq, indexes, sum)
     VALUES (?, ?, ?, ?, ?, ?, 0, 0, '[]', ?)`,
    ),
    setMore: shard.prepare('UPDATE collection SET more = ?, sum = ? WHERE cid = ?'),
    setCounts: shard.prepare('UPDATE collection SET points = ?, seq = ?, sum = ? WHERE cid = ?'),
    setOwner: shard.prepare('UPDATE collection SET tenant = ?, account = ?, sum = ? WHERE cid = ?'),
    remove: shard.prepare('DELETE FROM collection WHERE cid = ?'),
    removeAliases: shard.prepare('DELETE FROM alias WHERE cid = ?'),
    doom: shard.prepare('INSERT INTO doomed (cid, sum) VALUES (?, ?)'),
    doomed: shard.prepareRows('SELECT cid, sum FROM doomed ORDER BY cid'),
    forget: shard.prepare('DELETE FROM doomed WHERE cid = ?'),
    aliases: shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias WHERE tenant = ? ORDER BY alias'),
    everyAlias: shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias'),
    byAlias: shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias WHERE tenant = ? AND alias = ?'),
    addAlias: shard.prepare('INSERT OR REPLACE INTO alias (tenant, alias, cid, sum) VALUES (?, ?, ?, ?)'),
    removeAlias: shard.prepare('DELETE FROM alias WHERE tenant = ? AND alias = ?'),
    setIndexes: shard.prepare('UPDATE collection SET indexes = ?, sum = ? WHERE cid = ?'),
    addStoredBytes: shard.prepare(
      'INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes',
    ),
    removeStoredBytes: shard.prepare('DELETE FROM kept WHERE cid = ?'),
    storedBytesOf: shard.prepare('SELECT bytes FROM kept WHERE cid = ?'),
    storedBytesByAccount: shard.prepare(
      'SELECT account, sum(bytes) AS bytes FROM kept JOIN collection USING (cid) GROUP BY account',
    ),
  };
}
