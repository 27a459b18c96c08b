import { crc32 } from 'node:zlib';
import type { CollectionSpec } from '../collection.ts';
import type { Owner, TenantSummary } from '../vector-store.ts';
import {
  type CollectionRow,
  collectionColumns,
  moreOf,
  plainOf,
  readAlias,
  readRow,
  sumOf,
  sumOfAlias,
} from './collection-row.ts';
import type { ShardFile } from './shards/shard-file.ts';
import { DamagedRows } from './storage-trouble.ts';

/** Rows of collections, aliases and payload indexes of one shard. Changes belong inside a transaction. */
export type CollectionTable = ReturnType<typeof openCollectionTable>;

export function openCollectionTable(shard: ShardFile) {
  const statements = prepareCollections(shard);
  const rows = (found: unknown) => found as unknown[];

  function aliasesOf(tenant: string): { alias: string; cid: number }[] {
    return statements.aliases.all(tenant).map((row) => readAlias(rows(row)));
  }

  function* sound(): Generator<CollectionRow> {
    for (const row of statements.all.iterate()) {
      try {
        yield readRow(rows(row));
      } catch (error) {
        if (!(error instanceof DamagedRows)) throw error;
      }
    }
  }

  return {
    /** Throws `DamagedRows` when names do not lead to the collections that have them: then no name can be trusted. */
    check(): void {
      const named = new Map(statements.names.all().map((row) => [rows(row)[0], rows(row)]));
      for (const { cid, tenant, spec } of sound()) {
        const entry = named.get(cid);
        if (entry?.[1] !== tenant || entry[2] !== spec.name) throw new DamagedRows('the names of collections');
      }
      for (const row of statements.everyAlias.all()) readAlias(rows(row));
    },
    /** By name, or by alias. */
    find(tenant: string, name: string): CollectionRow | null {
      const row = statements.byName.get(tenant, name);
      if (row !== undefined) return readRow(rows(row));
      const alias = statements.byAlias.get(tenant, name);
      const aliased = alias === undefined ? undefined : statements.byCid.get(readAlias(rows(alias)).cid);
      return aliased === undefined ? null : readRow(rows(aliased));
    },
    byCid(cid: number): CollectionRow | null {
      const row = statements.byCid.get(cid);
      return row === undefined ? null : readRow(rows(row));
    },
    list: (tenant: string): CollectionRow[] => statements.byTenant.all(tenant).map((row) => readRow(rows(row))),
    create({ tenant, account }: Owner, spec: CollectionSpec): void {
      const { name, size, distance, embeddingModel } = spec;
      const sum = sumOf({ tenant, account, spec: plainOf(spec), fields: {}, points: 0, seq: 0, indexes: [] });
      statements.insert.run(tenant, name, account, size, distance, embeddingModel, sum);
    },
    /** Named vectors with their fields, and settings. */
    setMore(row: CollectionRow): void {
      statements.setMore.run(moreOf(row.spec, row.fields), sumOf(row), row.cid);
    },
    /** Its points go later, by `doomed`. */
    drop(cid: number): void {
      statements.removeAliases.run(cid);
      statements.removeStoredBytes.run(cid);
      statements.remove.run(cid);
      statements.doom.run(cid, crc32(String(cid)));
    },
    setCounts(row: CollectionRow, points: number, seq: number): void {
      statements.setCounts.run(points, seq, sumOf({ ...row, points, seq }), row.cid);
    },
    setOwner(row: CollectionRow, { tenant, account }: Owner): void {
      statements.setOwner.run(tenant, account, sumOf({ ...row, tenant, account }), row.cid);
    },
    aliases: (tenant: string, cid: number | null): { alias: string; collection: string }[] =>
      aliasesOf(tenant)
        .filter((one) => cid === null || one.cid === cid)
        .map((one) => ({ alias: one.alias, collection: readRow(rows(statements.byCid.get(one.cid))).spec.name })),
    addAlias(tenant: string, alias: string, cid: number): void {
      statements.addAlias.run(tenant, alias, cid, sumOfAlias(tenant, alias, cid));
    },
    removeAlias(tenant: string, name: string): void {
      statements.removeAlias.run(tenant, name);
    },
    moveAliases(from: string, to: string): void {
      for (const { alias, cid } of aliasesOf(from)) {
        statements.removeAlias.run(from, alias);
        this.addAlias(to, alias, cid);
      }
    },
    setIndexes(row: CollectionRow, indexes: CollectionRow['indexes']): void {
      statements.setIndexes.run(JSON.stringify(indexes), sumOf({ ...row, indexes }), row.cid);
    },
    tenants(): TenantSummary[] {
      const found = new Map<string, TenantSummary>();
      for (const { tenant, account, points } of sound()) {
        const key = JSON.stringify([tenant, account]);
        const known = found.get(key) ?? { tenant, account, collections: 0, points: 0 };
        found.set(key, { ...known, collections: known.collections + 1, points: known.points + points });
      }
      return [...found.values()];
    },
    /** Bytes of its points. */
    bytes: (cid: number): number => Number(statements.storedBytesOf.get(cid)?.bytes ?? 0),
    addBytes(cid: number, bytes: number): void {
      if (bytes !== 0) statements.addStoredBytes.run(cid, bytes);
    },
    storedBytes: (): { account: string; bytes: number }[] =>
      statements.storedBytesByAccount
        .all()
        .map(({ account, bytes }) => ({ account: String(account), bytes: Number(bytes) })),
    /** Dropped collections that still have points. */
    doomed: (): number[] =>
      statements.doomed
        .all()
        .map((row) => rows(row) as [number, number])
        // A damaged row stays: it might be the number of a living collection.
        .filter(([cid, sum]) => crc32(String(cid)) === sum)
        .map(([cid]) => cid),
    forget(cid: number): void {
      statements.forget.run(cid);
    },
  };
}

/** Statements on the tables of collections, aliases and dropped collections. */
function prepareCollections(shard: ShardFile) {
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
