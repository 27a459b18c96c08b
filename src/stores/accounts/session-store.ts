import type { LoginTokenRow, SessionRow, SessionStore } from '../../books/auth/session-store.ts';
import type { ClosableTables, SqlTables } from '../sql-tables.ts';

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
    async open({ id, hash, login, credential, operator, address, agent, createdMs, seenMs, endsMs }, keepMax) {
      const columns = 'id, hash, login, credential, operator, address, agent, created_ms, seen_ms, ends_ms';
      await write([
        { sql: `DELETE FROM ${session} WHERE ends_ms <= $1`, values: [createdMs] },
        {
          sql: `INSERT INTO ${session} (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
          values: [id, hash, login, credential, operator, address, agent, createdMs, seenMs, endsMs],
        },
        { sql: `DELETE FROM ${session} WHERE id IN (${surplus})`, values: [credential, operator, keepMax] },
      ]);
    },
    async find(hash) {
      const [row] = await quick.rows(`SELECT * FROM ${session} WHERE hash = $1`, [hash]);
      return row === undefined ? null : sessionOf(row);
    },
    async list() {
      return (await rows(`SELECT * FROM ${session} ORDER BY created_ms DESC, id`, [])).map(sessionOf);
    },
    async seen(id, atMs) {
      await write([{ sql: `UPDATE ${session} SET seen_ms = $2 WHERE id = $1 AND seen_ms < $2`, values: [id, atMs] }]);
    },
    async end(id) {
      const [changes = 0] = await write([{ sql: `DELETE FROM ${session} WHERE id = $1`, values: [id] }]);
      return changes > 0;
    },
    async issueToken({ hash, credential, endsMs }) {
      const sql = `INSERT INTO ${token} (hash, credential, ends_ms) VALUES ($1, $2, $3)`;
      await write([{ sql, values: [hash, credential, endsMs] }]);
    },
    async redeemToken(hash, nowMs) {
      await write([{ sql: `DELETE FROM ${token} WHERE ends_ms <= $1`, values: [nowMs] }]);
      const [row] = await rows(`DELETE FROM ${token} WHERE hash = $1 AND ends_ms > $2 RETURNING *`, [hash, nowMs]);
      return row === undefined ? null : loginTokenOf(row);
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

function sessionOf(row: Record<string, unknown>): SessionRow {
  return {
    id: String(row.id),
    hash: String(row.hash),
    login: String(row.login) as SessionRow['login'],
    credential: row.credential === null ? null : String(row.credential),
    operator: row.operator === null ? null : String(row.operator),
    address: String(row.address),
    agent: String(row.agent),
    createdMs: Number(row.created_ms),
    seenMs: Number(row.seen_ms),
    endsMs: Number(row.ends_ms),
  };
}

function loginTokenOf(row: Record<string, unknown>): LoginTokenRow {
  return { hash: String(row.hash), credential: String(row.credential), endsMs: Number(row.ends_ms) };
}
