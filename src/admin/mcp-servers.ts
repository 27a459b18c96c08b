import { z } from 'zod';
import { mcpServerMarks } from '../auth/kept-secrets.ts';
import { mcpServerName, mcpUrlServerSchema } from '../config/schema-mcp.ts';
import { listOf, noQuery, pageFields } from './fields.ts';
import type { KeptRecords } from './kept.ts';
import { creation, patching, patchSchema, removal, versionQuery } from './kept-row.ts';
import { mcpLoginOperations } from './mcp-logins.ts';
import { nameOf, shownSchema, shownServer, shownServers } from './mcp-server-shown.ts';
import type { Members } from './merge-patch.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';
import { movedAddresses, refuseUnreadSecrets } from './send-elsewhere.ts';

const newServer = mcpUrlServerSchema.extend({
  name: mcpServerName.describe('The names of its tools begin with it.'),
});

/** `/mcp-servers`: MCP servers elsewhere. Those that are programs are in the file only. */
export function mcpServerOperations(parts: AdminParts, kept: KeptRecords): Operation[] {
  const show = (name: string) => shownServer(parts, kept, name);
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
        await parts.mcpGrants.remove(params.name);
        return shown;
      },
    }),
    jsonOperation({
      method: 'POST',
      path: '/mcp-servers/{name}/test',
      area: 'providers',
      summary: 'Asks an MCP server for its lists now, and returns its state.',
      query: noQuery,
      body: null,
      reply: shownSchema,
      async run({ params }) {
        await parts.mcp?.get(params.name)?.lookAnew();
        return show(params.name);
      },
    }),
    ...mcpLoginOperations(parts, show),
  ];
}

function refuseToSendElsewhere(before: Members, after: Members, patch: Members): void {
  const marks = mcpServerMarks();
  for (const member of movedAddresses(marks, before, after)) refuseUnreadSecrets(marks, member, before, after, patch);
}
