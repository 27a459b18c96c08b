import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { McpServerReply } from '../../../../src/admin/mcp-server-shown.ts';
import { get } from '../../api/request.ts';
import type { Tone } from '../../parts/status.tsx';

export type { McpServerReply };

export const listPath = '/admin/v1/mcp-servers';

export function addressOf(name: string): string {
  return `${listPath}/${encodeURIComponent(name)}`;
}

export const mcpServerQuery = (name: string) =>
  queryOptions({
    queryKey: [listPath, name],
    queryFn: ({ signal }) => get<McpServerReply>(addressOf(name), {}, signal),
  });

/** After a change. */
export async function refreshMcpServers(client: QueryClient): Promise<void> {
  await client.invalidateQueries({ queryKey: [listPath] });
}

export const tones: Record<McpServerReply['status'], Tone> = {
  up: 'ok',
  down: 'bad',
  'needs-login': 'warn',
  unknown: 'plain',
};

export function wordOf(status: McpServerReply['status']): string {
  return status === 'needs-login' ? 'needs a login' : status;
}
