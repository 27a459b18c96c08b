import { z } from 'zod';
import { redactPart } from '../../config/redact.ts';
import type { McpServerConfig } from '../../config/schema.ts';
import type { StoredGrant } from '../../tools/mcp/grants.ts';
import { timeField } from '../fields.ts';
import type { AdminParts } from '../parts.ts';
import type { EntryRecords } from './entry-records.ts';
import { shownStanding, standingFields } from './shown-standing.ts';
import { shownEntries, storedFields } from './stored-fields.ts';

/** An MCP server as lists show it. */
export const shownSchema = z.object({
  name: z.string(),
  transport: z.enum(['http', 'program', 'openapi']),
  url: z.string().nullable().describe('Without user, password and query; null for a program.'),
  ...standingFields,
  login: z
    .object({
      at: timeField,
      by: z.string().describe('The operator who began it.'),
      issuer: z.string().nullable().describe('The authorization server; null: another storage.secret has sealed it.'),
      scope: z.string().nullable(),
      ended: z.string().nullable().describe('Why its tokens are of no more use; null while they are.'),
    })
    .nullable()
    .describe('The last login of an operator there; null: there was none, or it was ended.'),
  sessions: z.int().describe('Keys that have a session with it.'),
  tools: z.array(z.string()).describe('Its tools, under its own names.'),
  hidden: z.array(z.string()).describe('Those of them that `tools` of its settings does not offer.'),
  ...storedFields,
});
export type McpServerReply = z.output<typeof shownSchema>;

export type ShownServer = z.input<typeof shownSchema>;

/** Servers in force, and stored ones that cannot be used. */
export async function shownServers(parts: AdminParts, entryRecords: EntryRecords): Promise<ShownServer[]> {
  const [rows, grants] = await Promise.all([entryRecords.rows(), parts.mcpGrants.list()]);
  const inForce = Object.entries(parts.snapshots.current.config.mcp.servers);
  return shownEntries(parts, rows, 'mcp', inForce, (name, config, stored, row) => {
    const { url, command, openapi }: Partial<McpServerConfig> = config ?? row?.definition ?? {};
    const server = config === null ? undefined : parts.mcp?.get(name);
    const login = grants.find((grant) => grant.row.server === name);
    return {
      name,
      transport: command !== undefined ? 'program' : openapi !== undefined ? 'openapi' : 'http',
      url: url === undefined ? null : (redactPart({ url }) as { url: string }).url,
      ...shownStanding(parts.clock, server?.standing),
      login: login === undefined ? null : shownLogin(login),
      sessions: server?.sessions ?? 0,
      tools: server?.offered.tools.map((tool) => tool.name) ?? [],
      hidden: server?.hidden ?? [],
      ...stored,
    };
  });
}

function shownLogin({ row: { loginMs, loginBy, ended }, grant }: StoredGrant): ShownServer['login'] {
  const { issuer = null, scope = null } = grant ?? {};
  return { at: new Date(loginMs).toISOString(), by: loginBy, issuer, scope, ended };
}
