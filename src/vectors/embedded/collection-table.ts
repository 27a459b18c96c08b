import { crc32 } from 'node:zlib';
import type { CollectionSpec, Distance, PayloadType } from '../collection.ts';
import type { Owner } from '../store.ts';
import type { ShardFile } from './shard-file.ts';
import { DamagedRows } from './storage-trouble.ts';

/** A collection's row. */
export interface CollectionRow {
  /** Its number in the file; never used again. */
  cid: number;
  tenant: string;
  account: string;
  spec: CollectionSpec;
  points: number;
  /** Of its last write operation. */
  seq: number;
}

/** Rows of collections, aliases and payload indexes of one shard. Changes belong inside a transaction. */
export interface CollectionTable {
  /** By name, or by alias. */
  find(tenant: string, name: string): CollectionRow | null;
  list(tenant: string): CollectionRow[];
  create(owner: Owner, spec: CollectionSpec): void;
  /** Its points go later, by `doomed`. */
  drop(cid: number): void;
  setCounts(row: CollectionRow, points: number, seq: number): void;
  setOwner(row: CollectionRow, owner: Owner): void;
  aliases(tenant: string, cid: number | null): { alias: string; collection: string }[];
  hasAlias(tenant: string, alias: string): boolean;
  addAlias(tenant: string, alias: string, cid: number): void;
  removeAlias(tenant: string, alias: string): void;
  moveAliases(from: string, to: string): void;
  payloadIndexes(cid: number): { key: string; type: PayloadType }[];
  setPayloadIndex(cid: number, key: string, type: PayloadType | null): void;
  tenants(): { tenant: string; account: string; collections: number; points: number }[];
  /** Dropped collections that still have points. */
  doomed(): number[];
  forget(cid: number): void;
}

const columns = 'cid, tenant, name, account, size, distance, model, points, seq, sum';

export function openCollectionTable(shard: ShardFile): CollectionTable {
  const byName = shard.prepareRows(`SELECT ${columns} FROM collection WHERE tenant = ? AND name = ?`);
  const byAlias = shard.prepareRows(
    `SELECT ${columns} FROM collection WHERE cid = (SELECT cid FROM alias WHERE tenant = ? AND alias = ?)`,
  );
  const byTenant = shard.prepareRows(`SELECT ${columns} FROM collection WHERE tenant = ? ORDER BY name`);
  const insert = shard.prepare(
    'INSERT INTO collection (tenant, name, account, size, distance, model, points, seq, sum) VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?)',
  );
  const setCounts = shard.prepare('UPDATE collection SET points = ?, seq = ?, sum = ? WHERE cid = ?');
  const setOwner = shard.prepare('UPDATE collection SET tenant = ?, account = ?, sum = ? WHERE cid = ?');
  const remove = shard.prepare('DELETE FROM collection WHERE cid = ?');
  const removeAliases = shard.prepare('DELETE FROM alias WHERE cid = ?');
  const removeIndexes = shard.prepare('DELETE FROM payload_index WHERE cid = ?');
  const doom = shard.prepare('INSERT INTO doomed (cid) VALUES (?)');
  const doomed = shard.prepareRows('SELECT cid FROM doomed ORDER BY cid');
  const forget = shard.prepare('DELETE FROM doomed WHERE cid = ?');
  const aliases = shard.prepareRows(
    `SELECT a.alias, c.name FROM alias a JOIN collection c ON c.cid = a.cid
     WHERE a.tenant = ? AND (? IS NULL OR a.cid = ?) ORDER BY a.alias`,
  );
  const alias = shard.prepare('SELECT cid FROM alias WHERE tenant = ? AND alias = ?');
  const addAlias = shard.prepare('INSERT OR REPLACE INTO alias (tenant, alias, cid) VALUES (?, ?, ?)');
  const removeAlias = shard.prepare('DELETE FROM alias WHERE tenant = ? AND alias = ?');
  const moveAliases = shard.prepare('UPDATE alias SET tenant = ? WHERE tenant = ?');
  const payloadIndexes = shard.prepareRows('SELECT key, type FROM payload_index WHERE cid = ? ORDER BY key');
  const setIndex = shard.prepare('INSERT OR REPLACE INTO payload_index (cid, key, type) VALUES (?, ?, ?)');
  const dropIndex = shard.prepare('DELETE FROM payload_index WHERE cid = ? AND key = ?');
  const tenants = shard.prepareRows(
    'SELECT tenant, account, count(*), sum(points) FROM collection GROUP BY tenant, account ORDER BY tenant, account',
  );
  const rows = (found: unknown) => found as unknown as unknown[];

  return {
    find(tenant, name) {
      const row = byName.get(tenant, name) ?? byAlias.get(tenant, name);
      return row === undefined ? null : readRow(rows(row));
    },
    list: (tenant) => byTenant.all(tenant).map((row) => readRow(rows(row))),
    create({ tenant, account }, spec) {
      const { name, size, distance, embeddingModel } = spec;
      const sum = sumOf({ tenant, account, spec, points: 0, seq: 0 });
      insert.run(tenant, name, account, size, distance, embeddingModel, sum);
    },
    drop(cid) {
      removeAliases.run(cid);
      removeIndexes.run(cid);
      remove.run(cid);
      doom.run(cid);
    },
    setCounts(row, points, seq) {
      setCounts.run(points, seq, sumOf({ ...row, points, seq }), row.cid);
    },
    setOwner(row, { tenant, account }) {
      setOwner.run(tenant, account, sumOf({ ...row, tenant, account }), row.cid);
    },
    aliases: (tenant, cid) =>
      aliases.all(tenant, cid, cid).map((row) => {
        const [name, collection] = rows(row) as [string, string];
        return { alias: name, collection };
      }),
    hasAlias: (tenant, name) => alias.get(tenant, name) !== undefined,
    addAlias(tenant, name, cid) {
      addAlias.run(tenant, name, cid);
    },
    removeAlias(tenant, name) {
      removeAlias.run(tenant, name);
    },
    moveAliases(from, to) {
      moveAliases.run(to, from);
    },
    payloadIndexes: (cid) =>
      payloadIndexes.all(cid).map((row) => {
        const [key, type] = rows(row) as [string, PayloadType];
        return { key, type };
      }),
    setPayloadIndex(cid, key, type) {
      if (type === null) dropIndex.run(cid, key);
      else setIndex.run(cid, key, type);
    },
    tenants: () =>
      tenants.all().map((row) => {
        const [tenant, account, collections, points] = rows(row) as [string, string, number, number];
        return { tenant, account, collections, points };
      }),
    doomed: () => doomed.all().map((row) => rows(row)[0] as number),
    forget(cid) {
      forget.run(cid);
    },
  };
}

function readRow(row: unknown[]): CollectionRow {
  const [cid, tenant, name, account, size, distance, model, points, seq, sum] = row as [
    number,
    string,
    string,
    string,
    number,
    Distance,
    string | null,
    number,
    number,
    number,
  ];
  const read = { cid, tenant, account, spec: { name, size, distance, embeddingModel: model }, points, seq };
  if (sumOf(read) !== sum) throw new DamagedRows('the row of a collection');
  return read;
}

/** Tells a row that was damaged on the disk from the one that was written. */
function sumOf(row: Omit<CollectionRow, 'cid'>): number {
  const { name, size, distance, embeddingModel } = row.spec;
  return crc32(JSON.stringify([row.tenant, row.account, name, size, distance, embeddingModel, row.points, row.seq]));
}
