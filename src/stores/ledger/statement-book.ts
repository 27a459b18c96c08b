import type { StatementBook, StoredStatement } from '../../books/metering/statement-book.ts';
import { rowShape } from '../row-shape.ts';
import type { SqlTables } from '../sql-tables.ts';

const statementShape = rowShape<StoredStatement>()({
  text: ['month', 'timeZone', 'closedBy', 'body'],
  number: ['closedMs'],
});
const closedShape = rowShape<Omit<StoredStatement, 'body'>>()({
  text: ['month', 'timeZone', 'closedBy'],
  number: ['closedMs'],
});

const statementsMax = 1_000;

/** Closed statements over either database. */
export function createStatementBook({ prefix, rows, run, first }: SqlTables): StatementBook {
  const table = `${prefix}statement`;
  return {
    async stored(month, timeZone) {
      return first(
        `SELECT * FROM ${table} WHERE month = $1 AND time_zone = $2`,
        [month, timeZone],
        statementShape.read,
      );
    },
    async closed() {
      const sql = `SELECT ${closedShape.columns} FROM ${table} ORDER BY month DESC, time_zone LIMIT ${statementsMax}`;
      return (await rows(sql, [])).map(closedShape.read);
    },
    async keep(statement) {
      const sql = `${statementShape.insert(table)} ON CONFLICT (month, time_zone) DO NOTHING`;
      return (await run(sql, statementShape.cells(statement))) === 1;
    },
  };
}
