import type { JsonObject } from '../../../kernel/json.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import { type CodeImage, ImageUnusable } from '../index/code-image.ts';
import { finish, type Steps } from '../index/resumable-steps.ts';
import { PartMissing } from '../part-missing.ts';
import { type Column, createColumn } from './column.ts';
import { columnImage, readColumns, type SavedColumns } from './column-image.ts';
import type { ColumnSource, Pace } from './columns.ts';
import { createLiveSlots, type LiveSlots } from './live-slots.ts';
import type { SlotSet } from './slot-set.ts';

/** Columns kept; a filter with more keys reads rows for those beyond. */
export const columnsMax = 64;
/** Keys remembered as too large, or as missed; beyond it all are tried again. */
const rememberedKeysMax = 1_024;
/** Rows that columns are made of in one turn, and in one step of more: some milliseconds. */
export interface MakingSteps {
  atOnceMax: number;
  perStep: number;
}

export const makingSteps: MakingSteps = { atOnceMax: 4_096, perStep: 500 };

/** Columns that are being made, with the writes meanwhile. */
interface Build {
  columns: Column[];
  /** Null: known already. */
  live: LiveSlots | null;
  /** Bytes that the columns may take. */
  room: number;
}

/** The columns in memory, and which slots have a row. Nothing before the first `load`. */
export class ColumnCache {
  readonly #source: ColumnSource;
  readonly #bytesMax: number;
  readonly #steps: MakingSteps;
  /** By key text, in order of use. */
  readonly #columns = new Map<string, Column>();
  /** Keys whose column did not fit: the rows there were, and the bytes there were for it. */
  readonly #refused = new Map<string, { rows: number; room: number }>();
  readonly #builds = new Set<Build>();
  /** Keys that a call found missing, until one finds them; '' for the slots alone. */
  readonly #missed = new Set<string>();
  #live: LiveSlots | null = null;
  /** How often rows were put or removed: an image is of one state. */
  #changes = 0;

  constructor(source: ColumnSource, bytesMax: number, steps: MakingSteps) {
    this.#source = source;
    this.#bytesMax = bytesMax;
    this.#steps = steps;
  }

  get live(): SlotSet {
    return this.#live?.set ?? new Uint32Array(0);
  }

  get slotEnd(): number {
    return this.#live?.end ?? 0;
  }

  /** How often rows were put, removed, or forgotten. */
  get changes(): number {
    return this.#changes;
  }

