import { type Column, columnsOf, type FieldOf, fieldOf, isUnpriced, type UsageEvent } from './columns.ts';

/**
 * What went on by the minute and by the hour, and how long it took: rows of `traffic`, for pages that draw it. A row is
 * of everything, of an account, of a model or of a provider, separately.
 */
export type TrafficKind = 'all' | 'account' | 'model' | 'provider';

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

const countNames = [
  'requests',
  'errors',
  'cost_milli',
  'input_tokens',
  'output_tokens',
  'usd_nano',
  'unpriced',
] as const;

export type TrafficCounts = Record<FieldOf<(typeof countNames)[number]>, number>;

export interface TrafficRow extends TrafficCounts, TimedRow {
  kind: TrafficKind;
  /** Name of the account, the model or the provider; '' for everything. */
  name: string;
}

export const trafficKey: readonly Column[] = columnsOf([
  ['grain_ms', 'whole'],
  ['kind', 'text'],
  ['name', 'text'],
  ['bucket', 'whole'],
]);
export const trafficSums: readonly Column[] = columnsOf(
  [...countNames, ...firstTokenBins, ...totalBins].map((name) => [name, 'whole']),
);
export const trafficTable: readonly Column[] = [...trafficKey, ...trafficSums];

type Bin = `first${number}` | `total${number}`;
type Counted = TrafficRow & Record<Bin, number>;

const firstFields = firstTokenBins.map(fieldOf) as Bin[];
const totalFields = totalBins.map(fieldOf) as Bin[];
const sumFields = trafficSums.map(({ field }) => field) as (keyof TrafficCounts | Bin)[];
const noSums = Object.fromEntries(sumFields.map((field) => [field, 0])) as TrafficCounts & Record<Bin, number>;

/** Filter of rows, and the steps in which they are summed. */
export interface TrafficQuery {
  kind: TrafficKind;
  /** Accounts, models or providers, summed together; [''] for `all`. */
  names: readonly string[];
  grain: keyof typeof trafficGrainsMs;
  /** Wall-clock ms; to the grain, and `toMs` itself is not in. */
  fromMs: number;
  toMs: number;
  /** Width of one point, a multiple of the grain. Points begin at `fromMs`. */
  stepMs: number;
}

/** Sums of a step. Steps without a request are left out. */
export interface TrafficPoint extends TrafficCounts {
  /** Wall-clock ms at which it begins. */
  fromMs: number;
  /** For `quantileMs`. */
  firstTokens: readonly number[];
  totals: readonly number[];
}

/**
 * The query's statement in both databases: `names` by whatever marks the driver has, `schema` the tables' prefix. A step
 * is numbered from the first bucket on.
 */
export function trafficSql(query: TrafficQuery, schema: '' | 'culvert.', names: string): string {
  const grainMs = trafficGrainsMs[query.grain];
  const from = Math.floor(query.fromMs / grainMs);
  const to = Math.ceil(query.toMs / grainMs);
  const sums = trafficSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
  return `SELECT (bucket - ${from}) / ${query.stepMs / grainMs} AS step, ${sums} FROM ${schema}traffic
    WHERE grain_ms = ${grainMs} AND kind = '${query.kind}' AND name ${names} AND bucket >= ${from} AND bucket < ${to}
    GROUP BY 1 ORDER BY 1`;
}

/** A row of that statement. */
export function trafficPoint(query: TrafficQuery, row: Record<string, unknown>): TrafficPoint {
  const number = (name: string) => Number(row[name]);
  return {
    fromMs: query.fromMs + number('step') * query.stepMs,
    requests: number('requests'),
    errors: number('errors'),
    costMilli: number('cost_milli'),
    inputTokens: number('input_tokens'),
    outputTokens: number('output_tokens'),
    usdNano: number('usd_nano'),
    unpriced: number('unpriced'),
    firstTokens: firstTokenBins.map(number),
    totals: totalBins.map(number),
  };
}

/** Rows that wait to be written; beyond them an account, a model or a provider that is not among them is not counted. */
const rowsMax = 4_096;

/** Sums the traffic of settled requests. */
export class TrafficSums extends MinuteSums<Counted> {
  #last: { minute: number; account: string; alias: string; target: string | null; rows: Counted[] } | null = null;

  constructor() {
    super(sumFields);
  }

  add(event: UsageEvent): void {
    const rows = this.#rowsOf(event);
    const usdNano = event.costUsd === null ? 0 : Math.round(event.costUsd * 1e9);
    const unpriced = event.costUsd === null && isUnpriced(event) ? 1 : 0;
    const isOk = event.class === 'ok';
    const first = isOk && event.firstTokenMs !== null ? firstFields[binOf(event.firstTokenMs)]! : null;
    const total = isOk ? totalFields[binOf(event.ms)]! : null;
    for (const row of rows) {
      row.requests += 1;
      if (!isOk) row.errors += 1;
      row.costMilli += event.costMilli;
      row.inputTokens += event.inputTokens;
      row.outputTokens += event.outputTokens;
      row.usdNano += usdNano;
      row.unpriced += unpriced;
      if (first !== null) row[first]! += 1;
      if (total !== null) row[total]! += 1;
    }
  }

  protected nameOf({ kind, name }: Counted): string {
    return `${kind} ${name}`;
  }

  protected forget(): void {
    this.#last = null;
  }

  #rowsOf({ atMs, account, alias, target }: UsageEvent): Counted[] {
    const minute = Math.floor(atMs / trafficGrainsMs.minute);
    const last = this.#last;
    // Most of a batch is alike.
    if (
      last !== null &&
      last.minute === minute &&
      last.account === account &&
      last.alias === alias &&
      last.target === target
    )
      return last.rows;
    const rows: Counted[] = [];
    this.#look(rows, minute, 'all', '');
    this.#look(rows, minute, 'account', account);
    this.#look(rows, minute, 'model', alias);
    if (target !== null) this.#look(rows, minute, 'provider', target.slice(0, target.indexOf('/')));
    this.#last = { minute, account, alias, target, rows };
    return rows;
  }

  #look(rows: Counted[], bucket: number, kind: TrafficKind, name: string): void {
    let row = this.find(bucket, `${kind} ${name}`);
    if (row === undefined) {
      if (this.size >= rowsMax && kind !== 'all') return;
      row = { ...noSums, grainMs: trafficGrainsMs.minute, kind, name, bucket };
      this.put(row);
    }
    rows.push(row);
  }
}
