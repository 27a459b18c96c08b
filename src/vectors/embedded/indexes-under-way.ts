import type { VectorValue } from '../point.ts';
import { ArenaFull } from './index/arena.ts';
import type { FieldIndex } from './index/field-index.ts';
import type { Steps } from './index/resumable-steps.ts';
import type { EarlySearch, Ranked } from './index/vector-index.ts';

/** Rows that are read again in one step. */
const followedPerStep = 200;

/** Rows of which indexes are made for `Owner`; both throw what reading the rows throws. */
export interface IndexSource<Owner> {
  openIndex(owner: Owner, name: string, early: (search: EarlySearch | null) => void): Steps<FieldIndex>;
  /** The value on the disk, good until the next look; null when the slot has none. */
  look(name: string, slot: number): VectorValue | null;
}

/** Indexes of one collection that are being made, in steps between which its rows may change. */
export class IndexesUnderWay<Owner> {
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
