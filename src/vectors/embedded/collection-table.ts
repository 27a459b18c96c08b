import { crc32 } from 'node:zlib';
import type { JsonObject } from '../../kernel/json.ts';
import type { CollectionSpec, Distance, NamedSpecs, PayloadType } from '../collection.ts';
import type { Owner, TenantSummary } from '../store.ts';
import type { ShardFile } from './shard-file.ts';
import { DamagedRows } from './storage-trouble.ts';

/** A collection's row. */
export interface CollectionRow {
  /** Its number in the file; never used again. */
  cid: number;
  tenant: string;
  account: string;
  spec: CollectionSpec;
  /** Numbers of its named vectors' fields, by name. */
  fields: Readonly<Record<string, number>>;
  points: number;
  /** Of its last write operation. */
  seq: number;
  /** Payload indexes by key: columns are made as filters ask for them, whether there is one or not. */
  indexes: readonly { key: string; type: PayloadType; params?: JsonObject }[];
}

/** Rows of collections, aliases and payload indexes of one shard. Changes belong inside a transaction. */
export interface CollectionTable {
  /** Throws `DamagedRows` when names do not lead to the collections that have them: then no name can be trusted. */
  check(): void;
  /** By name, or by alias. */
  find(tenant: string, name: string): CollectionRow | null;
  list(tenant: string): CollectionRow[];
  create(owner: Owner, spec: CollectionSpec): void;
  /** Named vectors of a collection that was made just now. */
  setFields(row: CollectionRow, fields: CollectionRow['fields']): void;
  /** Its points go later, by `doomed`. */
  drop(cid: number): void;
  setCounts(row: CollectionRow, points: number, seq: number): void;
  setOwner(row: CollectionRow, owner: Owner): void;
  aliases(tenant: string, cid: number | null): { alias: string; collection: string }[];
  addAlias(tenant: string, alias: string, cid: number): void;
  removeAlias(tenant: string, alias: string): void;
  moveAliases(from: string, to: string): void;
  setIndexes(row: CollectionRow, indexes: CollectionRow['indexes']): void;
  tenants(): TenantSummary[];
  /** Bytes of its points. */
  bytes(cid: number): number;
  addBytes(cid: number, bytes: number): void;
  /** Bytes by account. */
  kept(): { account: string; bytes: number }[];
  /** Dropped collections that still have points. */
  doomed(): number[];
  forget(cid: number): void;
}

const columns = 'cid, tenant, name, account, size, distance, model, points, seq, indexes, sum, more';

