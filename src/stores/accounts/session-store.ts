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
  { prefix, rows, write, close }: ClosableTables,
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
      await write([{ sql: `UPDATE ${session} SET seen_ms = $2 WHERE id = $1 AND seen_ms < $2`, values: [id, atMs] }]);
    },
    async end(id) {
      const [changes = 0] = await write([{ sql: `DELETE FROM ${session} WHERE id = $1`, values: [id] }]);
      return changes > 0;
    },
    async issueToken(row) {
      await write([{ sql: tokenShape.insert(token), values: tokenShape.cells(row) }]);
    },
    async redeemToken(hash, nowMs) {
      await write([{ sql: `DELETE FROM ${token} WHERE ends_ms <= $1`, values: [nowMs] }]);
      const [row] = await rows(`DELETE FROM ${token} WHERE hash = $1 AND ends_ms > $2 RETURNING *`, [hash, nowMs]);
      return row === undefined ? null : tokenShape.read(row);
    },
    async useAssertion(hash, endsMs, nowMs) {
      await write([{ sql: `DELETE FROM ${assertion} WHERE ends_ms <= $1`, values: [nowMs] }]);
      const sql = `INSERT INTO ${assertion} (hash, ends_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
      const [changes = 0] = await write([{ sql, values: [hash, endsMs] }]);
      return changes > 0;
    },
    close,
  };
}
