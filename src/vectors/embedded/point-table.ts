import type { PointId } from '../point.ts';
import type { RowPart } from './index/vector-index.ts';
import {
  bytesOf,
  decodeId,
  eachOf,
  encodeId,
  keyRange,
  payloadSum,
  readPayload,
  readVector,
  rowKey,
  slotOf,
  vectorSum,
} from './point-row.ts';
import type { ShardFile } from './shards/shard-file.ts';
import { DamagedRows } from './storage-trouble.ts';

/** A point's row without its vector. */
export interface PointRow {
  id: PointId;
  /** JSON. */
  payload: string | null;
}

/** Rows of points of one shard. Each row is checked against its checksums; a wrong one throws `DamagedRows`. */
export interface PointTable {
  /** Null when there is no such point. */
  slotOfId(cid: number, id: PointId): number | null;
  /** `vector`: the unnamed one, null where the point has none. */
  insert(cid: number, slot: number, id: PointId, payload: string | null, vector: Float32Array | null): void;
  replace(cid: number, slot: number, id: PointId, payload: string | null, vector: Float32Array | null): void;
  setPayload(cid: number, slot: number, id: PointId, payload: string | null): void;
  setVector(cid: number, slot: number, vector: Float32Array | null): void;
  remove(cid: number, slot: number): void;
  /** Length of its payload, as stored; 0 when it has none. */
  payloadBytes(cid: number, slot: number): number;
  /** Throws when there is none. */
  row(cid: number, slot: number): PointRow;
  /** Whether the point has an unnamed vector. */
  hasVector(cid: number, slot: number): boolean;
  /** Null where the point has none; throws when there is no such point. */
  vector(cid: number, slot: number, size: number): Float32Array | null;
  /** By slot; points without one are left out. Both give the slot that the next part begins at, null after the last one. */
  eachVector(
    cid: number,
    size: number,
    visit: (slot: number, vector: Float32Array) => void,
    part?: RowPart,
  ): number | null;
  eachRow(
    cid: number,
    visit: (slot: number, id: PointId, payload: string | null) => void,
    part?: RowPart,
  ): number | null;
  /** Up to `limit` in order of ids, from `from` on (inclusive). */
  byId(cid: number, from: PointId | null, limit: number): { slot: number; id: PointId }[];
  /** Rows by counting both orders that they are kept in; throws `DamagedRows` when these disagree. */
  count(cid: number): number;
  lastSlot(cid: number): number;
  slots(cid: number): Iterable<number>;
  slotsWithVector(cid: number): Iterable<number>;
  /** Removes up to `limit` rows of a dropped collection; how many went. */
  purge(cid: number, limit: number): number;
}

