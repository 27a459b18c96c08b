import type { StatementBook, StoredStatement } from '../../books/metering/statement-book.ts';
import type { Row, SqlTables } from '../sql-tables.ts';

const statementsMax = 1_000;

/** Closed statements over either database. */
export function createStatementBook({ prefix, rows, write }: SqlTables): StatementBook {
  const table = `${prefix}statement`;
  const insert = `INSERT INTO ${table} (month, time_zone, closed_ms, closed_by, body) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (month, time_zone) DO NOTHING`;
  return {
    async stored(month, timeZone) {
      const [row] = await rows(`SELECT * FROM ${table} WHERE month = $1 AND time_zone = $2`, [month, timeZone]);
      return row === undefined ? null : { ...closedOf(row), body: String(row.body) };
    },
    async closed() {
      const found = await rows(
        `SELECT month, time_zone, closed_ms, closed_by FROM ${table} ORDER BY month DESC, time_zone LIMIT ${statementsMax}`,
        [],
      );
      return found.map(closedOf);
    },
    async keep({ month, timeZone, closedMs, closedBy, body }) {
      const [changed] = await write([{ sql: insert, values: [month, timeZone, closedMs, closedBy, body] }]);
      return changed === 1;
    },
  };
}

function closedOf(row: Row): Omit<StoredStatement, 'body'> {
  return {
    month: String(row.month),
    timeZone: String(row.time_zone),
    closedMs: Number(row.closed_ms),
    closedBy: String(row.closed_by),
  };
}
