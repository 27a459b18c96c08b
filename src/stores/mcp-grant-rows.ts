import type { McpGrantRow, McpLoginRow } from '../auth/mcp-grant-store.ts';

/** Tables of grants of MCP servers, and of logins that have begun; the same names in every driver. */
export interface McpGrantColumns {
  server: string;
  sealed: string;
  ended: string | null;
  version: number;
  lease_ms: number;
  login_ms: number;
  login_by: string;
}

export interface McpLoginColumns {
  hash: string;
  sealed: string;
  ends_ms: number;
}

/** In the order of the table's columns. */
export function mcpGrantValues(row: McpGrantRow): (string | number | null)[] {
  const { server, sealed, ended, version, leaseMs, loginMs, loginBy } = row;
  return [server, sealed, ended, version, leaseMs, loginMs, loginBy];
}

export function mcpGrantOf({ lease_ms, login_ms, login_by, ...row }: McpGrantColumns): McpGrantRow {
  return { ...row, leaseMs: lease_ms, loginMs: login_ms, loginBy: login_by };
}

export function mcpLoginOf({ ends_ms, ...row }: McpLoginColumns): McpLoginRow {
  return { ...row, endsMs: ends_ms };
}
