import { type Column, columnsOf, type FieldOf, fieldOf, isUnpriced, type UsageEvent } from './columns.ts';
import type { UsageAttempt } from './settled-request.ts';

/**
 * Requests by the minute and by the hour, and their durations: rows of `traffic`, for pages that draw it. A row is
 * of everything, of an account, of a model or of a provider, separately.
 */
export type TrafficKind = 'all' | 'account' | 'model' | 'provider';

/** Width of a row's time. Minutes are kept for two days, hours for 200. */
export const trafficGrainsMs = { minute: 60_000, hour: 3_600_000 } as const;
export const trafficRetentionMs = { minute: 49 * 3_600_000, hour: 200 * 86_400_000 } as const;

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
  /** Name that tells rows of one bucket apart. */
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
export const binEndsMs = [
  2, 5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000,
  30_000, 60_000, 120_000,
] as const;
const bins = [...binEndsMs.keys(), binEndsMs.length];
/** The time to the first token if there is one, and the whole time. */
export const firstTokenBins = bins.map((bin) => `first_${bin}`);
export const totalBins = bins.map((bin) => `total_${bin}`);

export function binOf(ms: number): number {
  for (let bin = 0; bin < binEndsMs.length; bin += 1) if (ms <= binEndsMs[bin]!) return bin;
  return binEndsMs.length;
}

type Bin = `first${number}` | `total${number}`;
const firstFields = firstTokenBins.map(fieldOf) as Bin[];
const totalFields = totalBins.map(fieldOf) as Bin[];

/** Rows of a kind that wait to be written; beyond them one that is like none of them is not counted. */
const rowsMax = 4_096;

const trafficCountNames = [
  'requests',
  'errors',
  'cost_milli',
  'input_tokens',
  'output_tokens',
  'usd_nano',
  'unpriced',
] as const;

export type TrafficCounts = Record<FieldOf<(typeof trafficCountNames)[number]>, number>;

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
  [...trafficCountNames, ...firstTokenBins, ...totalBins].map((name) => [name, 'whole']),
);
export const trafficTable: readonly Column[] = [...trafficKey, ...trafficSums];

type CountedTraffic = TrafficRow & Record<Bin, number>;

const trafficFields = trafficSums.map(({ field }) => field) as (keyof TrafficCounts | Bin)[];
const noTraffic = Object.fromEntries(trafficFields.map((field) => [field, 0])) as TrafficCounts & Record<Bin, number>;

/** Sums the traffic of settled requests. */
export class TrafficSums extends MinuteSums<CountedTraffic> {
  #last: { minute: number; account: string; alias: string; target: string | null; rows: CountedTraffic[] } | null =
    null;

  constructor() {
    super(trafficFields);
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

  protected nameOf({ kind, name }: CountedTraffic): string {
    return `${kind} ${name}`;
  }

  protected forget(): void {
    this.#last = null;
  }

  #rowsOf({ atMs, account, alias, target }: UsageEvent): CountedTraffic[] {
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
    const rows: CountedTraffic[] = [];
    this.#look(rows, minute, 'all', '');
    this.#look(rows, minute, 'account', account);
    this.#look(rows, minute, 'model', alias);
    if (target !== null) this.#look(rows, minute, 'provider', target.slice(0, target.indexOf('/')));
    this.#last = { minute, account, alias, target, rows };
    return rows;
  }

  #look(rows: CountedTraffic[], bucket: number, kind: TrafficKind, name: string): void {
    let row = this.find(bucket, `${kind} ${name}`);
    if (row === undefined) {
      if (this.size >= rowsMax && kind !== 'all') return;
      row = { ...noTraffic, grainMs: trafficGrainsMs.minute, kind, name, bucket };
      this.put(row);
    }
    rows.push(row);
  }
}

const attemptCountNames = ['attempts', 'retried', 'hedges', 'output_tokens', 'output_ms'] as const;

/** Sums of the attempts of a class. */
export type AttemptCounts = Record<FieldOf<(typeof attemptCountNames)[number]>, number>;

