import type { McpGrantStore } from '../../auth/mcp-grant-store.ts';
import { createMcpGrantStore } from '../mcp-grant-store.ts';
import type { Migration } from '../migration.ts';
import type { Database } from './database.ts';
import { tablesIn } from './tables.ts';

/** Grants of MCP servers, shared by all replicas. */
export function createPostgresMcpGrantStore(database: Pick<Database, 'rest'>): McpGrantStore {
  return { ...createMcpGrantStore(tablesIn(database)), close: async () => undefined };
}

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