export function openCollectionTable(shard: ShardFile): CollectionTable {
  const byName = shard.prepareRows(`SELECT ${columns} FROM collection WHERE tenant = ? AND name = ?`);
  const byCid = shard.prepareRows(`SELECT ${columns} FROM collection WHERE cid = ?`);
  const all = shard.prepareRows(`SELECT ${columns} FROM collection NOT INDEXED ORDER BY cid`);
  const names = shard.prepareRows(
    'SELECT cid, tenant, name FROM collection INDEXED BY sqlite_autoindex_collection_1 ORDER BY tenant, name',
  );
  const byTenant = shard.prepareRows(`SELECT ${columns} FROM collection WHERE tenant = ? ORDER BY name`);
  const insert = shard.prepare(
    `INSERT INTO collection (tenant, name, account, size, distance, model, points, seq, indexes, sum)
     VALUES (?, ?, ?, ?, ?, ?, 0, 0, '[]', ?)`,
  );
  const setMore = shard.prepare('UPDATE collection SET more = ?, sum = ? WHERE cid = ?');
  const setCounts = shard.prepare('UPDATE collection SET points = ?, seq = ?, sum = ? WHERE cid = ?');
  const setOwner = shard.prepare('UPDATE collection SET tenant = ?, account = ?, sum = ? WHERE cid = ?');
  const remove = shard.prepare('DELETE FROM collection WHERE cid = ?');
  const removeAliases = shard.prepare('DELETE FROM alias WHERE cid = ?');
  const doom = shard.prepare('INSERT INTO doomed (cid, sum) VALUES (?, ?)');
  const doomed = shard.prepareRows('SELECT cid, sum FROM doomed ORDER BY cid');
  const forget = shard.prepare('DELETE FROM doomed WHERE cid = ?');
  const aliases = shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias WHERE tenant = ? ORDER BY alias');
  const everyAlias = shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias');
  const byAlias = shard.prepareRows('SELECT tenant, alias, cid, sum FROM alias WHERE tenant = ? AND alias = ?');
  const addAlias = shard.prepare('INSERT OR REPLACE INTO alias (tenant, alias, cid, sum) VALUES (?, ?, ?, ?)');
  const removeAlias = shard.prepare('DELETE FROM alias WHERE tenant = ? AND alias = ?');
  const setIndexes = shard.prepare('UPDATE collection SET indexes = ?, sum = ? WHERE cid = ?');
  const addKept = shard.prepare(
    'INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes',
  );
  const removeKept = shard.prepare('DELETE FROM kept WHERE cid = ?');
  const keptOf = shard.prepare('SELECT bytes FROM kept WHERE cid = ?');
  const keptBy = shard.prepare(
    'SELECT account, sum(bytes) AS bytes FROM kept JOIN collection USING (cid) GROUP BY account',
  );
  const rows = (found: unknown) => found as unknown[];

  function aliasesOf(tenant: string): { alias: string; cid: number }[] {
    return aliases.all(tenant).map((row) => readAlias(rows(row)));
  }

  /** Rows that are what was written. */
  function* sound(): Generator<CollectionRow> {
    for (const row of all.iterate()) {
      try {
        yield readRow(rows(row));
      } catch (error) {
        if (!(error instanceof DamagedRows)) throw error;
      }
    }
  }

  return {
    check() {
      const named = new Map(names.all().map((row) => [rows(row)[0], rows(row)]));
      for (const { cid, tenant, spec } of sound()) {
        const entry = named.get(cid);
        if (entry?.[1] !== tenant || entry[2] !== spec.name) throw new DamagedRows('the names of collections');
      }
      for (const row of everyAlias.all()) readAlias(rows(row));
    },
    find(tenant, name) {
      const row = byName.get(tenant, name);
      if (row !== undefined) return readRow(rows(row));
      const alias = byAlias.get(tenant, name);
      const aliased = alias === undefined ? undefined : byCid.get(readAlias(rows(alias)).cid);
      return aliased === undefined ? null : readRow(rows(aliased));
    },
    list: (tenant) => byTenant.all(tenant).map((row) => readRow(rows(row))),
    create({ tenant, account }, spec) {
      const { name, size, distance, embeddingModel } = spec;
      const sum = sumOf({ tenant, account, spec: unnamedOf(spec), fields: {}, points: 0, seq: 0, indexes: [] });
      insert.run(tenant, name, account, size, distance, embeddingModel, sum);
    },
    setFields(row, fields) {
      setMore.run(moreOf(row.spec, fields), sumOf({ ...row, fields }), row.cid);
    },
    drop(cid) {
      removeAliases.run(cid);
      removeKept.run(cid);
      remove.run(cid);
      doom.run(cid, crc32(String(cid)));
    },
    setCounts(row, points, seq) {
      setCounts.run(points, seq, sumOf({ ...row, points, seq }), row.cid);
    },
    setOwner(row, { tenant, account }) {
      setOwner.run(tenant, account, sumOf({ ...row, tenant, account }), row.cid);
    },
    aliases: (tenant, cid) =>
      aliasesOf(tenant)
        .filter((one) => cid === null || one.cid === cid)
        .map((one) => ({ alias: one.alias, collection: readRow(rows(byCid.get(one.cid))).spec.name })),
    addAlias(tenant, alias, cid) {
      addAlias.run(tenant, alias, cid, crc32(JSON.stringify([tenant, alias, cid])));
    },
    removeAlias(tenant, name) {
      removeAlias.run(tenant, name);
    },
    moveAliases(from, to) {
      for (const { alias, cid } of aliasesOf(from)) {
        removeAlias.run(from, alias);
        this.addAlias(to, alias, cid);
      }
    },
    setIndexes(row, indexes) {
      setIndexes.run(JSON.stringify(indexes), sumOf({ ...row, indexes }), row.cid);
    },
    tenants() {
      const found = new Map<string, TenantSummary>();
      for (const { tenant, account, points } of sound()) {
        const key = JSON.stringify([tenant, account]);
        const known = found.get(key) ?? { tenant, account, collections: 0, points: 0 };
        found.set(key, { ...known, collections: known.collections + 1, points: known.points + points });
      }
      return [...found.values()];
    },
    bytes: (cid) => Number(keptOf.get(cid)?.bytes ?? 0),
    addBytes(cid, bytes) {
      if (bytes !== 0) addKept.run(cid, bytes);
    },
    kept: () => keptBy.all().map(({ account, bytes }) => ({ account: String(account), bytes: Number(bytes) })),
    doomed: () =>
      doomed
        .all()
        .map((row) => rows(row) as [number, number])
        // What is damaged stays: it might be the number of a collection that is alive.
        .filter(([cid, sum]) => crc32(String(cid)) === sum)
        .map(([cid]) => cid),
    forget(cid) {
      forget.run(cid);
    },
  };
}

