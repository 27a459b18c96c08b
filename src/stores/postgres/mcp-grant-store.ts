import type { McpGrantStore } from '../../auth/mcp-grant-store.ts';
import {
  type McpGrantColumns,
  type McpLoginColumns,
  mcpGrantOf,
  mcpGrantValues,
  mcpLoginOf,
} from '../mcp-grant-rows.ts';
import type { Migration } from '../migration.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

export const mcpGrantMigration: Migration = {
  version: 23,
  name: 'logins at MCP servers',
  sql: `
    CREATE TABLE culvert.mcp_grant (
      server TEXT PRIMARY KEY,
      sealed TEXT NOT NULL,
      ended TEXT,
      version BIGINT NOT NULL,
      lease_ms BIGINT NOT NULL,
      login_ms BIGINT NOT NULL,
      login_by TEXT NOT NULL
    );
    CREATE TABLE culvert.mcp_login (hash TEXT PRIMARY KEY, sealed TEXT NOT NULL, ends_ms BIGINT NOT NULL);
  `,
};

/** Grants of MCP servers, shared by all replicas. */
export function createPostgresMcpGrantStore({ rest }: Pick<Database, 'rest'>): McpGrantStore {
  return {
    async find(server) {
      const { rows } = await unavailable(rest.run<McpGrantColumns>(find, [server]));
      return rows[0] === undefined ? null : mcpGrantOf(rows[0]);
    },
    async list() {
      const { rows } = await unavailable(rest.run<McpGrantColumns>(list));
      return rows.map(mcpGrantOf);
    },
    async put(row, was) {
      const values = mcpGrantValues(row);
      const written = was === null ? rest.run(upsert, values) : rest.run(replace, [...values, was]);
      return (await unavailable(written)).changes > 0;
    },
    async remove(server) {
      return (await unavailable(rest.run('DELETE FROM culvert.mcp_grant WHERE server = $1', [server]))).changes > 0;
    },
    async lease(server, version, nowMs, untilMs) {
      return (await unavailable(rest.run(take, [server, version, nowMs, untilMs]))).changes > 0;
    },
    async begin({ hash, sealed, endsMs }, nowMs) {
      await unavailable(rest.run('DELETE FROM culvert.mcp_login WHERE ends_ms <= $1', [nowMs]));
      await unavailable(rest.run('INSERT INTO culvert.mcp_login VALUES ($1, $2, $3)', [hash, sealed, endsMs]));
    },
    async redeem(hash, nowMs) {
      const { rows } = await unavailable(rest.run<McpLoginColumns>(redeem, [hash, nowMs]));
      return rows[0] === undefined ? null : mcpLoginOf(rows[0]);
    },
    async close() {},
  };
}

const find = { name: 'mcp-grant-find', text: 'SELECT * FROM culvert.mcp_grant WHERE server = $1' };
const list = { name: 'mcp-grant-list', text: 'SELECT * FROM culvert.mcp_grant ORDER BY server' };
const upsert = `INSERT INTO culvert.mcp_grant VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, ended = excluded.ended, version = excluded.version,
    lease_ms = excluded.lease_ms, login_ms = excluded.login_ms, login_by = excluded.login_by`;
const replace = `UPDATE culvert.mcp_grant
  SET sealed = $2, ended = $3, version = $4, lease_ms = $5, login_ms = $6, login_by = $7
  WHERE server = $1 AND version = $8`;
const take = `UPDATE culvert.mcp_grant SET lease_ms = $4 WHERE server = $1 AND version = $2 AND lease_ms <= $3`;
const redeem = 'DELETE FROM culvert.mcp_login WHERE hash = $1 AND ends_ms > $2 RETURNING *';
