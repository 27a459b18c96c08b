import { readEvent } from '../../books/ledger/columns.ts';
import type { RequestQuery, UsageEvent } from '../../books/metering/ledger.ts';

/** Rows read between two pauses: about 10 ms of SQLite, in which nothing else of its thread runs. */
const sliceRowsMax = 10_000;
const firstSliceRows = 200;
const sliceGrowth = 5;
/** A filter that hardly anything passes is given up after this long, with a page that may be short or empty. */
const listBudgetMs = 1_000;
/** An id is made a moment before or after its request's arrival is read from the clock. */
export const idSlackMs = 60_000;
/** A caller that waits for new requests finds those that took at most this long, among this many of the newest. */
const lateMs = 600_000;
const lateRowsMax = 20_000;
const hourMs = 3_600_000;

type MaybePromise<T> = T | Promise<T>;

/** Requests in the order of time, as a driver has them: a place is a key or an id. */
export interface RequestRows<Place> {
  /** Place of the row that is `rows` rows below `before`; null when there are fewer from `from` on. */
  sliceEnd(from: Place, before: Place, rows: number): MaybePromise<Place | null>;
  /** Rows that pass all conditions, newest first. */
  page(from: Place, before: Place, limit: number): MaybePromise<readonly Readonly<Record<string, unknown>>[]>;
  placeOf(row: Readonly<Record<string, unknown>>): Place;
  /** No request that came at `ms` or later is below it. */
  placeAt(ms: number): Place;
  /**
   * The newest hour, up to this one, with a matching request in roll-ups; null when there is none. The member is null
   * when roll-ups cannot tell.
   */
  msOf(place: Place): number;
  /** Where to go on below `at`; null when no older request matches. */
  newestHour: ((hour: number) => MaybePromise<number | null>) | null;
  cursorOf(place: Place): string;
}

/**
 * The port's `list`, newest first: some rows at a time, past the hours in which nothing can pass, and for no longer than
 * a second. No index is written for it.
 */
export async function listPages<Place extends string | number>(
  rows: RequestRows<Place>,
  { limit, after }: Pick<RequestQuery, 'limit' | 'after'>,
  range: { from: Place; before: Place },
  breathe: () => Promise<void>,
): Promise<{ events: UsageEvent[]; next: string | null }> {
  const sinceMs = performance.now();
  const from = after === null ? range.from : later(range.from, rows.placeAt(after.settledMs - lateMs));
  const events: UsageEvent[] = [];
  let at = range.before;
  let sliceRows = Math.min(sliceRowsMax, Math.max(firstSliceRows, limit * 2));
  for (let examined = 0; ; examined += sliceRows) {
    if (after !== null && examined >= lateRowsMax) return { events, next: null };
    const hop = await overEmptyHours(rows, at);
    if (hop === null) return { events, next: null };
    at = hop;
    const end = at <= from ? null : await rows.sliceEnd(from, at, sliceRows);
    const low = end ?? from;
    // One more than asked for tells whether there is a next page.
    for (const row of at <= from ? [] : await rows.page(low, at, limit - events.length + 1)) {
      if (events.length === limit) return { events, next: after === null ? rows.cursorOf(at) : null };
      events.push(readEvent(row));
      at = rows.placeOf(row);
    }
    if (end === null) return { events, next: null };
    at = low;
    if (performance.now() - sinceMs >= listBudgetMs) return { events, next: after === null ? rows.cursorOf(at) : null };
    sliceRows = Math.min(sliceRowsMax, sliceRows * sliceGrowth);
    await breathe();
  }
}

function later<Place extends string | number>(a: Place, b: Place): Place {
  return a > b ? a : b;
}

/** Where to go on below `at`; null where nothing older passes. */
async function overEmptyHours<Place extends string | number>(
  { newestHour, msOf, placeAt }: RequestRows<Place>,
  at: Place,
): Promise<Place | null> {
  if (newestHour === null) return at;
  const hour = await newestHour(Math.floor((msOf(at) + idSlackMs) / hourMs));
  if (hour === null) return null;
  const end = placeAt((hour + 1) * hourMs + idSlackMs);
  return end < at ? end : at;
}
