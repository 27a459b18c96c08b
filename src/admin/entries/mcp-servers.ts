import { z } from 'zod';
import { mcpServerName, mcpUrlServerSchema } from '../../config/schema/schema-mcp.ts';
import type { Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import type { EntryRecords } from './entry-records.ts';
import { type ShownServer, shownSchema, shownServers } from './mcp-server-shown.ts';
import { guardAddresses } from './send-elsewhere.ts';
import { entryNamed, listByName } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';

const newServer = mcpUrlServerSchema.extend({ name: mcpServerName.describe('The names of its tools begin with it.') });

/** `/mcp-servers`: MCP servers elsewhere. Those that are programs are in the file only. */
export function mcpServerOperations(
  parts: AdminParts,
  entryRecords: EntryRecords,
  records: Pick<Records, 'note'>,
): Operation[] {
  const entries = entryOperations({ path: '/mcp-servers', named: 'name', area: 'providers', reply: shownSchema });
  const all = () => shownServers(parts, entryRecords);
  const show = async (name: string) => entryNamed('mcp', await all(), name);
  return [
    listByName(entries, 'Lists the MCP servers whose tools are offered, with their health.', all),
    entries.show({ summary: 'Returns one MCP server.', run: show }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'mcp',
      entries,
      show,
      add: {
        summary:
          'Creates an MCP server with a URL, as under `mcp.servers` in culvert.yaml. Its headers are encrypted. Only the file can name a program.',
        body: newServer,
      },
      change: {
        summary: 'Changes the stored settings of an MCP server. Its sessions end, and running calls with them.',
        guardOf: guardAddresses('mcp'),
      },
      remove: {
        summary: 'Removes the stored settings of an MCP server. Its sessions end.',
        andThen: (name) => parts.mcpGrants.remove(name),
      },
    }),
    entries.act('test', {
      summary: 'Asks an MCP server for its lists now, and returns its state.',
      async run(name) {
        await parts.mcp?.get(name)?.lookAnew();
        return show(name);
      },
    }),
    ...mcpLoginOperations(parts, records, show),
  ];
}

const begunSchema = z.object({
  url: z.string().describe('The address to open in a browser.'),
  expires_at: timeField.describe('Until then the browser has to be back.'),
});

/** `/mcp-servers/{name}/login`: an operator's login by OAuth, which gives the tokens for an MCP server. */
function mcpLoginOperations(
  parts: AdminParts,
  records: Pick<Records, 'note'>,
  show: (name: string) => Promise<ShownServer>,
): Operation[] {
  return [
    jsonOperation({
      route: 'POST /mcp-servers/{name}/login',
      area: 'providers',
      summary:
        'Begins a login at an MCP server by OAuth. Returns the address of its authorization server for a browser, which comes back here. It works once, for ten minutes.',
      reply: begunSchema,
      async run({ params, operator: { name: actor } }) {
        await show(params.name);
        const noServer = {
          kind: 'conflict',
          message: 'No server runs here that the browser could come back to.',
        } as const;
        const { url, endsMs } = await (parts.mcp ?? refuse(noServer)).begin(params.name, actor);
        return { url, expires_at: new Date(endsMs).toISOString() };
      },
    }),
    jsonOperation({
      route: 'DELETE /mcp-servers/{name}/login',
      area: 'providers',
      summary: 'Forgets the tokens of the last login at an MCP server.',
      reply: shownSchema,
      async run({ params, operator: { name: actor } }) {
        const { login } = await show(params.name);
        if (login === null) {
          refuse({ kind: 'conflict', message: `Nobody is logged in at the MCP server '${params.name}'.` });
        }
        await parts.mcpGrants.remove(params.name);
        const before = { issuer: login?.issuer, scope: login?.scope };
        await records.note({ actor, action: 'mcp.logout', subject: params.name, before, after: null });
        await parts.mcp?.get(params.name)?.lookAnew();
        return show(params.name);
      },
    }),
  ];
}
