import type { Filter } from '../filter/filter.ts';
import type { KeyPath } from '../filter/key-path.ts';
import type { VectorValue } from '../point.ts';
import type { Columns } from './columns/columns.ts';
import { ArenaFull } from './index/arena.ts';
import type { CodeImage } from './index/code-image.ts';
import type { FieldIndex } from './index/field-index.ts';
import { finish, type Steps } from './index/resumable-steps.ts';
import type { EarlySearch, Ranked } from './index/vector-index.ts';
import { PartMissing } from './part-missing.ts';
import type { PointRow } from './point-table.ts';
import type { ReadRows } from './row-cache.ts';

/** Effect of a write on a slot. An absent member stayed as it was. */
export type Change =
  | { kind: 'put'; slot: number; vectors: readonly VectorChange[]; payload?: string | null }
  | { kind: 'remove'; slot: number; vectors: readonly VectorChange[] };

/** `before`: what stood there, where the index must know it to forget it (sparse ones). */
export interface VectorChange {
  name: string;
  value: VectorValue | null;
  before: VectorValue | null;
}

/**
 * State of one collection in memory, made from its rows on demand and dropped whenever memory is short: an index for
 * each of its vectors, and its columns. Changes are noted inside a transaction and applied when it is on the disk.
 */
export interface CollectionMemory extends Pick<Columns, 'select' | 'selecting' | 'count' | 'look'> {
  /**
   * The best of the vectors of one name, '' being the unnamed one. Throws `PartMissing` where making the index takes so
   * long that others must come in between. No row may change between the steps.
   */
  search(
    name: string,
    query: VectorValue,
    k: number,
    options: { slots: Uint32Array | null; exact: boolean },
  ): Steps<Ranked>;
  /** The queries as that search compares them: terms of `idf` weigh by how rare they are. Throws as it does. */
  weighed(name: string, queries: readonly VectorValue[]): Steps<readonly VectorValue[]>;
  /**
   * Makes that index. It includes writes between the steps. `usable` is called when a part of it answers most searches.
   * Throws errors of reading the rows, and ArenaFull.
   */
  make(name: string, usable?: () => void): Steps<void>;
  /** Columns of these keys. It includes writes between the steps, and begins at once. Throws errors of reading the rows. */
  makeColumns(keys: readonly KeyPath[]): Steps<void>;
  /** The filter as the collection's text indexes understand it. */
  understood(filter: Filter): Filter;
  columns(): Columns;
  /** Id and payload of a point that a search has found; throws as reading it does. */
  row(slot: number): PointRow;
  /** Whether the index of that name is in memory, so that changes must give it the earlier value. */
  holds(name: string): boolean;
  /** Image of the index of that name; null while there is none to keep, or it has pending changes. */
  image(name: string): CodeImage | null;
  /** Image of the columns; null while there are none to keep, or they have pending changes. */
  columnImage(): CodeImage | null;
  /** Vectors in memory. */
  readonly indexed: number;
  readonly columnBytes: number;
  /** Bytes of indexes outside the arena. */
  readonly heapBytes: number;
  note(change: Change): void;
  mark(): number;
  /** Takes back the changes noted since. */
  undo(mark: number): void;
  /** The transaction is on the disk. */
  settle(): void;
  /** Gives memory back; the next request makes it anew. */
  dropIndex(): void;
  dropColumns(): void;
  close(): void;
  readonly isClosed: boolean;
}

/** How it is made; all throw what reading the rows throws. */
export interface MemorySource extends IndexSource<CollectionMemory> {
  /** Whether making that index takes long. */
  isLarge(name: string): boolean;
  openColumns(owner: CollectionMemory): Columns;
  understood(filter: Filter): Filter;
  openRows(): ReadRows;
  /** Called whenever a part has been used, and when all is let go. */
  used(owner: CollectionMemory, part: 'index' | 'columns'): void;
  closed(owner: CollectionMemory): void;
}

