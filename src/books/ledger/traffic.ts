import { type Column, columnsOf, type FieldOf, fieldOf, type UsageEvent } from './columns.ts';
import { binOf, firstTokenBins, MinuteSums, type TimedRow, totalBins, trafficGrainsMs } from './minute-sums.ts';

/**
 * What went on by the minute and by the hour, and how long it took: rows of `traffic`, for pages that draw it. A row is
 * of everything, of an account, of a model or of a provider, separately.
 */
export type TrafficKind = 'all' | 'account' | 'model' | 'provider';

const countNames = ['requests', 'errors', 'cost_milli', 'input_tokens', 'output_tokens', 'usd_nano'] as const;

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
