import * as minutes from './minute-sums.ts';

/** Shown for durations beyond the last bin. */
const longestMs = 300_000;

/**
 * The duration that `share` of the counted requests did not exceed, in ms; null when there was none. Within a bin it is
 * a guess: between 5 ms and 2 minutes the true one is no less than half of it, and no more than twice as much.
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
    const from = bin === 0 ? 0 : minutes.binEndsMs[bin - 1]!;
    const to = minutes.binEndsMs[bin] ?? longestMs;
    return Math.round(from + (to - from) * (left / count));
  }
  return longestMs;
}

/** Filter of rows, and the steps in which they are summed. */
export interface TrafficQuery {
  kind: minutes.TrafficKind;
  /** Accounts, models or providers, summed together; [''] for `all`. */
  names: readonly string[];
  grain: keyof typeof minutes.trafficGrainsMs;
  /** Wall-clock ms; to the grain, and `toMs` itself is not in. */
  fromMs: number;
  toMs: number;
  /** Width of one point, a multiple of the grain. Points begin at `fromMs`. */
  stepMs: number;
}

/** Sums of a step. Steps without a request are left out. */
export interface TrafficPoint extends minutes.TrafficCounts {
  /** Wall-clock ms at which it begins; `fromMs` of the query where there are no steps. */
  fromMs: number;
  /** For `quantileMs`. */
  firstTokens: readonly number[];
  totals: readonly number[];
}

/** The query's statement in both databases: `schema` is the tables' prefix. A step is numbered from the first bucket on. */
export function trafficSql(query: TrafficQuery, schema: '' | 'culvert.', { oneOf }: Marks): string {
  const grainMs = minutes.trafficGrainsMs[query.grain];
  const from = Math.floor(query.fromMs / grainMs);
  const to = Math.ceil(query.toMs / grainMs);
  const sums = minutes.trafficSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
  return `SELECT (bucket - ${from}) / ${query.stepMs / grainMs} AS step, ${sums} FROM ${schema}traffic
    WHERE grain_ms = ${grainMs} AND kind = '${query.kind}' AND ${oneOf('name', query.names)} AND bucket >= ${from} AND bucket < ${to}
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
    firstTokens: minutes.firstTokenBins.map(number),
    totals: minutes.totalBins.map(number),
  };
}

export const attemptGroups = ['provider', 'target', 'credential', 'class', 'model'] as const;
export type AttemptGroup = (typeof attemptGroups)[number];

/** Filter of rows, and how they are summed. */
export interface AttemptQuery {
  groupBy: AttemptGroup;
  where: Partial<Record<Exclude<AttemptGroup, 'class'>, string>>;
  /** Only these groups; null: all. */
  groups: readonly string[] | null;
  grain: keyof typeof minutes.trafficGrainsMs;
  /** Wall-clock ms, whole grains; `toMs` itself is not in. */
  fromMs: number;
  toMs: number;
  /** Width of one point, a multiple of the grain; null: no points. Points begin at `fromMs`. */
  stepMs: number | null;
}

/** Sums of a group, class and step. */
export interface AttemptSum extends minutes.AttemptCounts, Pick<TrafficPoint, 'fromMs' | 'firstTokens' | 'totals'> {
  group: string;
  class: string;
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
  const grainMs = minutes.trafficGrainsMs[query.grain];
  const from = Math.floor(query.fromMs / grainMs);
  const to = Math.ceil(query.toMs / grainMs);
  const step = query.stepMs === null ? '0' : `(bucket - ${from}) / ${query.stepMs / grainMs}`;
  const conditions = Object.entries(query.where).map(
    ([group, value]) => `${columnOf(group as AttemptGroup)} = ${marks.of(value)}`,
  );
  if (query.groups !== null) conditions.push(marks.oneOf(columnOf(query.groupBy), query.groups));
  const sums = minutes.attemptSums.map(({ name }) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ');
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
    firstTokens: minutes.firstTokenBins.map(number),
    totals: minutes.totalBins.map(number),
  };
}
