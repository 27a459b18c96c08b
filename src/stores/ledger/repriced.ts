import type { RepricedQuery, RepricedRow } from '../../books/metering/ledger.ts';
import type { Marks } from './ledger-filters.ts';

const hourMs = 3_600_000;

/** The query's statement in both databases. */
export function repricedSql({ accounts, fromMs, toMs }: RepricedQuery, marks: Marks, schema: '' | 'culvert.'): string {
  const where = [`hour >= ${Math.floor(fromMs / hourMs)} AND hour < ${Math.ceil(toMs / hourMs)}`];
  if (accounts !== null) where.push(marks.oneOf('account', accounts));
  return `SELECT account, alias, CAST(sum(usd_nano) AS BIGINT) AS usd_nano, CAST(sum(unpriced) AS BIGINT) AS unpriced
    FROM ${schema}repricing WHERE ${where.join(' AND ')} GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** A row of that statement. */
export function repricedRow(row: Readonly<Record<string, unknown>>): RepricedRow {
  return {
    account: String(row.account),
    model: String(row.alias),
    usdNano: Number(row.usd_nano),
    unpriced: Number(row.unpriced),
  };
}