function readAlias(row: unknown[]): { alias: string; cid: number } {
  const [tenant, alias, cid, sum] = row as [string, string, number, number];
  if (crc32(JSON.stringify([tenant, alias, cid])) !== sum) throw new DamagedRows('an alias');
  return { alias, cid };
}

function readRow(row: unknown[] | undefined): CollectionRow {
  if (row === undefined) throw new DamagedRows('the row of a collection');
  const [cid, tenant, name, account, size, distance, model, points, seq, indexes, sum, more] = row as [
    number,
    string,
    string,
    string,
    number,
    Distance,
    string | null,
    number,
    number,
    string,
    number,
    string | null,
  ];
  const spec: CollectionSpec = { name, size, distance, embeddingModel: model };
  const read = { cid, tenant, account, spec, points, seq };
  if (sumOfText(read, indexes, more) !== sum) throw new DamagedRows('the row of a collection');
  const { named, fields }: More = more === null ? { fields: {} } : JSON.parse(more);
  if (named !== undefined) spec.named = named;
  return { ...read, fields, indexes: JSON.parse(indexes) };
}

/** What stands in the column of that name. */
interface More {
  named?: NamedSpecs;
  fields: Readonly<Record<string, number>>;
}

/** Null for a collection that has nothing of it, as those had that were made before there was such a column. */
function moreOf({ named }: CollectionSpec, fields: CollectionRow['fields']): string | null {
  return named === undefined ? null : JSON.stringify({ named, fields } satisfies More);
}

function unnamedOf({ named: _, ...spec }: CollectionSpec): CollectionSpec {
  return spec;
}

/** Tells a row that was damaged on the disk from the one that was written. */
function sumOf(row: Omit<CollectionRow, 'cid'>): number {
  return sumOfText(row, JSON.stringify(row.indexes), moreOf(row.spec, row.fields));
}

function sumOfText(
  row: Omit<CollectionRow, 'cid' | 'indexes' | 'fields'>,
  indexes: string,
  more: string | null,
): number {
  const { name, size, distance, embeddingModel } = row.spec;
  const columns = [row.tenant, row.account, name, size, distance, embeddingModel, row.points, row.seq, indexes];
  return crc32(JSON.stringify(more === null ? columns : [...columns, more]));
}
