import type { Filter } from '../filter/filter.ts';
import type { Columns } from './columns/columns.ts';
import type { Ranked, VectorIndex } from './index/vector-index.ts';

/** What a write did to a slot. An absent member stayed as it was. */
export type Change =
  | { kind: 'put'; slot: number; vector?: Float32Array; payload?: string | null }
  | { kind: 'remove'; slot: number };

/**
 * What stands in memory of one collection, made of its rows when it is first asked for and dropped whenever memory is
 * short: its index and its columns. Changes are noted inside a transaction and made when it is on the disk.
 */
export interface CollectionMemory {
  search(query: Float32Array, k: number, options: { slots: Uint32Array | null; exact: boolean }): Ranked;
  /** Slots of the points that pass, ascending. */
  select(filter: Filter): Uint32Array;
  columns(): Columns;
  /** Vectors in memory. */
  readonly indexed: number;
  readonly columnBytes: number;
  note(change: Change): void;
  mark(): number;
  /** Takes back what was noted since. */
  undo(mark: number): void;
  /** The transaction is on the disk. */
  settle(): void;
  /** Gives memory back; what is asked next is made anew. */
  dropIndex(): void;
  dropColumns(): void;
  close(): void;
}

/** How it is made; both throw what reading the rows throws. */
export interface MemorySource {
  openIndex(owner: CollectionMemory): VectorIndex;
  openColumns(owner: CollectionMemory): Columns;
  /** Told whenever a part has been used, and when all is let go. */
  used(owner: CollectionMemory, part: 'index' | 'columns'): void;
  closed(owner: CollectionMemory): void;
}

export function createCollectionMemory(source: MemorySource): CollectionMemory {
  let index: VectorIndex | null = null;
  let columns: Columns | null = null;
  let noted: Change[] = [];
  /** How many of these what is in memory has seen: it was made, or brought up to date, inside the transaction. */
  let seen = 0;

  /** Before anything is read inside a transaction, it must see what the transaction has done. */
  function catchUp(): void {
    for (; seen < noted.length; seen++) apply(noted[seen]!);
  }

  function apply(change: Change): void {
    try {
      if (change.kind === 'remove') {
        index?.remove(change.slot);
        columns?.remove(change.slot);
        return;
      }
      const { slot, vector, payload } = change;
      if (vector !== undefined) index?.put(slot, vector);
      if (payload !== undefined) columns?.put(slot, payload);
    } catch {
      // The arena is full, mostly: what is derived is made anew of the rows when it is next asked for.
      memory.dropIndex();
      memory.dropColumns();
    }
  }

  const memory: CollectionMemory = {
    search(query, k, options) {
      catchUp();
      index ??= source.openIndex(memory);
      source.used(memory, 'index');
      return index.search(query, k, options);
    },
    select: (filter) => memory.columns().select(filter),
    columns() {
      catchUp();
      columns ??= source.openColumns(memory);
      source.used(memory, 'columns');
      return columns;
    },
    get indexed() {
      return index === null || index.bytes === 0 ? 0 : index.count;
    },
    get columnBytes() {
      return columns?.bytes ?? 0;
    },
    note(change) {
      noted.push(change);
    },
    mark: () => noted.length,
    undo(mark) {
      if (seen > mark) {
        memory.dropIndex();
        memory.dropColumns();
        seen = mark;
      }
      noted.length = mark;
    },
    settle() {
      catchUp();
      noted = [];
      seen = 0;
    },
    dropIndex() {
      index?.close();
      index = null;
    },
    dropColumns() {
      columns?.clear();
      columns = null;
    },
    close() {
      memory.dropIndex();
      memory.dropColumns();
      source.closed(memory);
    },
  };
  return memory;
}
