import type { JsonObject } from '../../kernel/json.ts';
import { datetimeMs } from '../filter/datetime.ts';
import { conditionHolds, matches } from '../filter/matches.ts';
import { valuesAt } from '../filter/reach.ts';
import type { ColumnSource, Columns } from './columns/columns.ts';

// TEMPORARY stand-in until createColumns lands.
export function createColumns(source: ColumnSource, _bytesMax: number): Columns {
  void conditionHolds;
  const parse = (p: string | null) => (p === null ? null : (JSON.parse(p) as JsonObject));
  return {
    select(filter) {
      const out: number[] = [];
      source.each((slot, id, payload) => {
        if (matches(filter, { id, payload: parse(payload), hasVector: true })) out.push(slot);
      });
      return Uint32Array.from(out);
    },
    count(filter) {
      return this.select(filter).length;
    },
    facet(key, slots, limit) {
      const counts = new Map<string | number | boolean, number>();
      const only = slots === null ? null : new Set(slots);
      source.each((slot, _id, payload) => {
        if (only !== null && !only.has(slot)) return;
        for (const v of new Set(valuesAt(parse(payload), key.steps).flat() as (string | number)[]))
          counts.set(v, (counts.get(v) ?? 0) + 1);
      });
      return [...counts]
        .map(([value, count]) => ({ value, count }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
        .slice(0, limit);
    },
    order(key, { direction, startFrom, slots, limit }) {
      const only = slots === null ? null : new Set(slots);
      const sign = direction === 'asc' ? 1 : -1;
      const out: { slot: number; value: number }[] = [];
      source.each((slot, _id, payload) => {
        if (only !== null && !only.has(slot)) return;
        for (const v of valuesAt(parse(payload), key.steps).flat()) {
          const value = typeof v === 'number' ? v : typeof v === 'string' ? (datetimeMs(v) ?? null) : null;
          if (value !== null && (startFrom === null || value * sign >= startFrom * sign)) out.push({ slot, value });
        }
      });
      return out.sort((a, b) => (a.value - b.value) * sign || a.slot - b.slot).slice(0, limit);
    },
    groupValues: (key, slots) =>
      Array.from(slots, (slot) => valuesAt(parse(source.row(slot).payload), key.steps).flat() as (string | number)[]),
    put() {},
    remove() {},
    clear() {},
    bytes: 0,
  };
}
