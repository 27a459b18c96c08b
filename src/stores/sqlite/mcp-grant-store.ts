import type { McpGrantStore } from '../../auth/mcp-grant-store.ts';
import {
  type McpGrantColumns,
  type McpLoginColumns,
  mcpGrantOf,
  mcpGrantValues,
  mcpLoginOf,
} from '../mcp-grant-rows.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';

/** Grants of MCP servers in `culvert.db`. A rotated refresh token is synced: its forerunner is worth nothing. */
export function openSqliteMcpGrantStore(file: string): McpGrantStore {
  const database = openCulvertDatabase(file, 'fsync');
  const select = database.prepare('SELECT * FROM mcp_grant WHERE server = ?');
  const all = database.prepare('SELECT * FROM mcp_grant ORDER BY server');
  const insert = database.prepare('INSERT OR REPLACE INTO mcp_grant VALUES (?, ?, ?, ?, ?, ?, ?)');
  const replace = database.prepare(`
    UPDATE mcp_grant SET server = ?, sealed = ?, ended = ?, version = ?, lease_ms = ?, login_ms = ?, login_by = ?
    WHERE server = ? AND version = ?`);
  const remove = database.prepare('DELETE FROM mcp_grant WHERE server = ?');
  const take = database.prepare('UPDATE mcp_grant SET lease_ms = ? WHERE server = ? AND version = ? AND lease_ms <= ?');
  const insertLogin = database.prepare('INSERT INTO mcp_login VALUES (?, ?, ?)');
  const dropLogins = database.prepare('DELETE FROM mcp_login WHERE ends_ms <= ?');
  const redeem = database.prepare('DELETE FROM mcp_login WHERE hash = ? AND ends_ms > ? RETURNING *');

  return {
    async find(server) {
      const row = select.get(server);
      return row === undefined ? null : mcpGrantOf(row as unknown as McpGrantColumns);
    },
    async list() {
      return (all.all() as unknown as McpGrantColumns[]).map(mcpGrantOf);
    },
    put(row, was) {
      const values = mcpGrantValues(row);
      return transaction(database, () => {
        const { changes } = was === null ? insert.run(...values) : replace.run(...values, row.server, was);
        return changes > 0;
      });
    },
    remove: (server) => transaction(database, () => remove.run(server).changes > 0),
    lease: (server, version, nowMs, untilMs) =>
      transaction(database, () => take.run(untilMs, server, version, nowMs).changes > 0),
    async begin({ hash, sealed, endsMs }, nowMs) {
      await transaction(database, () => {
        dropLogins.run(nowMs);
        insertLogin.run(hash, sealed, endsMs);
      });
    },
    async redeem(hash, nowMs) {
      const row = await transaction(database, () => redeem.get(hash, nowMs));
      return row === undefined ? null : mcpLoginOf(row as unknown as McpLoginColumns);
    },
    async close() {
      database.close();
    },
  };
}
