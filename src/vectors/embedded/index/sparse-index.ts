import type { SparseVector, VectorValue } from '../../point.ts';
import { ranked } from './exact-score.ts';
import type { FieldIndex } from './field-index.ts';
import type { MultiOptions } from './multi-index.ts';
import { createPostings } from './postings.ts';
import { eachInSteps, partsInSteps, type Steps, scannedPerStep } from './resumable-steps.ts';
import { createSlotMap } from './slot-map.ts';
import { sparseDot, weighByTerms } from './sparse-score.ts';
import { createTopK } from './top-k.ts';
import type { Ranked } from './vector-index.ts';

/** Up to here the rows are read for each search: many small collections take no memory. */
export const scannedSparseMax = 256;

export interface SparseOptions extends Pick<MultiOptions, 'rows'> {
  modifier: 'none' | 'idf';
  /** Bytes that it may take; beyond them it reads rows. Asked when it is made and whenever it has grown much. */
  room(bytes: number): boolean;
  /** Called once when it does not fit. */
  tooLarge(): void;
}

/**
 * Sparse vectors, found by the terms that they share with the query; a vector that shares none is not found. An
 * inverted index in memory above `scannedSparseMax` vectors; a scan of the rows below, and without room.
 */
export function createSparseIndex(options: SparseOptions): FieldIndex {
  const { rows, modifier } = options;
  let inverted: Inverted | null = null;
  let refused = false;

  function make(): void {
    const made = createInverted();
    let fits = true;
    rows.each((slot, value) => {
      if (!fits) return;
      made.put(slot, value as SparseVector, null);
      if (made.count % fitEach === 0) fits = options.room(made.bytes);
    });
    if (fits) made.compact();
    if (!fits || !options.room(made.bytes)) {
      refused = true;
      options.tooLarge();
      return;
    }
    inverted = made;
  }

  function* weighed(queries: readonly SparseVector[]): Steps<readonly SparseVector[]> {
    if (inverted === null && !refused && rows.count() > scannedSparseMax) make();
    if (modifier === 'none') return queries;
    const { count, frequency } = inverted ?? (yield* countTerms(rows, queries));
    return queries.map((query) => weighByTerms(query, count, frequency));
  }

  return {
    get count() {
      return inverted?.count ?? rows.count();
    },
    get bytes() {
      return inverted?.bytes ?? 0;
    },
    get heapBytes() {
      return inverted?.bytes ?? 0;
    },
    put(slot, value, before) {
      inverted?.put(slot, value as SparseVector, before as SparseVector | null);
      if (inverted !== null && inverted.count % fitEach === 0 && !options.room(inverted.bytes)) {
        inverted = null;
        refused = true;
        options.tooLarge();
      }
    },
    remove(slot, before) {
      inverted?.remove(slot, before as SparseVector | null);
    },
    weighed: (queries) => weighed(queries as readonly SparseVector[]),
    *search(query, k, { slots }) {
      const [nearest = query as SparseVector] = yield* weighed([query as SparseVector]);
      return inverted === null ? yield* scan(rows, nearest, k, slots) : inverted.search(nearest, k, slots);
    },
    image: () => null,
    close() {
      inverted = null;
    },
  };
}

/** Counts in the rows how many vectors have each term of the queries. */
function* countTerms(rows: SparseOptions['rows'], queries: readonly SparseVector[]) {
  const rowRead = rows.watch.start();
  const counts = new Map<number, number>();
  for (const { indices } of queries) for (const index of indices) counts.set(index, 0);
  const countRow = (_: number, value: VectorValue) => {
    rowRead();
    for (const index of (value as SparseVector).indices) {
      const having = counts.get(index);
      if (having !== undefined) counts.set(index, having + 1);
    }
  };
  yield* partsInSteps(scannedPerStep, (part) => rows.each(countRow, part));
  return { count: rows.count(), frequency: (index: number) => counts.get(index)! };
}

/** Compares the query with each row. */
function* scan(
  rows: SparseOptions['rows'],
  nearest: SparseVector,
  k: number,
  slots: Uint32Array | null,
): Steps<Ranked> {
  const rowRead = rows.watch.start();
  const top = createTopK(Math.min(k, slots?.length ?? rows.count()));
  const offer = (slot: number, value: VectorValue) => {
    rowRead();
    const score = sparseDot(nearest, value as SparseVector);
    if (score !== null) top.offer(Math.fround(score), slot);
  };
  if (slots === null) yield* partsInSteps(scannedPerStep, (part) => rows.each(offer, part));
  else {
    yield* eachInSteps(slots, scannedPerStep, (slot) => {
      const value = rows.value(slot);
      if (value !== null) offer(slot, value);
    });
  }
  return ranked(top, 1);
}

