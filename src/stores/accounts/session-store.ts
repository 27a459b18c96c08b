import type { LoginTokenRow, SessionRow, SessionStore } from '../../books/auth/session-store.ts';
import { rowShape } from '../row-shape.ts';
import type { ClosableTables, SqlTables } from '../sql-tables.ts';

const sessionShape = rowShape<SessionRow>()({
  text: ['id', 'hash', 'login', 'address', 'agent'],
  'text?': ['credential', 'operator'],
  number: ['createdMs', 'seenMs', 'endsMs'],
});
const tokenShape = rowShape<LoginTokenRow>()({ text: ['hash', 'credential'], number: ['endsMs'] });

/**
 * Sessions of the dashboard, and links to log in with, over either database. `quick`: the same tables, for the one row
 * that every click waits for.
 */
export function createSessionStore(
  { prefix, rows, write, close, run, first }: ClosableTables,
  quick: Pick<SqlTables, 'rows'> = { rows },
): SessionStore {
  const session = `${prefix}session`;
  const token = `${prefix}login_token`;
  const assertion = `${prefix}used_assertion`;
  // A limit is needed where a part is skipped.
  const surplus = `SELECT id FROM ${session} WHERE credential IS NOT DISTINCT FROM $1
    AND operator IS NOT DISTINCT FROM $2 ORDER BY created_ms DESC, id LIMIT 1000000000 OFFSET $3`;
  return {
    async open(row, keepMax) {
      await write([
        { sql: `DELETE FROM ${session} WHERE ends_ms <= $1`, values: [row.createdMs] },
        { sql: sessionShape.insert(session), values: sessionShape.cells(row) },
        { sql: `DELETE FROM ${session} WHERE id IN (${surplus})`, values: [row.credential, row.operator, keepMax] },
      ]);
    },
    async find(hash) {
      const [row] = await quick.rows(`SELECT * FROM ${session} WHERE hash = $1`, [hash]);
      return row === undefined ? null : sessionShape.read(row);
    },
    async list() {
      return (await rows(`SELECT * FROM ${session} ORDER BY created_ms DESC, id`, [])).map(sessionShape.read);
    },
    async seen(id, atMs) {
      await run(`UPDATE ${session} SET seen_ms = $2 WHERE id = $1 AND seen_ms < $2`, [id, atMs]);
    },
    async end(id) {
      const changes = await run(`DELETE FROM ${session} WHERE id = $1`, [id]);
      return changes > 0;
    },
    async issueToken(row) {
      await run(tokenShape.insert(token), tokenShape.cells(row));
    },
    async redeemToken(hash, nowMs) {
      await run(`DELETE FROM ${token} WHERE ends_ms <= $1`, [nowMs]);
      return first(`DELETE FROM ${token} WHERE hash = $1 AND ends_ms > $2 RETURNING *`, [hash, nowMs], tokenShape.read);
    },
    async useAssertion(hash, endsMs, nowMs) {
      await run(`DELETE FROM ${assertion} WHERE ends_ms <= $1`, [nowMs]);
      const sql = `INSERT INTO ${assertion} (hash, ends_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
      const changes = await run(sql, [hash, endsMs]);
      return changes > 0;
    },
    close,
  };
}
