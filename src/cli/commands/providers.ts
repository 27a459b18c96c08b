import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { providerTypes } from '../../inference/providers/catalog.ts';
import { type AdminClient, type AdminFlags, adminCall, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { adminOptions, example, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson, printReply } from '../print.ts';
import { type Column, list, originOf, type Row } from '../rows.ts';

/** `culvert providers …` */
export function declare(providers: Command, run: Run, parts: CliParts): void {
  providers.addHelpText('after', example('culvert providers list'));

  adminOptions(
    providers.command('list').description('list providers with their origin and their health'),
    'culvert providers list',
  ).action((options) => run(list(options, parts, listing)));

  adminOptions(
    providers
      .command('add')
      .description('test a provider with its key, then store it; every replica uses it at once')
      .argument('<name>', 'the name that targets use')
      .option('--type <type>', 'its type (default: its name)')
      .option('--base-url <url>', 'where it is, if not at the address of its type')
      .option('--key-env <variable>', 'variable that holds its key (default: that of its type, such as OPENAI_API_KEY)')
      .option('--key-file <file>', 'file that holds its key; - reads standard input')
      .option('--untested', 'store it without a test'),
    'OPENAI_API_KEY=… culvert providers add openai',
  ).action((name, options) => run(addProvider(name, options, parts)));

  adminOptions(
    providers
      .command('test')
      .description('ask a provider for its models now, with each credential; costs no tokens')
      .argument('<name>', 'its name'),
    'culvert providers test openai',
  ).action((name, options) => run(testProvider(name, options, parts)));

  adminOptions(
    providers
      .command('remove')
      .description('remove a stored provider and its credentials; running requests finish')
      .argument('<name>', 'its name'),
    'culvert providers remove openai',
  ).action((name, options) => run(removeProvider(name, options, parts)));
}

const columns: readonly Column[] = [
  ['provider', (provider) => provider.name],
  ['type', (provider) => provider.type],
  ['from', originOf],
  ['status', (provider) => provider.status],
  ['base url', (provider) => provider.base_url],
  ['keys', (provider) => (provider.credentials as Row[]).flatMap(({ hint }) => (hint === null ? [] : [hint]))],
  ['problem', (provider) => provider.problem],
];

const listing = { path: '/providers', rowsMax: 10_000, columns, empty: 'There is no provider.' };

interface AddFlags extends AdminFlags {
  type?: string;
  baseUrl?: string;
  keyEnv?: string;
  keyFile?: string;
  untested?: boolean;
}

/** `culvert providers add` */
async function addProvider(name: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const type = flags.type ?? name;
  const key = keyOf(type, flags);
  const provider = {
    type,
    ...(flags.baseUrl !== undefined && { base_url: flags.baseUrl }),
    ...(key !== null && { api_key: key }),
  };
  return withAdmin(flags, parts, async (admin) => {
    const tested = flags.untested === true ? null : await tryOut(admin, provider);
    const made = await admin.request('POST', '/providers', { body: { name, ...provider } });
    printReply(flags, made, `Provider '${name}' is stored${tested === null ? '' : `; it lists ${tested} models`}.`);
    return 0;
  });
}

/** How many models it lists. */
async function tryOut(admin: AdminClient, provider: Record<string, unknown>): Promise<number> {
  const { ok, verdict, message, models } = (await admin.request('POST', '/providers/test', { body: provider })) as {
    ok: boolean;
    verdict: string;
    message: string;
    models: readonly unknown[];
  };
  if (ok) return models.length;
  throw new CommandFailed(`The provider was not stored (${verdict}): ${message}. --untested stores it without a test.`);
}

/** The key comes from a file or a variable, because the process list would show an argument. */
function keyOf(type: string, { keyEnv, keyFile }: AddFlags): string | null {
  if (keyFile !== undefined) return readKey(keyFile);
  const variable = keyEnv ?? providerTypes.get(type)?.envKey ?? null;
  const key = variable === null ? undefined : process.env[variable]?.trim();
  if (key) return key;
  if (keyEnv !== undefined) throw new CommandFailed(`The variable ${keyEnv} holds no key.`, 2);
  if (variable !== null) note(`${variable} is not set, so the provider is tried without a key.`);
  return null;
}

function readKey(file: string): string {
  try {
    const key = readFileSync(file === '-' ? 0 : file, 'utf8').trim();
    if (key !== '') return key;
  } catch (error) {
    throw new CommandFailed(`The key cannot be read from ${file}: ${(error as Error).message}`, 2);
  }
  throw new CommandFailed(`${file} holds no key.`, 2);
}

/** `culvert providers test` */
async function testProvider(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/providers/${encodeURIComponent(name)}/test`;
  const reply = (await adminCall(flags, parts, 'POST', path)) as { ok: boolean; data: Row[] };
  if (listForm(flags) === 'json') printJson(reply);
  else {
    for (const { credential, verdict, message, models, ms } of reply.data) {
      print(`${credential}: ${verdict === 'ok' ? `${models} models in ${ms} ms` : `${verdict}: ${message}`}`);
    }
  }
  return reply.ok ? 0 : 1;
}

/** `culvert providers remove` */
async function removeProvider(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/providers/${encodeURIComponent(name)}`;
  printReply(flags, await adminCall(flags, parts, 'DELETE', path), `Provider '${name}' is removed.`);
  return 0;
}
