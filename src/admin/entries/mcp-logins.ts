import { z } from 'zod';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { type ShownServer, shownSchema } from './mcp-server-shown.ts';

const begunSchema = z.object({
  url: z.string().describe('The address to open in a browser.'),
  expires_at: timeField.describe('Until then the browser has to be back.'),
});

/** `/mcp-servers/{name}/login`: an operator's login by OAuth, which gives the tokens for an MCP server. */
export function mcpLoginOperations(parts: AdminParts, show: (name: string) => Promise<ShownServer>): Operation[] {
  return [
    jsonOperation({
      method: 'POST',
      path: '/mcp-servers/{name}/login',
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
      method: 'DELETE',
      path: '/mcp-servers/{name}/login',
      area: 'providers',
      summary: 'Forgets the tokens of the last login at an MCP server.',
      reply: shownSchema,
      async run({ params, operator: { name: actor } }) {
        const { login } = await show(params.name);
        if (login === null) {
          refuse({ kind: 'conflict', message: `Nobody is logged in at the MCP server '${params.name}'.` });
        }
        await parts.mcpGrants.remove(params.name);
        const audit = { atMs: parts.clock.wallMs(), actor, action: 'mcp.logout', subject: params.name };
        await parts.store.apply([], { ...audit, before: { issuer: login?.issuer, scope: login?.scope }, after: null });
        await parts.mcp?.get(params.name)?.lookAnew();
        return show(params.name);
      },
    }),
  ];
}