export function openPointTable(shard: ShardFile): PointTable {
  const key = shard.prepareRows('SELECT key FROM point WHERE cid = ? AND id = ?');
  const insert = shard.prepare(
    'INSERT INTO point (key, cid, id, sum, vector_sum, payload, vector) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const replace = shard.prepare('UPDATE point SET sum = ?, vector_sum = ?, payload = ?, vector = ? WHERE key = ?');
  const setPayload = shard.prepare('UPDATE point SET sum = ?, payload = ? WHERE key = ?');
  const setVector = shard.prepare('UPDATE point SET vector_sum = ?, vector = ? WHERE key = ?');
  const remove = shard.prepare('DELETE FROM point WHERE key = ?');
  const row = shard.prepareRows('SELECT id, sum, payload FROM point WHERE key = ?');
  const vector = shard.prepareRows('SELECT vector_sum, vector FROM point WHERE key = ?');
  const vectors = shard.prepareRows('SELECT key, vector_sum, vector FROM point WHERE key BETWEEN ? AND ? LIMIT ?');
  const rows = shard.prepareRows('SELECT key, id, sum, payload FROM point WHERE key BETWEEN ? AND ? LIMIT ?');
  const fromFirst = shard.prepareRows('SELECT key, id FROM point WHERE cid = ? ORDER BY id LIMIT ?');
  const fromId = shard.prepareRows('SELECT key, id FROM point WHERE cid = ? AND id >= ? ORDER BY id LIMIT ?');
  const countByKey = shard.prepareRows('SELECT count(*) FROM point NOT INDEXED WHERE key BETWEEN ? AND ?');
  const countById = shard.prepareRows('SELECT count(*) FROM point INDEXED BY point_id WHERE cid = ?');
  const last = shard.prepareRows('SELECT max(key) FROM point WHERE key BETWEEN ? AND ?');
  const keys = shard.prepareRows('SELECT key FROM point NOT INDEXED WHERE key BETWEEN ? AND ?');
  const purge = shard.prepare(
    'DELETE FROM point WHERE key IN (SELECT key FROM point WHERE key BETWEEN ? AND ? LIMIT ?)',
  );
  const payloadBytes = shard.prepareRows('SELECT octet_length(payload) FROM point WHERE key = ?');
  const vectorBytes = shard.prepareRows('SELECT length(vector) FROM point WHERE key = ?');
  const withVector = shard.prepareRows(
    'SELECT key FROM point NOT INDEXED WHERE key BETWEEN ? AND ? AND length(vector) > 0',
  );
  const array = (found: unknown) => found as unknown[] | undefined;
  const rowOf = (found: unknown) => found as unknown[];

  return {
    slotOfId(cid, id) {
      const found = array(key.get(cid, encodeId(id)));
      return found === undefined ? null : slotOf(found[0] as number);
    },
    insert(cid, slot, id, payload, vector) {
      const values = vector ?? noVector;
      const sum = payloadSum(slot, id, payload);
      insert.run(rowKey(cid, slot), cid, encodeId(id), sum, vectorSum(slot, values), payload, bytesOf(values));
    },
    replace(cid, slot, id, payload, vector) {
      const values = vector ?? noVector;
      const sum = payloadSum(slot, id, payload);
      replace.run(sum, vectorSum(slot, values), payload, bytesOf(values), rowKey(cid, slot));
    },
    setPayload(cid, slot, id, payload) {
      setPayload.run(payloadSum(slot, id, payload), payload, rowKey(cid, slot));
    },
    setVector(cid, slot, vector) {
      const values = vector ?? noVector;
      setVector.run(vectorSum(slot, values), bytesOf(values), rowKey(cid, slot));
    },
    remove(cid, slot) {
      remove.run(rowKey(cid, slot));
    },
    payloadBytes: (cid, slot) => Number(array(payloadBytes.get(rowKey(cid, slot)))?.[0] ?? 0),
    hasVector: (cid, slot) => Number(array(vectorBytes.get(rowKey(cid, slot)))?.[0] ?? 0) > 0,
    row(cid, slot) {
      const found = array(row.get(rowKey(cid, slot)));
      if (found === undefined) throw new DamagedRows('a row is missing');
      const id = decodeId(found[0]);
      return { id, payload: readPayload(slot, id, found[2], found[1]) };
    },
    vector(cid, slot, size) {
      const found = array(vector.get(rowKey(cid, slot)));
      if (found === undefined) throw new DamagedRows('a row is missing');
      return readVector(slot, size, found[1], found[0]);
    },
    eachVector(cid, size, visit, part) {
      return eachOf(vectors, cid, part, (slot, [, sum, bytes]) => {
        const vector = readVector(slot, size, bytes, sum);
        if (vector !== null) visit(slot, vector);
      });
    },
    eachRow(cid, visit, part) {
      return eachOf(rows, cid, part, (slot, [, stored, sum, payload]) => {
        const id = decodeId(stored);
        visit(slot, id, readPayload(slot, id, payload, sum));
      });
    },
    byId(cid, from, limit) {
      const found = from === null ? fromFirst.all(cid, limit) : fromId.all(cid, encodeId(from), limit);
      return found.map((one) => {
        const [at, stored] = rowOf(one);
        return { slot: slotOf(at as number), id: decodeId(stored) };
      });
    },
    count(cid) {
      const [byKey] = array(countByKey.get(...keyRange(cid))) as [number];
      const [byId] = array(countById.get(cid)) as [number];
      if (byKey !== byId) throw new DamagedRows('points and their ids');
      return byKey;
    },
    lastSlot(cid) {
      const found = array(last.get(...keyRange(cid)))?.[0];
      return typeof found === 'number' ? slotOf(found) : -1;
    },
    *slots(cid) {
      for (const found of keys.iterate(...keyRange(cid))) yield slotOf(rowOf(found)[0] as number);
    },
    *slotsWithVector(cid) {
      for (const found of withVector.iterate(...keyRange(cid))) yield slotOf(rowOf(found)[0] as number);
    },
    purge: (cid, limit) => Number(purge.run(...keyRange(cid), limit).changes),
  };
}

const noVector = new Float32Array();
