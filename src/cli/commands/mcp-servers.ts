import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { adminOptions, example, listOf, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printExact, printJson } from '../print.ts';
import { type Column, listRows, printRows, type Row } from '../rows.ts';

/** `culvert mcp-servers …` */
export function declare(servers: Command, run: Run, parts: CliParts): void {
  servers.addHelpText('after', example('culvert mcp-servers list'));

  adminOptions(servers.command('list').description('list MCP servers with their origin and their health'))
    .addHelpText('after', example('culvert mcp-servers list'))
    .action((options) => run(list(options, parts)));

  adminOptions(
    servers
      .command('add')
      .description('store an MCP server with a URL; every replica offers its tools at once')
      .argument('<name>', 'what stands before the names of its tools')
      .argument('<address>', 'its URL')
      .option('--token-env <variable>', 'variable whose value is sent as `Authorization: Bearer …`')
      .option('--allow <tools>', 'tools that are offered; * stands for any characters', listOf('search,read_*'))
      .option('--deny <tools>', 'tools that are not offered', listOf('delete_*')),
  )
    .addHelpText('after', example('culvert mcp-servers add tickets https://tickets.example.org/mcp'))
    .action((name, address, options) => run(add(name, address, options, parts)));

  adminOptions(
    servers.command('test').description('ask an MCP server for its tools now').argument('<name>', 'its name'),
  )
    .addHelpText('after', example('culvert mcp-servers test tickets'))
    .action((name, options) => run(test(name, options, parts)));

  adminOptions(
    servers
      .command('login')
      .description('log in at an MCP server by OAuth: print the address for a browser, and wait until it is done')
      .argument('<name>', 'its name'),
  )
    .addHelpText('after', example('culvert mcp-servers login tickets'))
    .action((name, options) => run(login(name, options, parts)));

  adminOptions(
    servers
      .command('logout')
      .description('forget the tokens of the last login at an MCP server')
      .argument('<name>', 'its name'),
  )
    .addHelpText('after', example('culvert mcp-servers logout tickets'))
    .action((name, options) => run(logout(name, options, parts)));

  adminOptions(
    servers
      .command('remove')
      .description('remove a stored MCP server; its sessions end')
      .argument('<name>', 'its name'),
  )
    .addHelpText('after', example('culvert mcp-servers remove tickets'))
    .action((name, options) => run(remove(name, options, parts)));
}

const serversMax = 1_000;

const columns: readonly Column[] = [
  ['server', ({ name }) => name],
  ['from', ({ source, shadowed }) => (shadowed === true ? `${source} (over a stored one)` : source)],
  ['status', ({ status }) => status],
  ['tools', ({ tools }) => (tools as string[]).length],
  ['address', ({ url, transport }) => url ?? transport],
  ['problem', ({ problem, why }) => problem ?? why],
];

async function list(flags: AdminFlags, parts: CliParts): Promise<number> {
  const { rows } = await withAdmin(flags, parts, (admin) => listRows(admin, '/mcp-servers', {}, serversMax));
  printRows(flags, rows, columns, 'There is no MCP server.');
  return 0;
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
  const made = await withAdmin(flags, parts, (admin) => admin.request('POST', '/mcp-servers', { body }));
  if (listForm(flags) === 'json') printJson(made);
  else print(`MCP server '${name}' is stored.`);
  return 0;
}

async function test(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/mcp-servers/${encodeURIComponent(name)}/test`;
  const server = (await withAdmin(flags, parts, (admin) => admin.request('POST', path))) as Row;
  if (listForm(flags) === 'json') printJson(server);
  else if (server.status === 'up') print(`${name}: up, with the tools ${(server.tools as string[]).join(', ')}.`);
  else print(`${name}: ${server.status}. ${server.why ?? 'No server runs that could ask it.'}`);
  return server.status === 'up' ? 0 : 1;
}

const loginLookMs = 1_000;

/** In JSON it does not wait: the address has to go on first. */
async function login(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/mcp-servers/${encodeURIComponent(name)}`;
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
  const path = `/mcp-servers/${encodeURIComponent(name)}/login`;
  const server = await withAdmin(flags, parts, (admin) => admin.request('DELETE', path));
  if (listForm(flags) === 'json') printJson(server);
  else print(`The tokens for '${name}' are forgotten.`);
  return 0;
}

async function remove(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/mcp-servers/${encodeURIComponent(name)}`;
  const gone = await withAdmin(flags, parts, (admin) => admin.request('DELETE', path));
  if (listForm(flags) === 'json') printJson(gone);
  else print(`MCP server '${name}' is removed.`);
  return 0;
}
