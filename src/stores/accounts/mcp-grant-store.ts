import type { McpGrantRow, McpGrantStore } from '../../books/auth/mcp-grant-store.ts';
import { rowShape } from '../row-shape.ts';
import type { ClosableTables } from '../sql-tables.ts';

const grantShape = rowShape<McpGrantRow>()({
  text: ['server', 'sealed', 'loginBy'],
  'text?': ['ended'],
  number: ['version', 'leaseMs', 'loginMs'],
});

/** Grants of MCP servers, and logins that have begun, over either database. `aheadMs`: as in `JobWorker`. */
export function createMcpGrantStore(tables: ClosableTables, aheadMs = () => 0): McpGrantStore {
  const { prefix, rows, write, close, run, first } = tables;
  const grant = `${prefix}mcp_grant`;
  const login = `${prefix}mcp_login`;
  const hasChanged = async (sql: string, values: readonly unknown[]) => (await run(sql, values)) > 0;
  return {
    async find(server) {
      return first(`SELECT * FROM ${grant} WHERE server = $1`, [server], grantShape.read);
    },
    async list() {
      return (await rows(`SELECT * FROM ${grant} ORDER BY server`, [])).map(grantShape.read);
    },
    put(row, was) {
      if (was === null) return hasChanged(grantShape.put(grant, 'server'), grantShape.cells(row));
      const { sealed, ended, version, leaseMs, loginMs, loginBy } = row;
      const update = `UPDATE ${grant} SET sealed = $2, ended = $3, version = $4, lease_ms = $5, login_ms = $6, login_by = $7
        WHERE server = $1 AND version = $8`;
      return hasChanged(update, [row.server, sealed, ended, version, leaseMs, loginMs, loginBy, was]);
    },
    remove: (server) => hasChanged(`DELETE FROM ${grant} WHERE server = $1`, [server]),
    lease(server, version, nowMs, untilMs) {
      const sql = `UPDATE ${grant} SET lease_ms = $4 WHERE server = $1 AND version = $2 AND lease_ms <= $3`;
      return hasChanged(sql, [server, version, nowMs + aheadMs(), untilMs + aheadMs()]);
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
      return first(sql, [hash, nowMs], (row) => ({ hash, sealed: String(row.sealed), endsMs: Number(row.ends_ms) }));
    },
    close,
  };
}
