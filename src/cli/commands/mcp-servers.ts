import { setTimeout as pause } from 'node:timers/promises';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { calls, filled, lists, overAdmin } from '../admin-entries.ts';
import { bearerOf } from '../bearer-of.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import { listOf } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printExact, printJson } from '../print.ts';
import { originOf, type Row } from '../rows.ts';
import { changesSettings, removesStored } from '../stored-settings.ts';

export const mcpServers: CommandBody = {
  example: 'culvert mcp-servers list',
  commands: {
    list: lists({
      description: 'list MCP servers with their origin and their health',
      example: 'culvert mcp-servers list',
      path: '/mcp-servers',
      rowsMax: 1_000,
      columns: [
        ['server', ({ name }) => name],
        ['from', originOf],
        ['status', ({ status }) => status],
        ['tools', ({ tools }) => (tools as string[]).length],
        ['address', ({ url, transport }) => url ?? transport],
        ['problem', ({ problem, why }) => problem ?? why],
      ],
      empty: 'There is no MCP server.',
    }),
    add: calls<Row, AddFlags>({
      description: 'store an MCP server with a URL; every replica offers its tools at once',
      arguments: [
        ['<name>', 'name of the server, with which the names of its tools begin'],
        ['<address>', 'its URL'],
      ],
      options: [
        ['--token-env <variable>', 'variable whose value is sent as `Authorization: Bearer …`'],
        ['--allow <tools>', 'tools that are offered; * matches any characters', { read: listOf('search,read_*') }],
        ['--deny <tools>', 'tools that are not offered', { read: listOf('delete_*') }],
      ],
      example: 'culvert mcp-servers add tickets https://tickets.example.org/mcp',
      call: 'POST /mcp-servers',
      body: newServer,
      describe: (_server, name) => `MCP server '${name}' is stored.`,
    }),
    test: calls({
      description: 'ask an MCP server for its tools now',
      arguments: [['<name>', 'its name']],
      example: 'culvert mcp-servers test tickets',
      call: 'POST /mcp-servers/{name}/test',
      describe: ({ status, why, tools }, name) =>
        status === 'up'
          ? `${name}: up, with the tools ${(tools as string[]).join(', ')}.`
          : `${name}: ${status}. ${why ?? 'No server runs that could ask it.'}`,
      ok: ({ status }) => status === 'up',
    }),
    login: overAdmin({
      description: 'log in at an MCP server by OAuth: print the address for a browser, and wait until it is done',
      arguments: [['<name>', 'its name']],
      example: 'culvert mcp-servers login tickets',
      work: () => login,
    }),
    logout: calls({
      description: 'forget the tokens of the last login at an MCP server',
      arguments: [['<name>', 'its name']],
      example: 'culvert mcp-servers logout tickets',
      call: 'DELETE /mcp-servers/{name}/login',
      describe: (_server, name) => `The tokens for '${name}' are forgotten.`,
    }),
    change: changesSettings(
      'MCP server',
      `culvert mcp-servers change tickets --settings '{"tools":{"deny":["delete_*"]}}'`,
    ),
    remove: removesStored(
      'MCP server',
      'remove a stored MCP server; its sessions end',
      'culvert mcp-servers remove tickets',
    ),
  },
};

interface AddFlags {
  tokenEnv?: string;
  allow?: readonly string[];
  deny?: readonly string[];
}

function newServer({ tokenEnv, allow, deny }: AddFlags, name: string, url: string): Record<string, unknown> {
  const tools = (allow ?? deny) === undefined ? undefined : { allow, deny };
  return { name, url, headers: bearerOf(tokenEnv), tools };
}

const loginLookMs = 1_000;

/** In JSON it does not wait: the address has to go on first. */
async function login(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = filled('/mcp-servers/{name}', [name]);
  const server = await withAdmin(flags, parts, async (admin, progress) => {
    const sinceMs = loginMsOf((await admin.request('GET', path)) as Row);
    const begun = (await admin.request('POST', `${path}/login`)) as { url: string; expires_at: string };
    if (listForm(flags) === 'json') {
      printJson(begun);
      return null;
    }
    progress.end();
    print(`Open this address in a browser until ${begun.expires_at}:`);
    printExact(begun.url);
    for (;;) {
      const now = (await admin.request('GET', path)) as Row;
      if (loginMsOf(now) !== sinceMs) return (await admin.request('POST', `${path}/test`)) as Row;
      if (Date.now() >= Date.parse(begun.expires_at)) {
        throw new CommandFailed('Nobody completed the login at the authorization server in time. Try again.');
      }
      await pause(loginLookMs);
    }
  });
  if (server !== null) print(`${name}: logged in, and ${server.status}.`);
  return 0;
}

function loginMsOf({ login: made }: Row): number {
  return made === null ? 0 : Date.parse((made as { at: string }).at);
}
