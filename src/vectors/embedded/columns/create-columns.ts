import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import type { Condition, Filter } from '../../filter/filter.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import { matches } from '../../filter/matches.ts';
import { differentValues } from '../../filter/reach.ts';
import { isGroup } from '../../group-points.ts';
import { microseconds, orderNumber } from '../../order-number.ts';
import { createOrderedRows, type OrderedRows } from '../../ordered-rows.ts';
import type { PointId } from '../../point.ts';
import { createValueCounts, type ValueCounts } from '../../value-counts.ts';
import {
  eachInSteps,
  finish,
  mappedInSteps,
  partsInSteps,
  type Steps,
  scannedPerStep,
} from '../index/resumable-steps.ts';
import type { Column } from './column.ts';
import { ColumnCache, makingSteps, parsed } from './column-cache.ts';
import type { ColumnSource, Columns, OrderedSlot, Pace } from './columns.ts';
import { decide, keysOf } from './decide.ts';
import { isLong, longCode } from './dictionary.ts';
import { addSlot, hasSlot, type SlotSet, sizeOf, slotsOf, without, wordsFor } from './slot-set.ts';
import { isExact } from './verdict.ts';

/** Up to here a collection's rows are read for each call: reading them costs less than keeping columns in step. */
export const scannedRowsMax = 256;

/** `bytesMax`: what all columns of this collection may take; the least recently used are given up beyond it. */
export function createColumns(source: ColumnSource, bytesMax: number, steps = makingSteps): Columns {
  const cache = new ColumnCache(source, bytesMax, steps);
  const cachedSlots = new CachedSlots();

  function isSmall(): boolean {
    if (source.count() > scannedRowsMax) return false;
    cache.clear();
    return true;
  }

  function* passing(filter: Filter, pace: Pace): Steps<SlotSet> {
    const columns = cache.load(keysOf(filter), pace);
    const { live, slotEnd } = cache;
    const column = (key: KeyPath) => columns.get(key.text) ?? null;
    const { slotOf, withVector } = source;
    const verdict = decide(filter, { live, slotEnd, column, slotOf, withVector });
    if (isExact(verdict)) return verdict.sure;
    const passed = verdict.sure.slice();
    yield* visitRows(without(verdict.possible, verdict.sure), (slot, id, payload) => {
      if (matches(filter, { id, payload, hasVector: (name) => source.hasVector(slot, name) })) addSlot(passed, slot);
    });
    return passed;
  }

  /** Rows of a set, parsed: one by one when they are few, else in one pass over all. */
  function* visitRows(
    set: SlotSet,
    visit: (slot: number, id: PointId, payload: JsonObject | null) => void,
  ): Steps<void> {
    const rowRead = source.watch.start();
    if (sizeOf(set) * 4 > source.count()) {
      const row = (slot: number, id: PointId, payload: string | null) => {
        rowRead();
        if (hasSlot(set, slot)) visit(slot, id, parsed(payload));
      };
      return yield* partsInSteps(scannedPerStep, (part) => source.each(row, part));
    }
    yield* eachInSteps(slotsOf(set), scannedPerStep, (slot) => {
      rowRead();
      const { id, payload } = source.row(slot);
      visit(slot, id, parsed(payload));
    });
  }

  function scan(filter: Filter): Uint32Array {
    const slots: number[] = [];
    const rowRead = source.watch.start();
    source.each((slot, id, payload) => {
      rowRead();
      const hasVector = (name: string) => source.hasVector(slot, name);
      if (matches(filter, { id, payload: parsed(payload), hasVector })) slots.push(slot);
    });
    return Uint32Array.from(slots).sort();
  }

  function columnOf(key: KeyPath): Column | null {
    return isSmall() ? null : (cache.load([key], 'in-steps').get(key.text) ?? null);
  }

  /** Every value of a key with its slot, from the rows. */
  function visitValues(key: KeyPath, slots: Uint32Array | null, visit: (slot: number, value: JsonValue) => void): void {
    const slotSet = slots === null ? null : setOf(slots);
    const rowRead = source.watch.start();
    source.each((slot, _id, payload) => {
      rowRead();
      if (slotSet === null || hasSlot(slotSet, slot)) for (const value of rowValues(payload, key)) visit(slot, value);
    });
  }

  return {
    select: (filter, pace = 'in-steps') => (isSmall() ? scan(filter) : slotsOf(finish(passing(filter, pace)))),
    *selecting(filter) {
      if (isSmall()) return scan(filter);
      return yield* cachedSlots.of(filter, cache.changes, () => passing(filter, 'in-steps'));
    },
    count: (filter) => (isSmall() ? scan(filter).length : sizeOf(finish(passing(filter, 'in-steps')))),
    look(filter) {
      if (!isSmall()) cache.load(keysOf(filter), 'in-steps');
    },
    make: (keys) => cache.make(keys),
    facet(key, slots, limit) {
      const column = columnOf(key);
      const counts = createValueCounts(key, bytesMax);
      if (column === null) visitValues(key, slots, (_slot, value) => counts.add(value));
      else {
        const slotSet = slots === null ? null : setOf(slots);
        countCodes(column, slots, counts);
        for (const slot of slotsOf(column.having(longCode, cache.slotEnd))) {
          if (slotSet !== null && !hasSlot(slotSet, slot)) continue;
          for (const value of rowValues(source.row(slot).payload, key)) if (isLong(value)) counts.add(value);
        }
      }
      return counts.top(limit);
    },
    order(key, query) {
      const column = columnOf(key);
      const rows = createOrderedRows<number>(query, (a, b) => a - b);
      if (column === null) {
        visitValues(key, query.slots, (slot, value) => {
          const number = orderNumber(value);
          if (number !== null) rows.add(slot, number);
        });
        return orderedSlots(rows);
      }
      const { dictionary } = column;
      for (const slot of query.slots ?? slotsOf(cache.live)) {
        column.codes(slot, (code) => {
          const number = dictionary.number(code);
          const value = Number.isNaN(number) ? microseconds(dictionary.time(code)) : number;
          if (!Number.isNaN(value)) rows.add(slot, value);
        });
      }
      return orderedSlots(rows);
    },
    groupValues: (key, slots) => groupValues(source, key, slots),
    put: (slot, payload) => cache.put(slot, payload),
    remove: (slot) => cache.remove(slot),
    image: () => cache.image(),
    clear: () => cache.clear(),
    get bytes() {
      return cache.bytes + cachedSlots.bytes;
    },
  };
}

