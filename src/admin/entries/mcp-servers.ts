import { mcpServerMarks } from '../../books/auth/entry-secrets.ts';
import { mcpServerName, mcpUrlServerSchema } from '../../config/schema/schema-mcp.ts';
import type { Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import type { EntryRecords } from './entry-records.ts';
import { mcpLoginOperations } from './mcp-logins.ts';
import { shownSchema, shownServers } from './mcp-server-shown.ts';
import type { Members } from './merge-patch.ts';
import { movedAddresses, refuseUnreadSecrets } from './send-elsewhere.ts';
import { entryNamed, listByName } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';

const newServer = mcpUrlServerSchema.extend({
  name: mcpServerName.describe('The names of its tools begin with it.'),
});

/** `/mcp-servers`: MCP servers elsewhere. Those that are programs are in the file only. */
export function mcpServerOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/mcp-servers', named: 'name', area: 'providers', reply: shownSchema });
  const all = () => shownServers(parts, entryRecords);
  const show = async (name: string) => entryNamed('mcp', await all(), name);
  return [
    listByName(entries, 'Lists the MCP servers whose tools are offered, with their health.', all),
    entries.show({ summary: 'Returns one MCP server.', run: show }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'mcp',
      entries,
      named: 'name',
      show,
      add: {
        summary:
          'Creates an MCP server with a URL, as under `mcp.servers` in culvert.yaml. Its headers are encrypted. Only the file can name a program.',
        body: newServer,
      },
      change: {
        summary: 'Changes the stored settings of an MCP server. Its sessions end, and running calls with them.',
        guardOf: (patch) => (before, after) => refuseToSendElsewhere(before, after, patch),
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
    ...mcpLoginOperations(parts, show),
  ];
}

function refuseToSendElsewhere(before: Members, after: Members, patch: Members): void {
  const marks = mcpServerMarks();
  for (const member of movedAddresses(marks, before, after)) refuseUnreadSecrets(marks, member, before, after, patch);
}