/** One row of `attempt_sum`: a minute or an hour of one target, credential, model and class. */
export interface AttemptRow extends AttemptCounts, TimedRow {
  provider: string;
  target: string;
  credential: string;
  /** The model that callers asked for. */
  alias: string;
  class: string;
}

const attemptKeyNames = ['provider', 'target', 'credential', 'alias', 'class'] as const;

/** By time first: what is written and what is asked for is mostly of the newest hours. */
export const attemptKey: readonly Column[] = columnsOf([
  ['grain_ms', 'whole'],
  ['bucket', 'whole'],
  ...attemptKeyNames.map((name): [string, 'text'] => [name, 'text']),
]);
export const attemptSums: readonly Column[] = columnsOf(
  [...attemptCountNames, ...firstTokenBins, ...totalBins].map((name) => [name, 'whole']),
);
export const attemptTable: readonly Column[] = [...attemptKey, ...attemptSums];

type CountedAttempts = AttemptRow & Record<Bin, number>;

const attemptFields = attemptSums.map(({ field }) => field) as (keyof AttemptCounts | Bin)[];
const noAttempts = Object.fromEntries(attemptFields.map((field) => [field, 0])) as AttemptCounts & Record<Bin, number>;

/** Sums the attempts of settled requests: who was asked, how that ended and how long it took. */
export class AttemptSums extends MinuteSums<CountedAttempts> {
  #last: CountedAttempts | null = null;

  constructor() {
    super(attemptFields);
  }

  add({ atMs, alias, route: { attempts } }: UsageEvent): void {
    const minute = Math.floor(atMs / trafficGrainsMs.minute);
    for (const [at, attempt] of attempts.entries()) {
      const row = this.#rowOf(minute, alias, attempt);
      if (row === null) continue;
      row.attempts += 1;
      const { ms, firstTokenMs } = attempt;
      const total = totalFields[binOf(ms)];
      if (total !== undefined) row[total] = (row[total] ?? 0) + 1;
      const first = firstTokenMs === null ? undefined : firstFields[binOf(firstTokenMs)];
      if (first !== undefined) row[first] = (row[first] ?? 0) + 1;
      if (attempt.class === 'ok') {
        // The answer's tokens, and the time in which they came.
        const tokens = attempt.usage?.outputTokens ?? 0;
        const outputMs = Math.round(ms - (firstTokenMs ?? 0));
        if (tokens > 0 && outputMs > 0) {
          row.outputTokens += tokens;
          row.outputMs += outputMs;
        }
      } else if (attempt.class !== 'cancelled' && at < attempts.length - 1) row.retried += 1;
      if (attempts.length > 1 && isHedge(attempt, attempts)) row.hedges += 1;
    }
  }

  protected nameOf({
    class: outcome,
    credential,
    alias,
    target,
  }: Pick<AttemptRow, (typeof attemptKeyNames)[number]>): string {
    return `${outcome} ${credential}\n${alias}\n${target}`;
  }

  protected forget(): void {
    this.#last = null;
  }

  #rowOf(
    bucket: number,
    alias: string,
    { target, provider, credential, class: outcome }: UsageAttempt,
  ): CountedAttempts | null {
    const last = this.#last;
    // Most of a batch is alike.
    if (
      last !== null &&
      last.bucket === bucket &&
      last.target === target &&
      last.credential === credential &&
      last.class === outcome &&
      last.alias === alias
    )
      return last;
    const key = { provider, target, credential, alias, class: outcome };
    let row = this.find(bucket, this.nameOf(key));
    if (row === undefined) {
      if (this.size >= rowsMax) return null;
      row = { ...noAttempts, ...key, grainMs: trafficGrainsMs.minute, bucket };
      this.put(row);
    }
    this.#last = row;
    return row;
  }
}

/** Whether it began while another attempt of its request still ran. */
function isHedge({ startMs }: UsageAttempt, attempts: readonly UsageAttempt[]): boolean {
  if (startMs === null) return false;
  return attempts.some(
    (other) => other.startMs !== null && other.startMs < startMs && other.startMs + other.ms > startMs,
  );
}