function rowValues(payload: string | null, key: KeyPath): JsonValue[] {
  return differentValues(parsed(payload), key.steps);
}

function groupValues(source: ColumnSource, key: KeyPath, slots: Uint32Array): Steps<(string | number)[][]> {
  const rowRead = source.watch.start();
  return mappedInSteps(slots, (slot) => {
    rowRead();
    return rowValues(source.row(slot).payload, key).filter(isGroup);
  });
}

function orderedSlots(rows: OrderedRows<number>): OrderedSlot[] {
  return rows.result().map(({ row, value }) => ({ slot: row, value }));
}

function setOf(slots: Uint32Array): SlotSet {
  const set = new Uint32Array(wordsFor((slots.at(-1) ?? -1) + 1));
  for (const slot of slots) addSlot(set, slot);
  return set;
}

/** Counts what a column keeps: all but long strings. `slots`: null for all rows. */
function countCodes(column: Column, slots: Uint32Array | null, counts: ValueCounts): void {
  const { dictionary } = column;
  const rows = slots === null ? null : new Uint32Array(dictionary.end);
  if (rows !== null) for (const slot of slots!) column.codes(slot, (code) => rows[code]!++);
  for (let code = 1; code < dictionary.end; code++) {
    counts.add(dictionary.value(code), rows === null ? dictionary.rows(code) : rows[code]!);
  }
}

const filtersMax = 8;
/** More for one filter are not kept. */
const slotsMax = 100_000;
/** The rows of the slots, which an index keeps with them (`slot-map`), take as much. */
const bytesPerSlot = 2 * Uint32Array.BYTES_PER_ELEMENT;

/** Slots that pass filters, until a row changes: callers repeat a few filters, such as that of one of their users. */
class CachedSlots {
  /** By the filter's text, the least recently used first. */
  readonly #cached = new Map<string, Uint32Array>();
  #at = 0;

  get bytes(): number {
    let slots = 0;
    for (const one of this.#cached.values()) slots += one.length;
    return slots * bytesPerSlot;
  }

  /** `at`: how often rows have changed. `select` is asked for slots that are not kept. Nobody may write to the result. */
  *of(filter: Filter, at: number, select: () => Steps<SlotSet>): Steps<Uint32Array> {
    if (at !== this.#at) this.#cached.clear();
    this.#at = at;
    const text = textOf(filter);
    const slots = (text === null ? undefined : this.#cached.get(text)) ?? slotsOf(yield* select());
    if (text !== null && slots.length <= slotsMax && at === this.#at) putNewest(this.#cached, text, slots, filtersMax);
    return slots;
  }
}

/** The same for filters that mean the same. Null for all but values that must be there: others hold sets and bounds. */
function textOf({ must, should, mustNot, minShould }: Filter): string | null {
  if (should.length > 0 || mustNot.length > 0 || minShould !== null) return null;
  const parts: unknown[] = [];
  for (const condition of must) {
    const part = keyAndValue(condition);
    if (part === null) return null;
    parts.push(part);
  }
  return JSON.stringify(parts);
}

function keyAndValue(condition: Condition): readonly [string, unknown] | null {
  if (condition.kind !== 'field' || condition.tests.length !== 1) return null;
  const [test] = condition.tests;
  return test?.kind === 'value' ? [condition.key.text, test.value] : null;
}
