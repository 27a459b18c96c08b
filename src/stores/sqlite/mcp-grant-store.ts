import type { McpGrantStore } from '../../auth/mcp-grant-store.ts';
import { createMcpGrantStore } from '../mcp-grant-store.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { tablesIn } from './tables.ts';

/** Grants of MCP servers in `culvert.db`. A rotated refresh token is synced: its forerunner is worth nothing. */
export function openSqliteMcpGrantStore(file: string): McpGrantStore {
  const database = openCulvertDatabase(file, 'fsync');
  return { ...createMcpGrantStore(tablesIn(database)), close: async () => database.close() };
}
