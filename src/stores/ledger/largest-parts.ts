import type { PartMeasure, UsageQuery, UsageRow } from '../../books/metering/ledger.ts';
import type { Marks } from './ledger-filters.ts';
import type { Ask } from './ledger-sums.ts';
import * as usage from './usage-sql.ts';

/** Sources of the answer to a question of usage, in one database. */
export interface UsageSources {
  parts: readonly usage.UsagePart[];
  /** A `SELECT` of `name, split` and sums: rows that are summed already. */
  summed?: string;
  dialect: usage.UsageDialect;
  /** Further conditions of the rows of a part. */
  keysOf?(part: usage.UsagePart, marks: Marks): string[];
  ask: Ask;
}

/** The rows of a question. With `parts`, a statement finds the largest parts first. */
export async function readSums(query: UsageQuery, sources: UsageSources): Promise<UsageRow[]> {
  const { parts, summed, dialect, keysOf = () => [], ask } = sources;
  const rowsOf = (part: usage.UsagePart, marks: Marks, more: readonly string[] = []) =>
    usage.usagePartSql(query, part, marks, dialect, [...keysOf(part, marks), ...more]);
  const union = (all: readonly (string | undefined)[]) => all.filter((rows) => rows !== undefined).join(' UNION ALL ');
  if (query.parts === undefined) {
    const sums = await ask((marks) =>
      usage.usageSumSql(union([summed, ...parts.map((part) => rowsOf(part, marks))]), query),
    );
    return usage.usageRows(query, sums);
  }
  const { count, by } = query.parts;
  // What moves to another day stays in its part, unless days are the parts.
  const still = parts.filter(({ moved }) => moved === undefined || query.splitBy === 'day');
  const largest = await ask((marks) =>
    largestSql(union([summed, ...still.map((part) => rowsOf(part, marks))]), count, by),
  );
  const names = largest.map(({ split }) => split as string | number);
  const apart = (rows: string, marks: Marks) =>
    `SELECT name, CASE WHEN ${marks.oneOf('split', names)} THEN split END AS split, ${sumList} FROM (${rows}) AS each_part`;
  const sums = await ask((marks) =>
    usage.usageSumSql(
      union([
        summed && apart(summed, marks),
        ...parts.map((part) => {
          if (part.totals === undefined) return apart(rowsOf(part, marks), marks);
          const few = [marks.oneOf('day', usage.daysOf(part)), marks.oneOf(splitColumn(query, part, dialect), names)];
          return fewAndOthers(
            rowsOf(part, marks, few),
            usage.usagePartSql({ ...query, splitBy: null }, { ...part, source: part.totals }, marks, dialect),
          );
        }),
      ]),
      query,
    ),
  );
  return othersLast(usage.usageRows(query, sums), Number(largest[0]?.parts ?? 0) - largest.length);
}

/** The largest parts of rows, and how many parts there are. */
function largestSql(rows: string, count: number, by: PartMeasure): string {
  return `SELECT split, count(*) OVER () AS parts FROM (
      SELECT split, sum(${usage.measureColumns[by]}) AS size FROM (${rows}) AS each_row GROUP BY split HAVING sum(requests) <> 0
    ) AS sized ORDER BY size DESC, split LIMIT ${count}`;
}

const sumList = usage.usageSumNames.join(', ');

/** Rows of the largest parts, and of all others: the totals, less these. */
function fewAndOthers(few: string, totals: string): string {
  return `SELECT name, CASE WHEN sign = 1 THEN split END AS split, ${usage.signedSums} FROM (${few}) AS few
      CROSS JOIN (SELECT 1 AS sign UNION ALL SELECT -1 AS sign) AS signs
    UNION ALL SELECT name, NULL AS split, ${sumList} FROM (${totals}) AS totals`;
}

function splitColumn({ splitBy }: UsageQuery, { source }: usage.UsagePart, { slash }: usage.UsageDialect): string {
  return splitBy === null ? "''" : usage.columnOf(splitBy, source, slash, undefined);
}

/** Each group's others are its last row. */
function othersLast(rows: readonly UsageRow[], otherParts: number): UsageRow[] {
  const groups = Map.groupBy(rows, ({ group }) => group);
  return [...groups.values()].flatMap((group) => [
    ...group.filter(({ split }) => split !== null),
    ...group.filter(({ split }) => split === null).map((row) => ({ ...row, otherParts })),
  ]);
}
