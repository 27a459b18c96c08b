import type { Filter } from '../../filter/filter.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import type { PointId } from '../../point.ts';
import type { FacetHit } from '../../vector-store.ts';
import type { CodeImage, SavedImage } from '../index/code-image.ts';
import type { Steps } from '../index/resumable-steps.ts';
import type { RowPart } from '../index/vector-index.ts';
import type { RowWatch } from '../row-watch.ts';

/** The rows on disk that columns are made of. */
export interface ColumnSource {
  /** Rows there are. */
  count(): number;
  /** Null when there is no such point. */
  slotOf(id: PointId): number | null;
  /** Throws when there is none. `payload`: JSON text of an object. */
  row(slot: number): { id: PointId; payload: string | null };
  /** By slot, all or a part of them. Gives the slot that the next part begins at, null after the last one. */
  each(visit: (slot: number, id: PointId, payload: string | null) => void, part?: RowPart): number | null;
  /** Whether its point has a vector of that name. */
  hasVector(slot: number, name: string): boolean;
  /** Slots of the points that have one. */
  withVector(name: string): Iterable<number>;
  /** Image of the columns of the present rows, which its reader closes; null when there is none. */
  openImage(): SavedImage | null;
  /** Counts rows that are gone through for one call. */
  watch: RowWatch;
  /** The column of a key does not fit: filters on it read rows. */
  tooLarge(key: string): void;
}

/** Missing columns of many rows are made at once, or the call throws `PartMissing`, so that they are made in steps. */
export type Pace = 'now' | 'in-steps';

/**
 * Answers filters of one collection from columns in memory: one for a key path, made for the first call that uses it,
 * kept up to date by `put` and `remove`, given up when bytes are short. Other conditions are read from the rows, so
 * every answer is exactly that of `matches`. Small collections are read from their rows alone.
 *
 * Every method that reads throws `PartMissing` where columns are missing, and is called again when `make` has made them.
 * Columns that were given up in between are made at once, so that a call needs no third attempt.
 */
export interface Columns {
  /** Slots of the points that pass, ascending. */
  select(filter: Filter, pace?: Pace): Uint32Array;
  /** The same in steps, between which no row may change. */
  selecting(filter: Filter): Steps<Uint32Array>;
  count(filter: Filter): number;
  /** Throws where columns for the filter are missing. */
  look(filter: Filter): void;
  /** Columns of these keys. Writes between the steps are included. */
  make(keys: readonly KeyPath[]): Steps<void>;
  /**
   * Values (strings, integers, booleans) with the points that have them, most first, then by value. `slots`: the points
   * that count; null: all. Throws a FailureError (501) when the values are more than memory is given for.
   */
  facet(key: KeyPath, slots: Uint32Array | null, limit: number): FacetHit[];
  /** The first rows in order of a key's values; a point is there once for each of them, without one not at all. */
  order(key: KeyPath, query: OrderQuery): OrderedSlot[];
  /** Values of a key that a group may have (strings and integers), for each of the slots; in steps as `selecting`. */
  groupValues(key: KeyPath, slots: Uint32Array): Steps<(string | number)[][]>;
  /** A row was written; to be called in the turn in which `source` shows it. */
  put(slot: number, payload: string | null): void;
  /** A row was removed. */
  remove(slot: number): void;
  /** Image of the columns, so that they need not be made anew; null when there are none worth it. */
  image(): CodeImage | null;
  /** Forgets everything; columns are made again when they are asked for. After a write that was undone. */
  clear(): void;
  /** Rough bytes in memory. */
  readonly bytes: number;
}

export interface OrderQuery {
  direction: 'asc' | 'desc';
  /** The first value, itself included, as `orderNumber` gives it; null: from the beginning. */
  startFrom: number | null;
  /** The points that count; null: all. */
  slots: Uint32Array | null;
  limit: number;
}

export interface OrderedSlot {
  slot: number;
  /** A number unchanged, a time in microseconds since 1970, as Qdrant's `order_value`. */
  value: number;
}
