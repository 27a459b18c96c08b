import type { UsageEvent } from './columns.ts';

/** Width of a row's time. Minutes are kept for two days, hours for 200. */
export const trafficGrainsMs = { minute: 60_000, hour: 3_600_000 } as const;
export const trafficKeptMs = { minute: 49 * 3_600_000, hour: 200 * 86_400_000 } as const;

export interface TimedRow {
  grainMs: number;
  /** floor(time / grainMs) */
  bucket: number;
}

/**
 * Sums of settled requests by minute, in memory. They are written now and then rather than with each request, because
 * a row has many columns. A process that dies takes unwritten ones along; nothing is charged by them.
 */
export abstract class MinuteSums<Row extends TimedRow> {
  /** Minutes, oldest first. */
  readonly #rows = new Map<string, Row>();
  readonly #sumFields: readonly (keyof Row)[];

  constructor(sumFields: readonly (keyof Row)[]) {
    this.#sumFields = sumFields;
  }

  /** A refused request does not belong here: nothing was run. */
  abstract add(event: UsageEvent): void;
  /** What tells rows of one bucket apart. */
  protected abstract nameOf(row: Row): string;
  /** Rows are about to leave: none that was looked up may be used again. */
  protected abstract forget(): void;

  get size(): number {
    return this.#rows.size;
  }

  protected find(bucket: number, name: string): Row | undefined {
    return this.#rows.get(`${bucket} ${name}`);
  }

  protected put(row: Row): void {
    this.#rows.set(`${row.bucket} ${this.nameOf(row)}`, row);
  }

  /** Takes out the rows of at most `minutesMax` minutes, each with what it adds to its hour. */
  take(minutesMax: number): Row[] {
    const minutes: Row[] = [];
    const hours = new Map<string, Row>();
    for (const [place, row] of this.#rows) {
      if (minutes.length === minutesMax) break;
      this.#rows.delete(place);
      minutes.push(row);
      const bucket = Math.floor((row.bucket * trafficGrainsMs.minute) / trafficGrainsMs.hour);
      const name = `${bucket} ${this.nameOf(row)}`;
      const hour = hours.get(name);
      if (hour === undefined) hours.set(name, { ...row, grainMs: trafficGrainsMs.hour, bucket });
      else this.#addTo(hour, row);
    }
    this.forget();
    return [...minutes, ...hours.values()];
  }

  /** Rows that `take` gave and that could not be written. */
  putBack(rows: readonly Row[]): void {
    for (const row of rows) {
      if (row.grainMs !== trafficGrainsMs.minute) continue;
      const there = this.find(row.bucket, this.nameOf(row));
      if (there === undefined) this.put(row);
      else this.#addTo(there, row);
    }
  }

  #addTo(sum: Row, row: Row): void {
    for (const field of this.#sumFields)
      sum[field] = ((sum[field] as number) + (row[field] as number)) as Row[keyof Row];
  }
}

/** Upper ends of the bins in which durations are counted, ms, inclusive; what took longer is in one more. */
const binEndsMs = [
  2, 5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000,
  30_000, 60_000, 120_000,
] as const;
/** Shown for durations beyond the last end. */
const longestMs = 300_000;

const bins = [...binEndsMs.keys(), binEndsMs.length];
/** The time to the first token if there is one, and the whole time. */
export const firstTokenBins = bins.map((bin) => `first_${bin}`);
export const totalBins = bins.map((bin) => `total_${bin}`);

export function binOf(ms: number): number {
  for (let bin = 0; bin < binEndsMs.length; bin += 1) if (ms <= binEndsMs[bin]!) return bin;
  return binEndsMs.length;
}

/**
 * The duration that `share` of the counted requests did not exceed, in ms; null when there was none. Within a bin it is
 * a guess, at most 50 % too high.
 */
export function quantileMs(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = share * all;
  for (const [bin, count] of counts.entries()) {
    if (left > count || count === 0) {
      left -= count;
      continue;
    }
    const from = bin === 0 ? 0 : binEndsMs[bin - 1]!;
    const to = binEndsMs[bin] ?? longestMs;
    return Math.round(from + (to - from) * (left / count));
  }
  return longestMs;
}
