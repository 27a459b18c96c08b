import { z } from 'zod';
import type { KeptRow } from '../auth/account-store.ts';
import { fragmentKey } from '../config/merge-kept.ts';
import { redactPart, secretMark } from '../config/redact.ts';
import type { McpServerConfig } from '../config/schema.ts';
import { mcpServerName, mcpUrlServerSchema } from '../config/schema-mcp.ts';
import { invalid } from '../kernel/failure.ts';
import type { UpstreamServer } from '../mcp/upstream-server.ts';
import { listOf, noQuery, pageFields, timeField } from './fields.ts';
import { type KeptRecords, rowIn } from './kept.ts';
import { keptFields, shownKept } from './kept-fields.ts';
import { creation, patching, patchSchema, refuseUnreadHeaders, removal, versionQuery } from './kept-row.ts';
import type { Members } from './merge-patch.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';

const shownSchema = z.object({
  name: z.string(),
  transport: z.enum(['http', 'program']),
  url: z.string().nullable().describe('Without user, password and query; null for a program.'),
  status: z.enum(['up', 'down', 'unknown']).describe('As the last look found it; unknown: nobody has looked yet.'),
  why: z.string().nullable().describe('Why it is down.'),
  checked_at: timeField.nullable(),
  again_at: timeField.nullable().describe('When it is asked again; null while it is up.'),
  sessions: z.int().describe('Keys that have a session with it.'),
  tools: z.array(z.string()).describe('Its tools, under its own names.'),
  ...keptFields,
});
export type McpServerReply = z.output<typeof shownSchema>;

const newServer = mcpUrlServerSchema.extend({
  name: mcpServerName.describe('It stands before the names of its tools.'),
});

/** `/mcp-servers`: MCP servers elsewhere. Those that are programs stand in the file alone. */
export function mcpServerOperations(parts: AdminParts, kept: KeptRecords): Operation[] {
  const show = async (name: string) => {
    const shown = (await shownServers(parts, kept)).find((server) => server.name === name);
    return shown ?? refuse({ kind: 'not-found', message: `There is no MCP server '${name.slice(0, 64)}'.` });
  };
  const changeOf = (name: string, version: number | undefined, actor: string) =>
    ({ kind: 'mcp', name, version, actor, show: () => show(name) }) as const;

  return [
    jsonOperation({
      method: 'GET',
      path: '/mcp-servers',
      area: 'providers',
      summary: 'Lists the MCP servers whose tools are offered, with their health.',
      query: z.strictObject(pageFields),
      body: null,
      reply: listOf(shownSchema),
      async run({ query }) {
        const page = pageByText(inOrderOf(await shownServers(parts, kept), nameOf), nameOf, query);
        return { data: [...page.rows], next_cursor: page.next };
      },
    }),
    jsonOperation({
      method: 'GET',
      path: '/mcp-servers/{name}',
      area: 'providers',
      summary: 'Returns one MCP server.',
      query: noQuery,
      body: null,
      reply: shownSchema,
      run: ({ params }) => show(params.name),
    }),
    jsonOperation({
      method: 'POST',
      path: '/mcp-servers',
      area: 'providers',
      summary:
        'Creates an MCP server with a URL, as under `mcp.servers` in culvert.yaml. Its headers are encrypted. Only the file can name a program.',
      query: noQuery,
      body: newServer,
      status: 201,
      reply: shownSchema,
      async run({ written, operator: { name: actor } }) {
        const { name, ...definition } = written as { name: string };
        const identity = { kind: 'mcp', name } as const;
        await kept.create('mcp', name, (rows) => creation(parts, rows, identity, definition, actor), actor);
        return show(name);
      },
    }),
    jsonOperation({
      method: 'PATCH',
      path: '/mcp-servers/{name}',
      area: 'providers',
      summary: 'Changes the stored settings of an MCP server. Its sessions end, and running calls with them.',
      query: noQuery,
      body: patchSchema,
      reply: shownSchema,
      async run({ params, body: { version, ...patch }, operator: { name: actor } }) {
        const change = patching(parts, patch, actor, (before, after) => refuseToSendElsewhere(before, after, patch));
        await kept.change(changeOf(params.name, version, actor), change);
        return show(params.name);
      },
    }),
    jsonOperation({
      method: 'DELETE',
      path: '/mcp-servers/{name}',
      area: 'providers',
      summary: 'Removes the stored settings of an MCP server. Its sessions end.',
      query: versionQuery,
      body: null,
      reply: shownSchema,
      async run({ params, query, operator: { name: actor } }) {
        const shown = await show(params.name);
        await kept.change(changeOf(params.name, query.version, actor), removal);
        return shown;
      },
    }),
    jsonOperation({
      method: 'POST',
      path: '/mcp-servers/{name}/test',
      area: 'providers',
      summary: 'Asks an MCP server for its lists now, and returns how it stands.',
      query: noQuery,
      body: null,
      reply: shownSchema,
      async run({ params }) {
        await parts.mcp?.get(params.name)?.look();
        return show(params.name);
      },
    }),
  ];
}