  get bytes(): number {
    let bytes = 0;
    for (const { columns, live } of this.#maintained()) bytes += bytesOf(columns) + (live?.bytes ?? 0);
    return bytes;
  }

  /**
   * Columns of these keys by the key's text; absent or null: too large. Missing ones are made of one pass over the rows, or
   * it throws `PartMissing`.
   */
  load(keys: readonly KeyPath[], pace: Pace): ReadonlyMap<string, Column | null> {
    const { columnNames, missing, room } = this.#look(keys);
    if (missing.length > 0 || this.#live === null) {
      if (pace === 'in-steps' && this.#isForLater(missing)) throw new PartMissing({ kind: 'columns', keys });
      finish(this.#done(this.#begin(missing, room), 'rows'));
    }
    for (const text of columnNames) this.#missed.delete(text);
    this.#missed.delete('');
    const found = new Map(columnNames.map((text) => [text, this.#columns.get(text) ?? null]));
    this.#evict();
    return found;
  }

  /**
   * The same as `load` would make, from an image as far as there is one. Begins at once; writes between the steps are
   * included.
   */
  make(keys: readonly KeyPath[]): Steps<void> {
    const { missing, room } = this.#look(keys);
    return missing.length > 0 || this.#live === null ? this.#done(this.#begin(missing, room), 'image') : nothing();
  }

  image(): CodeImage | null {
    const at = this.#changes;
    return this.#live && columnImage(this.#live, [...this.#columns.values()], () => this.#changes === at);
  }

  put(slot: number, payload: string | null): void {
    this.#changes += 1;
    let object: JsonObject | null | undefined;
    for (const { columns, live } of this.#maintained()) {
      live?.add(slot);
      for (const column of columns) {
        object ??= parsed(payload);
        column.put(slot, object);
      }
    }
    if (object !== undefined) this.#evict();
  }

  remove(slot: number): void {
    this.#changes += 1;
    for (const { columns, live } of this.#maintained()) {
      live?.remove(slot);
      for (const column of columns) column.put(slot, null);
    }
  }

  clear(): void {
    this.#changes += 1;
    this.#columns.clear();
    this.#refused.clear();
    this.#builds.clear();
    this.#live = null;
  }

  /** Columns and live slots that follow the writes. */
  *#maintained(): Iterable<{ columns: Iterable<Column>; live: LiveSlots | null }> {
    yield { columns: this.#columns.values(), live: this.#live };
    yield* this.#builds;
  }

  /** Keys that are worth a column and have none, and the bytes there are for them; the others count as used now. */
  #look(keys: readonly KeyPath[]): { columnNames: readonly string[]; missing: KeyPath[]; room: number } {
    const byText = new Map(keys.slice(0, columnsMax).map((key) => [key.text, key]));
    let room = this.#bytesMax;
    for (const text of byText.keys()) {
      const column = this.#columns.get(text);
      if (column === undefined) continue;
      room -= column.bytes;
      this.#columns.delete(text);
      this.#columns.set(text, column);
    }
    const missing = [...byText.values()].filter(
      ({ text }) => !this.#columns.has(text) && this.#isWorthTrying(text, room),
    );
    return { columnNames: [...byText.keys()], missing, room };
  }

  /** Whether the caller is to come again: the first to miss them, and any that come while some are made. */
  #isForLater(missing: readonly KeyPath[]): boolean {
    if (this.#source.count() <= this.#steps.atOnceMax) return false;
    const names = missing.length > 0 ? missing.map(({ text }) => text) : [''];
    const isFirst = names.some((name) => !this.#missed.has(name));
    if (this.#missed.size >= rememberedKeysMax) this.#missed.clear();
    for (const name of names) this.#missed.add(name);
    return isFirst || this.#builds.size > 0;
  }

  #begin(keys: readonly KeyPath[], room: number): Build {
    const columns = keys.map((key) => createColumn(key));
    const build = { columns, live: this.#live === null ? createLiveSlots() : null, room };
    this.#builds.add(build);
    return build;
  }

  /** `from`: what is looked at first. A write's own transaction may be ahead of the image, and takes the rows alone. */
  *#done(build: Build, from: 'image' | 'rows'): Steps<void> {
    try {
      if (from === 'image') yield* this.#takeUp(build);
      // All may have been forgotten meanwhile.
      if (this.#builds.has(build) && (build.columns.length > 0 || build.live !== null)) yield* this.#pass(build);
    } finally {
      this.#builds.delete(build);
    }
  }

  /** From the image, if there is one and nothing is written meanwhile. */
  *#takeUp(build: Build): Steps<void> {
    const image = this.#source.openImage();
    if (image === null) return;
    const at = this.#changes;
    try {
      const saved = yield* readColumns(image);
      if (this.#changes === at) this.#take(saved, build);
    } catch (error) {
      if (!(error instanceof ImageUnusable)) throw error;
    } finally {
      image.close();
    }
  }

  /** All that there are, and last those that are wanted. What the image has not is left in `build`. */
  #take({ live, columns }: SavedColumns, build: Build): void {
    this.#live ??= live;
    build.live = null;
    const columnKeys = new Set(build.columns.map(({ key }) => key.text));
    const isBuilt = ({ key }: Column) => columnKeys.has(key.text);
    for (const column of [...columns.filter((one) => !isBuilt(one)), ...columns.filter(isBuilt)]) {
      if (!this.#columns.has(column.key.text)) this.#columns.set(column.key.text, column);
    }
    build.columns = build.columns.filter(({ key }) => !this.#columns.has(key.text));
    this.#evict();
  }

  /** One pass over the rows, in steps. When the columns become more than its room, the largest is given up. */
  *#pass(build: Build): Steps<void> {
    for (let from: number | null = 0; from !== null; yield) {
      const part = { from, limit: this.#steps.perStep };
      from = this.#source.each((slot, _id, payload) => this.#add(build, slot, payload), part);
      // All was forgotten meanwhile.
      if (!this.#builds.has(build)) return;
    }
    this.#live ??= build.live;
    for (const column of build.columns) {
      this.#refused.delete(column.key.text);
      this.#columns.set(column.key.text, column);
    }
    this.#evict();
  }

  #add(build: Build, slot: number, payload: string | null): void {
    build.live?.add(slot);
    if (payload === null || build.columns.length === 0) return;
    const object = parsed(payload);
    for (const column of build.columns) column.put(slot, object);
    if (bytesOf(build.columns) <= build.room) return;
    const largest = build.columns.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    this.#refuse(largest.key.text, build.room);
    build.columns = build.columns.filter((column) => column !== largest);
  }

  #evict(): void {
    let bytes = bytesOf(this.#columns.values());
    for (const [text, column] of this.#columns) {
      if (bytes <= this.#bytesMax && this.#columns.size <= columnsMax) return;
      bytes -= column.bytes;
      this.#columns.delete(text);
    }
  }

  /** False when it did not fit before, and neither are the rows half as many now nor is there more room. */
  #isWorthTrying(text: string, room: number): boolean {
    const before = this.#refused.get(text);
    return before === undefined || this.#source.count() * 2 <= before.rows || room > before.room;
  }

  #refuse(text: string, room: number): void {
    if (this.#refused.size >= rememberedKeysMax) this.#refused.clear();
    this.#refused.set(text, { rows: this.#source.count(), room });
    this.#source.tooLarge(text);
  }
}

function bytesOf(columns: Iterable<Column>): number {
  let bytes = 0;
  for (const column of columns) bytes += column.bytes;
  return bytes;
}

export function parsed(payload: string | null): JsonObject | null {
  return payload === null ? null : (JSON.parse(payload) as JsonObject);
}

function* nothing(): Steps<void> {}
