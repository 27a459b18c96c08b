import { attemptSql, attemptSum, trafficPoint, trafficSql } from '../../books/ledger/traffic-queries.ts';
import type { Ledger, RepricedQuery, RepricedRow } from '../../books/metering/ledger.ts';
import { hourMs } from '../../kernel/clock.ts';
import { rowShape } from '../row-shape.ts';
import type { Row, SqlTables } from '../sql-tables.ts';
import { cacheUseSql, cacheUsesOf, promptCacheDayOf, promptCacheDaySql } from './cache-uses.ts';
import { type Marks, marksIn } from './ledger-filters.ts';

/** Runs a statement that is made with marks for its values. */
export type Ask = (sqlOf: (marks: Marks) => string) => Promise<Row[]>;

export function askIn(tables: SqlTables): Ask {
  return (sqlOf) => {
    const { marks, values } = marksIn(tables);
    return tables.rows(sqlOf(marks), values);
  };
}

/** The port's sums that take one statement each, over either database. */
export function ledgerSums(
  tables: SqlTables,
): Pick<Ledger, 'traffic' | 'attempts' | 'cacheUses' | 'promptCacheDays' | 'repriced'> {
  const { prefix } = tables;
  const ask = askIn(tables);
  return {
    traffic: async (query) =>
      (await ask((marks) => trafficSql(query, prefix, marks))).map((row) => trafficPoint(query, row)),
    attempts: async (query) =>
      (await ask((marks) => attemptSql(query, prefix, marks))).map((row) => attemptSum(query, row)),
    cacheUses: async (query) => (await ask((marks) => cacheUseSql(query, marks, prefix))).map(cacheUsesOf),
    promptCacheDays: async (query) =>
      (await ask((marks) => promptCacheDaySql(query, marks, prefix))).map(promptCacheDayOf),
    repriced: async (query) => (await ask((marks) => repricedSql(query, marks, prefix))).map(repricedRow),
  };
}

/** The query's statement in both databases. */
function repricedSql({ accounts, fromMs, toMs }: RepricedQuery, marks: Marks, schema: '' | 'culvert.'): string {
  const where = [`hour >= ${Math.floor(fromMs / hourMs)} AND hour < ${Math.ceil(toMs / hourMs)}`];
  if (accounts !== null) where.push(marks.oneOf('account', accounts));
  return `SELECT account, alias, CAST(sum(usd_nano) AS BIGINT) AS usd_nano, CAST(sum(unpriced) AS BIGINT) AS unpriced
    FROM ${schema}repricing WHERE ${where.join(' AND ')} GROUP BY 1, 2 ORDER BY 1, 2`;
}

const { read: repricedRow } = rowShape<RepricedRow>()(
  { text: ['account', 'model'], number: ['usdNano', 'unpriced'] },
  { model: 'alias' },
);
