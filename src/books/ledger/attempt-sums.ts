import { type Column, columnsOf, type FieldOf, fieldOf, type UsageEvent } from './columns.ts';
import type { UsageAttempt } from './settled-request.ts';
import { binOf, firstTokenBins, MinuteSums, type TimedRow, totalBins, trafficGrainsMs } from './traffic.ts';

const countNames = ['attempts', 'retried', 'hedges', 'output_tokens', 'output_ms'] as const;

/** What attempts of a class add up to. */
export type AttemptCounts = Record<FieldOf<(typeof countNames)[number]>, number>;

/** One row of `attempt_sum`: a minute or an hour of one target, credential, model and class. */
export interface AttemptRow extends AttemptCounts, TimedRow {
  provider: string;
  target: string;
  credential: string;
  /** The model that callers asked for. */
  alias: string;
  class: string;
}

const keyNames = ['provider', 'target', 'credential', 'alias', 'class'] as const;

/** By time first: what is written and what is asked for is mostly of the newest hours. */
export const attemptKey: readonly Column[] = columnsOf([
  ['grain_ms', 'whole'],
  ['bucket', 'whole'],
  ...keyNames.map((name): [string, 'text'] => [name, 'text']),
]);
export const attemptSums: readonly Column[] = columnsOf(
  [...countNames, ...firstTokenBins, ...totalBins].map((name) => [name, 'whole']),
);
export const attemptTable: readonly Column[] = [...attemptKey, ...attemptSums];

type Bin = `first${number}` | `total${number}`;
type Counted = AttemptRow & Record<Bin, number>;

const firstFields = firstTokenBins.map(fieldOf) as Bin[];
const totalFields = totalBins.map(fieldOf) as Bin[];
const sumFields = attemptSums.map(({ field }) => field) as (keyof AttemptCounts | Bin)[];
const noSums = Object.fromEntries(sumFields.map((field) => [field, 0])) as AttemptCounts & Record<Bin, number>;

/** Rows that wait to be written; beyond them an attempt that is like none of them is not counted. */
const rowsMax = 4_096;

/** Sums the attempts of settled requests: who was asked, how that ended and how long it took. */
export class AttemptSums extends MinuteSums<Counted> {
  #last: Counted | null = null;

  constructor() {
    super(sumFields);
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

  protected nameOf({ class: outcome, credential, alias, target }: Pick<AttemptRow, (typeof keyNames)[number]>): string {
    return `${outcome} ${credential}\n${alias}\n${target}`;
  }

  protected forget(): void {
    this.#last = null;
  }

  #rowOf(
    bucket: number,
    alias: string,
    { target, provider, credential, class: outcome }: UsageAttempt,
  ): Counted | null {
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
      row = { ...noSums, ...key, grainMs: trafficGrainsMs.minute, bucket };
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

export const attemptGroups = ['provider', 'target', 'credential', 'class', 'model'] as const;
export type AttemptGroup = (typeof attemptGroups)[number];

/** Filter of rows, and how they are summed. */
export interface AttemptQuery {
  groupBy: AttemptGroup;
  where: Partial<Record<Exclude<AttemptGroup, 'class'>, string>>;
  /** Only these groups; null: all. */
  groups: readonly string[] | null;
  grain: keyof typeof trafficGrainsMs;
  /** Wall-clock ms, whole grains; `toMs` itself is not in. */
  fromMs: number;
  toMs: number;
  /** Width of one point, a multiple of the grain; null: no points. Points begin at `fromMs`. */
  stepMs: number | null;
}

/** Sums of a group, class and step. */
export interface AttemptSum extends AttemptCounts {
  group: string;
  class: string;
  /** Wall-clock ms at which the step begins; `fromMs` of the query where there are no steps. */
  fromMs: number;
  /** For `quantileMs`. */
  firstTokens: readonly number[];
  totals: readonly number[];
}

/** Sums that a question may bring: groups, classes and steps of one page. */
export const attemptRowsMax = 10_000;

const columnOf = (group: AttemptGroup) => (group === 'model' ? 'alias' : group);

/** How a driver writes values into a statement: each call keeps them and gives SQL. */
interface Marks {
  of(value: string): string;
  oneOf(column: string, values: readonly string[]): string;
}

/** The query's statement in both databases. Groups with most attempts come first. */
export function attemptSql(query: AttemptQuery, schema: '' | 'culvert.', marks: Marks): string {
  const grainMs = trafficGrainsMs[query.grain];
  const from = Math.floor(query.fromMs / grainMs);
  const to = Math.ceil(query.toMs / grainMs);
  const step = query.stepMs === null ? '0' : `(bucket - ${from}) / ${query.stepMs / grainMs}`;
  const conditions = Object.entries(query.where).map(
    ([group, value]) => `${columnOf(group as AttemptGroup)} = ${marks.of(value)}`,
  );
  if (query.groups !== null) conditions.push(marks.oneOf(columnOf(query.groupBy), query.groups));
  const sums = attemptSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
  const where = [`grain_ms = ${grainMs}`, `bucket >= ${from}`, `bucket < ${to}`, ...conditions].join(' AND ');
  return `SELECT ${columnOf(query.groupBy)} AS name, class AS outcome, ${step} AS step, ${sums}
    FROM ${schema}attempt_sum WHERE ${where} GROUP BY 1, 2, 3 ORDER BY sum(attempts) DESC, 1, 2, 3 LIMIT ${attemptRowsMax}`;
}

/** A row of that statement. */
export function attemptSum(query: AttemptQuery, row: Record<string, unknown>): AttemptSum {
  const number = (name: string) => Number(row[name]);
  return {
    group: String(row.name),
    class: String(row.outcome),
    fromMs: query.fromMs + number('step') * (query.stepMs ?? 0),
    attempts: number('attempts'),
    retried: number('retried'),
    hedges: number('hedges'),
    outputTokens: number('output_tokens'),
    outputMs: number('output_ms'),
    firstTokens: firstTokenBins.map(number),
    totals: totalBins.map(number),
  };
}
