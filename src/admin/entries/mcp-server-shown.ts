import { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { fragmentKey } from '../../config/merge-stored.ts';
import { redactPart } from '../../config/redact.ts';
import type { McpServerConfig } from '../../config/schema.ts';
import type { StoredGrant } from '../../tools/mcp/grants.ts';
import type { UpstreamServer } from '../../tools/mcp/upstream-server.ts';
import { timeField } from '../fields.ts';
import { refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { type EntryRecords, rowIn } from './entry-records.ts';
import { shownStanding, standingFields } from './shown-standing.ts';
import { shownStored, storedFields } from './stored-fields.ts';

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

export function nameOf({ name }: ShownServer): string {
  return name;
}

/** Refuses a name that no server has. */
export async function shownServer(parts: AdminParts, entryRecords: EntryRecords, name: string): Promise<ShownServer> {
  const found = (await shownServers(parts, entryRecords)).find((server) => server.name === name);
  return found ?? refuse({ kind: 'not-found', message: `There is no MCP server '${name.slice(0, 64)}'.` });
}

/** Servers in force, and stored ones that cannot be used. */
export async function shownServers(parts: AdminParts, entryRecords: EntryRecords): Promise<ShownServer[]> {
  const [rows, grants] = await Promise.all([entryRecords.rows(), parts.mcpGrants.list()]);
  const loginOf = (name: string) => grants.find(({ row }) => row.server === name) ?? null;
  const inForce = parts.snapshots.current.config.mcp.servers;
  const unused = rows.entries.filter(({ kind, name }) => kind === 'mcp' && !Object.hasOwn(inForce, name));
  return [
    ...Object.entries(inForce).map(([name, config]) => {
      const row = rowIn(rows, 'mcp', name);
      const isStored = row !== null && !parts.setup.report().shadowed.has(fragmentKey(row));
      return shown(parts, name, config, parts.mcp?.get(name), isStored ? 'kept' : 'file', row, loginOf(name));
    }),
    ...unused.map((row) => shown(parts, row.name, row.definition, undefined, 'kept', row, loginOf(row.name))),
  ];
}

function shown(
  parts: AdminParts,
  name: string,
  { url, command, openapi }: Pick<McpServerConfig, 'url' | 'command'> & { openapi?: string | undefined },
  server: UpstreamServer | undefined,
  source: 'file' | 'kept',
  row: EntryRow | null,
  login: StoredGrant | null,
): ShownServer {
  return {
    name,
    transport: command !== undefined ? 'program' : openapi !== undefined ? 'openapi' : 'http',
    url: url === undefined ? null : (redactPart({ url }) as { url: string }).url,
    ...shownStanding(parts.clock, server?.standing),
    login: login === null ? null : shownLogin(login),
    sessions: server?.sessions ?? 0,
    tools: server?.offered.tools.map((tool) => tool.name) ?? [],
    hidden: server?.hidden ?? [],
    ...shownStored(parts, source, row),
  };
}

function shownLogin({ row: { loginMs, loginBy, ended }, grant }: StoredGrant): ShownServer['login'] {
  const { issuer = null, scope = null } = grant ?? {};
  return { at: new Date(loginMs).toISOString(), by: loginBy, issuer, scope, ended };
}