type ShownServer = z.input<typeof shownSchema>;

function nameOf({ name }: ShownServer): string {
  return name;
}

async function shownServers(parts: AdminParts, kept: KeptRecords): Promise<ShownServer[]> {
  const rows = await kept.rows();
  const inForce = parts.snapshot().config.mcp.servers;
  const unused = rows.kept.filter(({ kind, name }) => kind === 'mcp' && !Object.hasOwn(inForce, name));
  return [
    ...Object.entries(inForce).map(([name, config]) => {
      const row = rowIn(rows, 'mcp', name);
      const isKept = row !== null && !parts.setup.report().shadowed.has(fragmentKey(row));
      return shown(parts, name, config, parts.mcp?.get(name), isKept ? 'kept' : 'file', row);
    }),
    ...unused.map((row) => shown(parts, row.name, row.definition, undefined, 'kept', row)),
  ];
}

function shown(
  parts: AdminParts,
  name: string,
  { url, command }: Pick<McpServerConfig, 'url' | 'command'>,
  server: UpstreamServer | undefined,
  source: 'file' | 'kept',
  row: KeptRow | null,
): ShownServer {
  const { clock } = parts;
  const at = (monotonicMs: number) => new Date(clock.wallMs() + monotonicMs - clock.monotonicMs()).toISOString();
  const standing = server?.standing ?? { at: 'unknown' };
  return {
    name,
    transport: command === undefined ? 'http' : 'program',
    url: url === undefined ? null : (redactPart({ url }) as { url: string }).url,
    status: standing.at,
    why: standing.at === 'down' ? `It ${standing.why.message}.` : null,
    checked_at: standing.at === 'unknown' ? null : at(standing.checkedMs),
    again_at: standing.at === 'down' ? at(standing.againMs) : null,
    sessions: server?.sessions ?? 0,
    tools: server?.offered.tools.map((tool) => tool.name) ?? [],
    ...shownKept(parts, source, row),
  };
}

/** Secrets that nobody may read must not be sent to an address that the changer chooses either. */
function refuseToSendElsewhere(before: Members, after: Members, patch: Members): void {
  const { oauth } = after as { oauth?: Members };
  const issuerMoved = oauth?.issuer !== (before.oauth as Members | undefined)?.issuer;
  if (oauth !== undefined && (issuerMoved || before.url !== after.url)) {
    const { client_secret: sent = secretMark } = (patch.oauth ?? {}) as Members;
    if (before.oauth !== undefined && sent === secretMark) {
      const message = 'oauth.client_secret: it was given for another address. Send its value too, or null for oauth';
      refuse(invalid('oauth.client_secret', message));
    }
  }
  if (before.url !== after.url) refuseUnreadHeaders('url', after, patch);
}
