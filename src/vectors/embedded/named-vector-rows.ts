import { crc32 } from 'node:zlib';
import type { RowPart } from './index/vector-index.ts';
import { eachOf, keyRange, rowKey, slotOf } from './point-row.ts';
import type { ShardFile } from './shards/shard-file.ts';
import { DamagedRows } from './storage-trouble.ts';

/**
 * Rows of named vectors of one shard. Each name of each collection is a field with its own number, whose rows are
 * adjacent, by the slot of their point. Each row is checked against its checksum; a wrong one throws `DamagedRows`.
 */
export type FieldTable = ReturnType<typeof openFieldTable>;

export function openFieldTable(shard: ShardFile) {
  const insert = shard.prepare('INSERT INTO field (cid, rows, sum) VALUES (?, 0, 0)');
  const noted = shard.prepareRows('SELECT cid, rows, sum FROM field WHERE fid = ?');
  const setCount = shard.prepare('UPDATE field SET rows = ?, sum = ? WHERE fid = ?');
  const counted = shard.prepareRows('SELECT count(*) FROM field_row WHERE key BETWEEN ? AND ?');
  const put = shard.prepare('INSERT OR REPLACE INTO field_row (key, sum, vector) VALUES (?, ?, ?)');
  const remove = shard.prepare('DELETE FROM field_row WHERE key = ?');
  const read = shard.prepareRows('SELECT sum, vector FROM field_row WHERE key = ?');
  const each = shard.prepareRows('SELECT key, sum, vector FROM field_row WHERE key BETWEEN ? AND ? LIMIT ?');
  const one = shard.prepareRows('SELECT key FROM field_row WHERE key = ?');
  const keys = shard.prepareRows('SELECT key FROM field_row WHERE key BETWEEN ? AND ?');
  const ofCollection = shard.prepareRows('SELECT fid FROM field WHERE cid = ?');
  const purge = shard.prepare(
    'DELETE FROM field_row WHERE key IN (SELECT key FROM field_row WHERE key BETWEEN ? AND ? LIMIT ?)',
  );
  const forget = shard.prepare('DELETE FROM field WHERE fid = ?');
  const array = (found: unknown) => found as unknown[] | undefined;
  const rowOf = (found: unknown) => found as unknown[];

  return {
    /** A new field's number. */
    create(cid: number): number {
      const fid = Number(insert.run(cid).lastInsertRowid);
      setCount.run(0, sumOfField(fid, cid, 0), fid);
      return fid;
    },
    /** Number of points with a vector in it, as noted; throws `DamagedRows` when rows are missing. */
    count(fid: number): number {
      const [cid, rows, sum] = (array(noted.get(fid)) ?? []) as [number?, number?, number?];
      if (cid === undefined || rows === undefined || sumOfField(fid, cid, rows) !== sum) {
        throw new DamagedRows('the row of a named vector');
      }
      if (array(counted.get(...keyRange(fid)))?.[0] !== rows) throw new DamagedRows('the number of named vectors');
      return rows;
    },
    setCount(fid: number, cid: number, rows: number): void {
      setCount.run(rows, sumOfField(fid, cid, rows), fid);
    },
    put(fid: number, slot: number, bytes: Uint8Array): void {
      put.run(rowKey(fid, slot), sumOf(fid, slot, bytes), bytes);
    },
    remove(fid: number, slot: number): void {
      remove.run(rowKey(fid, slot));
    },
    /** Null when the point has none. */
    read(fid: number, slot: number): Uint8Array | null {
      const found = array(read.get(rowKey(fid, slot)));
      return found === undefined ? null : checked(fid, slot, found[1], found[0]);
    },
    has: (fid: number, slot: number): boolean => one.get(rowKey(fid, slot)) !== undefined,
    /** By slot; gives the slot that the next part begins at, null after the last one. */
    each: (fid: number, visit: (slot: number, bytes: Uint8Array) => void, part?: RowPart): number | null =>
      eachOf(each, fid, part, (slot, [, sum, bytes]) => visit(slot, checked(fid, slot, bytes, sum))),
    *slots(fid: number): Iterable<number> {
      for (const found of keys.iterate(...keyRange(fid))) yield slotOf(rowOf(found)[0] as number);
    },
    /** Removes up to `limit` rows of a dropped collection's fields, and the fields when they are empty; how many went. */
    purge(cid: number, limit: number): number {
      for (const found of ofCollection.all(cid)) {
        const fid = rowOf(found)[0] as number;
        const purged = Number(purge.run(...keyRange(fid), limit).changes);
        if (purged > 0) return purged;
        forget.run(fid);
      }
      return 0;
    },
  };
}

function checked(fid: number, slot: number, bytes: unknown, sum: unknown): Uint8Array {
  if (!(bytes instanceof Uint8Array) || sumOf(fid, slot, bytes) !== sum) throw new DamagedRows('a named vector');
  return bytes;
}

/** With field and slot, so that a row out of place is none. */
function sumOf(fid: number, slot: number, bytes: Uint8Array): number {
  return crc32(bytes, (slot ^ Math.imul(fid, 0x9e3779b1)) >>> 0);
}

function sumOfField(fid: number, cid: number, rows: number): number {
  return crc32(`${fid} ${cid} ${rows}`);
}