/** Vectors between two checks whether it fits. */
const fitEach = 1_024;

/**
 * Rows are numbered as they come. A rewritten or removed vector leaves a dead row behind, until there are as many dead
 * rows as live ones.
 */
type Inverted = ReturnType<typeof createInverted>;

const dead = 0xffffffff;
const compactFrom = 1_024;

function createInverted() {
  const postings = createPostings();
  const slotMap = createSlotMap();
  let slotOfRow = new Uint32Array(1_024);
  let rowCount = 0;
  let count = 0;
  /** Sums of one search by row, and the search in which a row was last met. */
  let sums = new Float64Array(1_024);
  let metIn = new Uint32Array(1_024);
  let met = new Uint32Array(1_024);
  let searches = 0;

  function drop(slot: number, before: SparseVector | null): void {
    const row = slotMap.row(slot);
    if (row === -1) return;
    if (before === null) throw new Error('a sparse vector is replaced that nobody gave');
    slotMap.delete(slot);
    slotOfRow[row] = dead;
    count--;
    for (const index of before.indices) postings.forget(index);
  }

  function compact(): void {
    const numbers = new Int32Array(rowCount);
    let next = 0;
    for (let row = 0; row < rowCount; row++) {
      const slot = slotOfRow[row]!;
      numbers[row] = slot === dead ? -1 : next;
      if (slot === dead) continue;
      slotOfRow[next] = slot;
      slotMap.set(slot, next++);
    }
    rowCount = next;
    postings.compact((row) => numbers[row]!);
  }

  /** Room for the sums of all rows. */
  function fit(): void {
    if (sums.length >= rowCount) return;
    const room = Math.max(rowCount, sums.length * 2);
    sums = new Float64Array(room);
    metIn = new Uint32Array(room);
    met = new Uint32Array(room);
    searches = 0;
  }

  return {
    get count(): number {
      return count;
    },
    get bytes(): number {
      return postings.bytes + slotOfRow.length * 8 + sums.length * 16;
    },
    put(slot: number, { indices, values }: SparseVector, before: SparseVector | null): void {
      drop(slot, before);
      if (rowCount === slotOfRow.length) {
        const larger = new Uint32Array(rowCount * 2);
        larger.set(slotOfRow);
        slotOfRow = larger;
      }
      const row = rowCount++;
      slotOfRow[row] = slot;
      slotMap.set(slot, row);
      count++;
      for (let i = 0; i < indices.length; i++) postings.add(indices[i]!, row, values[i]!);
      if (rowCount - count > Math.max(compactFrom, count)) compact();
    },
    remove(slot: number, before: SparseVector | null): void {
      drop(slot, before);
      if (rowCount - count > Math.max(compactFrom, count)) compact();
    },
    frequency: (index: number): number => postings.frequency(index),
    search(query: SparseVector, k: number, slots: Uint32Array | null): Ranked {
      fit();
      searches++;
      if (searches === dead) {
        metIn.fill(0);
        searches = 1;
      }
      let found = 0;
      const { rows, values } = postings;
      for (let i = 0; i < query.indices.length; i++) {
        const list = postings.list(query.indices[i]!);
        if (list === null) continue;
        const weight = query.values[i]!;
        for (let at = list.start; at < list.end; at++) {
          const row = rows[at]!;
          if (metIn[row] === searches) {
            sums[row] = sums[row]! + weight * values[at]!;
          } else {
            metIn[row] = searches;
            sums[row] = weight * values[at]!;
            met[found++] = row;
          }
        }
      }
      const top = createTopK(Math.min(k, found, slots?.length ?? found));
      if (slots === null) {
        for (let i = 0; i < found; i++) {
          const row = met[i]!;
          const score = Math.fround(sums[row]!);
          if (score < top.floor || slotOfRow[row] === dead) continue;
          top.offer(score, slotOfRow[row]!);
        }
      } else {
        for (const slot of slots) {
          const row = slotMap.row(slot);
          if (row !== -1 && metIn[row] === searches) top.offer(Math.fround(sums[row]!), slot);
        }
      }
      return ranked(top, 1);
    },
    compact,
  };
}