export function createCollectionMemory(source: MemorySource): CollectionMemory {
  const indexes = new Map<string, FieldIndex>();
  const underWay = new IndexesUnderWay<CollectionMemory>(source);
  const rows = source.openRows();
  let columns: Columns | null = null;
  let isClosed = false;
  let noted: Change[] = [];
  /** How many of these the state in memory includes: it was made, or brought up to date, inside the transaction. */
  let seen = 0;

  /** Before anything is read inside a transaction, it must see what the transaction has done. */
  function catchUp(): void {
    for (; seen < noted.length; seen++) apply(noted[seen]!);
  }

  function apply({ slot, vectors, ...change }: Change): void {
    try {
      for (const { name, value, before } of vectors) {
        const index = indexes.get(name);
        underWay.changed(name, slot);
        if (index === undefined) continue;
        if (value === null) index.remove(slot, before);
        else index.put(slot, value, before);
      }
      if (change.kind === 'remove') columns?.remove(slot);
      else if (change.payload !== undefined) columns?.put(slot, change.payload);
    } catch {
      // Mostly because the arena is full: derived state is made anew from the rows on the next request.
      memory.dropIndex();
      memory.dropColumns();
    }
  }

  function indexOf(name: string): FieldIndex {
    catchUp();
    const known = indexes.get(name);
    if (known === undefined && source.isLarge(name)) throw new PartMissing({ kind: 'index', vector: name });
    const index = known ?? finish(source.openIndex(memory, name, () => {}));
    indexes.set(name, index);
    source.used(memory, 'index');
    return index;
  }

  const memory: CollectionMemory = {
    *search(name, query, k, options) {
      catchUp();
      const found = options.exact || indexes.has(name) ? null : underWay.search(name, query, k, options.slots);
      return found ?? (yield* indexOf(name).search(query, k, options));
    },
    weighed: (name, queries) => indexOf(name).weighed(queries),
    *make(name, usable = () => {}) {
      if (indexes.has(name)) return;
      const made = yield* underWay.make(memory, name, usable);
      if (made === null) return;
      indexes.set(name, made);
      source.used(memory, 'index');
    },
    makeColumns: (keys) => memory.columns().make(keys),
    select: (filter, pace) => memory.columns().select(memory.understood(filter), pace),
    selecting: (filter) => memory.columns().selecting(memory.understood(filter)),
    count: (filter) => memory.columns().count(memory.understood(filter)),
    look: (filter) => memory.columns().look(memory.understood(filter)),
    understood: (filter) => source.understood(filter),
    columns() {
      catchUp();
      columns ??= source.openColumns(memory);
      source.used(memory, 'columns');
      return columns;
    },
    row: rows.row,
    image: (name) => (noted.length > 0 ? null : (indexes.get(name)?.image() ?? null)),
    columnImage: () => (noted.length > 0 ? null : (columns?.image() ?? null)),
    holds: (name) => indexes.has(name),
    get indexed() {
      return sumOf(indexes.values(), ({ bytes, count }) => (bytes > 0 ? count : 0));
    },
    get columnBytes() {
      return columns?.bytes ?? 0;
    },
    get heapBytes() {
      return sumOf(indexes.values(), ({ heapBytes }) => heapBytes);
    },
    note(change) {
      noted.push(change);
      // No search comes before its transaction has ended.
      rows.forget(change.slot);
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
      for (const index of indexes.values()) index.close();
      indexes.clear();
    },
    dropColumns() {
      columns?.clear();
      columns = null;
    },
    get isClosed() {
      return isClosed;
    },
    close() {
      isClosed = true;
      rows.close();
      memory.dropIndex();
      memory.dropColumns();
      source.closed(memory);
    },
  };
  return memory;
}

function sumOf(indexes: Iterable<FieldIndex>, of: (index: FieldIndex) => number): number {
  let sum = 0;
  for (const index of indexes) sum += of(index);
  return sum;
}

/** Rows that are read again in one step. */
const followedPerStep = 200;

/** Rows of which indexes are made for `Owner`; both throw what reading the rows throws. */
interface IndexSource<Owner> {
  openIndex(owner: Owner, name: string, early: (search: EarlySearch | null) => void): Steps<FieldIndex>;
  /** The value on the disk, good until the next look; null when the slot has none. */
  look(name: string, slot: number): VectorValue | null;
}

/** Indexes of one collection that are being made, in steps between which its rows may change. */
class IndexesUnderWay<Owner> {
  readonly #source: IndexSource<Owner>;
  /** By name of their vectors. `changed`: slots that were written since it was begun. */
  readonly #begun = new Map<string, { changed: Set<number>; search: EarlySearch | null }>();

  constructor(source: IndexSource<Owner>) {
    this.#source = source;
  }

  changed(name: string, slot: number): void {
    this.#begun.get(name)?.changed.add(slot);
  }

  /** By the part of it that is there. Null: nothing but the whole will do. */
  search(name: string, query: VectorValue, k: number, slots: Uint32Array | null): Ranked | null {
    const begun = this.#begun.get(name);
    if (begun === undefined || begun.search === null || begun.changed.size > 0) return null;
    // The index under the name of a dense vector is a dense one.
    return begun.search(query as Float32Array, k, slots);
  }

  /** Gives it with all changes meanwhile; null when there is no room for these. `usable`: see `CollectionMemory.make`. */
  *make(owner: Owner, name: string, usable: () => void): Steps<FieldIndex | null> {
    const begun = { changed: new Set<number>(), search: null as EarlySearch | null };
    this.#begun.set(name, begun);
    try {
      const index = yield* this.#source.openIndex(owner, name, (search) => {
        begun.search = search;
        if (search !== null) usable();
      });
      return yield* this.#followed(index, name, begun.changed);
    } finally {
      this.#begun.delete(name);
    }
  }

  *#followed(index: FieldIndex, name: string, changed: Set<number>): Steps<FieldIndex | null> {
    let isDone = false;
    try {
      let examined = 0;
      // One that changes once more queues behind the others again.
      for (const slot of changed) {
        changed.delete(slot);
        const value = this.#source.look(name, slot);
        if (value === null) index.remove(slot, null);
        else index.put(slot, value, null);
        examined += 1;
        if (examined % followedPerStep === 0) yield;
      }
      isDone = true;
      return index;
    } catch (error) {
      if (error instanceof ArenaFull) return null;
      throw error;
    } finally {
      if (!isDone) index.close();
    }
  }
}
