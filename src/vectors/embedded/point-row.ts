import { crc32 } from 'node:zlib';
import type { PointId } from '../point.ts';
import type { RowPart } from './index/vector-index.ts';
import { DamagedRows } from './storage-trouble.ts';

/** A row's key holds its collection and its slot, so that a collection's rows lie together, by slot. */
const slotsPerCollection = 2 ** 28;
/** Points of one collection; beyond them a write is refused. */
export const slotMax = slotsPerCollection - 1;
/** Collections ever made in one shard: beyond it keys would not be whole numbers. */
export const cidMax = 2 ** 25 - 1;

/** All rows of a number, by `BETWEEN ? AND ? LIMIT ?`. */
const everyRow: RowPart = { from: 0, limit: -1 };

/** Rows of a part, each an array that begins with its key; gives the slot that the next part begins at, null at the end. */
export function eachOf(
  statement: { iterate(...values: number[]): Iterable<unknown> },
  number: number,
  { from, limit }: RowPart = everyRow,
  visit: (slot: number, row: unknown[]) => void,
): number | null {
  let count = 0;
  let slot = from;
  for (const found of statement.iterate(rowKey(number, from), rowKey(number, slotMax), limit)) {
    const row = found as unknown[];
    count += 1;
    slot = slotOf(row[0] as number);
    visit(slot, row);
  }
  return count === limit ? slot + 1 : null;
}

export function rowKey(cid: number, slot: number): number {
  return cid * slotsPerCollection + slot;
}

export function slotOf(key: number): number {
  return key % slotsPerCollection;
}

/** First and last key that a collection can have. */
export function keyRange(cid: number): [number, number] {
  return [rowKey(cid, 0), rowKey(cid, slotMax)];
}

/** Integers unchanged, UUIDs as their 16 bytes: SQLite's order of both is the order of ids. */
export function encodeId(id: PointId): number | Uint8Array {
  return typeof id === 'number' ? id : Buffer.from(id.replaceAll('-', ''), 'hex');
}

export function decodeId(stored: unknown): PointId {
  if (typeof stored === 'number') return stored;
  if (!(stored instanceof Uint8Array) || stored.length !== 16) throw new DamagedRows('an id');
  const hex = Buffer.from(stored.buffer, stored.byteOffset, 16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Checksum of a row without its vector; with the slot, so that a row out of place is none. */
export function payloadSum(slot: number, id: PointId, payload: string | null): number {
  const seed = crc32(typeof id === 'number' ? String(id) : id, slot);
  return payload === null ? seed : crc32(payload, seed);
}

export function vectorSum(slot: number, vector: Float32Array): number {
  return crc32(bytesOf(vector), slot);
}

export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A stored vector, checked; a view of SQLite's bytes. Null when an empty one says that the point has none. */
export function readVector(slot: number, size: number, bytes: unknown, sum: unknown): Float32Array | null {
  if (!(bytes instanceof Uint8Array) || crc32(bytes, slot) !== sum) throw new DamagedRows('a vector');
  if (bytes.length === 0) return null;
  if (bytes.length !== size * 4) throw new DamagedRows('a vector');
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, size)
    : new Float32Array(bytes.slice().buffer);
}

/** A stored payload's text, checked. */
export function readPayload(slot: number, id: PointId, payload: unknown, sum: unknown): string | null {
  const text = payload === null || typeof payload === 'string' ? payload : undefined;
  if (text === undefined || payloadSum(slot, id, text) !== sum) throw new DamagedRows('a payload');
  return text;
}
