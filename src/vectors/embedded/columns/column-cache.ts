import type { JsonObject } from '../../../kernel/json.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import { type Column, createColumn } from './column.ts';
import type { ColumnSource } from './columns.ts';
import { addSlot, removeSlot, type SlotSet, wordsFor } from './slot-set.ts';

/** Columns kept; a filter with more keys reads rows for those beyond. */
export const columnsMax = 64;
/** Keys remembered as too large; beyond it all are tried again. */
const refusedKeysMax = 1_024;

/** The columns in memory, and which slots have a row. Nothing before the first `load`. */
export interface ColumnCache {
  readonly live: SlotSet;
  readonly slotEnd: number;
  readonly bytes: number;
  /** Makes columns of these keys, in one pass over the rows, and gives them by the key's text; absent or null: too large. */
  load(keys: readonly KeyPath[]): ReadonlyMap<string, Column | null>;
  put(slot: number, payload: string | null): void;
  remove(slot: number): void;
  clear(): void;
}

export function createColumnCache(source: ColumnSource, bytesMax: number): ColumnCache {
  /** By key text, in order of use. */
  const columns = new Map<string, Column>();
  /** Keys whose column did not fit: the rows there were, and the bytes there were for it. */
  const refused = new Map<string, { rows: number; room: number }>();
  let live: SlotSet | null = null;
  let slotEnd = 0;

  function addLive(slot: number): void {
    live ??= new Uint32Array(0);
    if (slot >= slotEnd) slotEnd = slot + 1;
    if (wordsFor(slotEnd) > live.length) {
      const larger = new Uint32Array(Math.max(wordsFor(slotEnd), live.length * 2));
      larger.set(live);
      live = larger;
    }
    addSlot(live, slot);
  }

  function columnBytes(): number {
    let bytes = 0;
    for (const column of columns.values()) bytes += column.bytes;
    return bytes;
  }

  function evict(): void {
    let bytes = columnBytes();
    for (const [text, column] of columns) {
      if (bytes <= bytesMax && columns.size <= columnsMax) return;
      bytes -= column.bytes;
      columns.delete(text);
    }
  }

  /** False when it did not fit before, and neither are the rows half as many now nor is there more room. */
  function worthTrying(text: string, room: number): boolean {
    const before = refused.get(text);
    return before === undefined || source.count() * 2 <= before.rows || room > before.room;
  }

  function refuse(text: string, room: number): void {
    if (refused.size >= refusedKeysMax) refused.clear();
    refused.set(text, { rows: source.count(), room });
    source.tooLarge(text);
  }

  /** One pass over the rows. When the columns become more than `room`, the largest is given up. */
  function build(keys: readonly KeyPath[], room: number): void {
    let building = keys.map(createColumn);
    const isFirst = live === null;
    try {
      source.each((slot, _id, payload) => {
        if (isFirst) addLive(slot);
        if (payload === null || building.length === 0) return;
        const object = JSON.parse(payload) as JsonObject;
        let bytes = 0;
        for (const column of building) {
          column.put(slot, object);
          bytes += column.bytes;
        }
        if (bytes <= room) return;
        const largest = building.reduce((a, b) => (b.bytes > a.bytes ? b : a));
        refuse(largest.key.text, room);
        building = building.filter((column) => column !== largest);
      });
    } catch (error) {
      if (isFirst) live = null;
      throw error;
    }
    for (const column of building) {
      refused.delete(column.key.text);
      columns.set(column.key.text, column);
    }
  }

  return {
    get live() {
      return (live ?? new Uint32Array(0)).subarray(0, wordsFor(slotEnd));
    },
    get slotEnd() {
      return slotEnd;
    },
    get bytes() {
      return columnBytes() + (live?.byteLength ?? 0);
    },
    load(keys) {
      const wanted = new Map(keys.slice(0, columnsMax).map((key) => [key.text, key]));
      let room = bytesMax;
      for (const text of wanted.keys()) room -= columns.get(text)?.bytes ?? 0;
      const missing = [...wanted.values()].filter(({ text }) => !columns.has(text) && worthTrying(text, room));
      if (missing.length > 0 || live === null) build(missing, room);
      const found = new Map<string, Column | null>();
      for (const text of wanted.keys()) {
        const column = columns.get(text) ?? null;
        found.set(text, column);
        if (column === null) continue;
        columns.delete(text);
        columns.set(text, column);
      }
      evict();
      return found;
    },
    put(slot, payload) {
      if (live === null) return;
      addLive(slot);
      if (columns.size === 0) return;
      const object = payload === null ? null : (JSON.parse(payload) as JsonObject);
      for (const column of columns.values()) column.put(slot, object);
      evict();
    },
    remove(slot) {
      if (live === null) return;
      if (slot < slotEnd) removeSlot(live, slot);
      for (const column of columns.values()) column.put(slot, null);
    },
    clear() {
      columns.clear();
      refused.clear();
      live = null;
      slotEnd = 0;
    },
  };
}
