import type { McpGrantRow, McpGrantStore } from '../../books/auth/mcp-grant-store.ts';
import type { ClosableTables } from '../sql-tables.ts';

/** Grants of MCP servers, and logins that have begun, over either database. */
export function createMcpGrantStore({ prefix, rows, write, close }: ClosableTables): McpGrantStore {
  const grant = `${prefix}mcp_grant`;
  const login = `${prefix}mcp_login`;
  const hasChanged = async (sql: string, values: readonly unknown[]) => (await write([{ sql, values }]))[0]! > 0;
  return {
    async find(server) {
      const [row] = await rows(`SELECT * FROM ${grant} WHERE server = $1`, [server]);
      return row === undefined ? null : grantOf(row);
    },
    async list() {
      return (await rows(`SELECT * FROM ${grant} ORDER BY server`, [])).map(grantOf);
    },
    put({ server, sealed, ended, version, leaseMs, loginMs, loginBy }, was) {
      const values = [server, sealed, ended, version, leaseMs, loginMs, loginBy];
      const set = 'sealed = $2, ended = $3, version = $4, lease_ms = $5, login_ms = $6, login_by = $7';
      if (was !== null) {
        return hasChanged(`UPDATE ${grant} SET ${set} WHERE server = $1 AND version = $8`, [...values, was]);
      }
      const insert = `INSERT INTO ${grant} (server, sealed, ended, version, lease_ms, login_ms, login_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (server) DO UPDATE SET ${set}`;
      return hasChanged(insert, values);
    },
    remove: (server) => hasChanged(`DELETE FROM ${grant} WHERE server = $1`, [server]),
    lease(server, version, nowMs, untilMs) {
      const sql = `UPDATE ${grant} SET lease_ms = $4 WHERE server = $1 AND version = $2 AND lease_ms <= $3`;
      return hasChanged(sql, [server, version, nowMs, untilMs]);
    },
    async begin({ hash, sealed, endsMs }, nowMs) {
      const insert = `INSERT INTO ${login} (hash, sealed, ends_ms) VALUES ($1, $2, $3)`;
      await write([
        { sql: `DELETE FROM ${login} WHERE ends_ms <= $1`, values: [nowMs] },
        { sql: insert, values: [hash, sealed, endsMs] },
      ]);
    },
    async redeem(hash, nowMs) {
      const sql = `DELETE FROM ${login} WHERE hash = $1 AND ends_ms > $2 RETURNING sealed, ends_ms`;
      const [row] = await rows(sql, [hash, nowMs]);
      return row === undefined ? null : { hash, sealed: String(row.sealed), endsMs: Number(row.ends_ms) };
    },
    close,
  };
}

function grantOf(row: Record<string, unknown>): McpGrantRow {
  return {
    server: String(row.server),
    sealed: String(row.sealed),
    ended: row.ended === null ? null : String(row.ended),
    version: Number(row.version),
    leaseMs: Number(row.lease_ms),
    loginMs: Number(row.login_ms),
    loginBy: String(row.login_by),
  };
}
