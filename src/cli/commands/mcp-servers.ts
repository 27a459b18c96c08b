import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { type AdminFlags, adminCall, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { adminOptions, example, listOf, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printExact, printJson, printReply } from '../print.ts';
import { type Column, list, originOf, type Row } from '../rows.ts';

/** `culvert mcp-servers …` */
export function declare(servers: Command, run: Run, parts: CliParts): void {
  servers.addHelpText('after', example('culvert mcp-servers list'));

  adminOptions(
    servers.command('list').description('list MCP servers with their origin and their health'),
    'culvert mcp-servers list',
  ).action((options) => run(list(options, parts, listing)));

  adminOptions(
    servers
      .command('add')
      .description('store an MCP server with a URL; every replica offers its tools at once')
      .argument('<name>', 'name of the server, with which the names of its tools begin')
      .argument('<address>', 'its URL')
      .option('--token-env <variable>', 'variable whose value is sent as `Authorization: Bearer …`')
      .option('--allow <tools>', 'tools that are offered; * matches any characters', listOf('search,read_*'))
      .option('--deny <tools>', 'tools that are not offered', listOf('delete_*')),
    'culvert mcp-servers add tickets https://tickets.example.org/mcp',
  ).action((name, address, options) => run(add(name, address, options, parts)));

  adminOptions(
    servers.command('test').description('ask an MCP server for its tools now').argument('<name>', 'its name'),
    'culvert mcp-servers test tickets',
  ).action((name, options) => run(test(name, options, parts)));

  adminOptions(
    servers
      .command('login')
      .description('log in at an MCP server by OAuth: print the address for a browser, and wait until it is done')
      .argument('<name>', 'its name'),
    'culvert mcp-servers login tickets',
  ).action((name, options) => run(login(name, options, parts)));

  adminOptions(
    servers
      .command('logout')
      .description('forget the tokens of the last login at an MCP server')
      .argument('<name>', 'its name'),
    'culvert mcp-servers logout tickets',
  ).action((name, options) => run(logout(name, options, parts)));

  adminOptions(
    servers
      .command('remove')
      .description('remove a stored MCP server; its sessions end')
      .argument('<name>', 'its name'),
    'culvert mcp-servers remove tickets',
  ).action((name, options) => run(remove(name, options, parts)));
}

const columns: readonly Column[] = [
  ['server', ({ name }) => name],
  ['from', originOf],
  ['status', ({ status }) => status],
  ['tools', ({ tools }) => (tools as string[]).length],
  ['address', ({ url, transport }) => url ?? transport],
  ['problem', ({ problem, why }) => problem ?? why],
];

const listing = { path: '/mcp-servers', rowsMax: 1_000, columns, empty: 'There is no MCP server.' };

function pathOf(name: string): string {
  return `/mcp-servers/${encodeURIComponent(name)}`;
}

interface AddFlags extends AdminFlags {
  tokenEnv?: string;
  allow?: readonly string[];
  deny?: readonly string[];
}

/** The token comes from a variable, because the process list would show an argument. */
async function add(name: string, url: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const { tokenEnv, allow, deny } = flags;
  const token = tokenEnv === undefined ? undefined : process.env[tokenEnv]?.trim();
  if (tokenEnv !== undefined && !token) throw new CommandFailed(`The variable ${tokenEnv} holds no token.`, 2);
  const body = {
    name,
    url,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...((allow ?? deny) !== undefined && { tools: { ...(allow && { allow }), ...(deny && { deny }) } }),
  };
  const made = await adminCall(flags, parts, 'POST', '/mcp-servers', body);
  printReply(flags, made, `MCP server '${name}' is stored.`);
  return 0;
}

async function test(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const server = (await adminCall(flags, parts, 'POST', `${pathOf(name)}/test`)) as Row;
  if (listForm(flags) === 'json') printJson(server);
  else if (server.status === 'up') print(`${name}: up, with the tools ${(server.tools as string[]).join(', ')}.`);
  else print(`${name}: ${server.status}. ${server.why ?? 'No server runs that could ask it.'}`);
  return server.status === 'up' ? 0 : 1;
}

const loginLookMs = 1_000;

/** In JSON it does not wait: the address has to go on first. */
async function login(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = pathOf(name);
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
        throw new CommandFailed('Nobody came back from the authorization server in time. Begin again.');
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

async function logout(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const server = await adminCall(flags, parts, 'DELETE', `${pathOf(name)}/login`);
  printReply(flags, server, `The tokens for '${name}' are forgotten.`);
  return 0;
}

async function remove(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const gone = await adminCall(flags, parts, 'DELETE', pathOf(name));
  printReply(flags, gone, `MCP server '${name}' is removed.`);
  return 0;
}
