import { providerTypes } from '../../formats/providers/catalog.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { calls, lists, overAdmin } from '../admin-entries.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import type { CliParts } from '../parts.ts';
import { note, printReply } from '../print.ts';
import { originOf, type Row } from '../rows.ts';
import { changesSettings, removesStored } from '../stored-settings.ts';
import { readText } from '../whole-file.ts';

export const providers: CommandBody = {
  example: 'culvert providers list',
  commands: {
    list: lists({
      description: 'list providers with their origin and their health',
      example: 'culvert providers list',
      path: '/providers',
      rowsMax: 10_000,
      columns: [
        ['provider', (provider) => provider.name],
        ['type', (provider) => provider.type],
        ['from', originOf],
        ['status', (provider) => provider.status],
        ['base url', (provider) => provider.base_url],
        ['keys', (provider) => (provider.credentials as Row[]).flatMap(({ hint }) => (hint === null ? [] : [hint]))],
        ['problem', (provider) => provider.problem ?? closedBecause(provider)],
      ],
      empty: 'There is no provider.',
    }),
    add: overAdmin({
      description: 'test a provider with its key, then store it; every replica uses it at once',
      arguments: [['<name>', 'the name that targets use']],
      options: [
        ['--type <type>', 'its type (default: its name)'],
        ['--base-url <url>', 'where it is, if not at the address of its type'],
        ['--key-env <variable>', 'variable that holds its key (default: that of its type, such as OPENAI_API_KEY)'],
        ['--key-file <file>', 'file that holds its key; - reads standard input'],
        ['--untested', 'store it without a test'],
      ],
      example: 'OPENAI_API_KEY=… culvert providers add openai',
      work: () => addProvider,
    }),
    rotate: overAdmin({
      description: 'test a new key of a stored provider, then use it instead of the keys stored before',
      arguments: [['<name>', 'its name']],
      options: [
        ['--key-env <variable>', 'variable that holds the new key (default: that of its type, such as OPENAI_API_KEY)'],
        ['--key-file <file>', 'file that holds the new key; - reads standard input'],
        ['--untested', 'store it without a test'],
      ],
      example: 'OPENAI_API_KEY=… culvert providers rotate openai',
      work: () => rotateKey,
    }),
    test: calls<{ ok: boolean; data: Row[] }>({
      description: 'ask a provider for its models now, with each credential; costs no tokens',
      arguments: [['<name>', 'its name']],
      example: 'culvert providers test openai',
      call: 'POST /providers/{name}/test',
      describe: ({ data }) =>
        data.map(
          ({ credential, verdict, message, models, ms }) =>
            `${credential}: ${verdict === 'ok' ? `${models} models in ${ms} ms` : `${verdict}: ${message}`}`,
        ),
      ok: ({ ok }) => ok,
    }),
    change: changesSettings('Provider', `culvert providers change openai --settings '{"timeouts":{"idle":"1m"}}'`),
    remove: removesStored(
      'Provider',
      'remove a stored provider and its credentials; running requests finish',
      'culvert providers remove openai',
    ),
  },
};

/** Causes for which its credentials are not asked now. */
function closedBecause({ credentials, unheard }: Row): string {
  const lanes = (credentials as Row[]).flatMap((credential) => credential.lanes as Row[]);
  const whys = lanes.flatMap(({ state, why }) => (state === 'ready' || why === null ? [] : [why]));
  return [...new Set([...(unheard === true ? ['its models could not be read'] : []), ...whys])].join(', ');
}

interface AddFlags extends AdminFlags, Partial<Record<'type' | 'baseUrl' | 'keyEnv' | 'keyFile', string>> {
  untested?: boolean;
}

async function addProvider(name: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const type = flags.type ?? name;
  const key = keyOf(type, flags);
  const provider = { type, base_url: flags.baseUrl, api_key: key ?? undefined };
  return withAdmin(flags, parts, async (admin) => {
    const tested = flags.untested === true ? null : await tryOut(admin, '/providers/test', { name, ...provider });
    const made = await admin.request('POST', '/providers', { body: { name, ...provider } });
    printReply(flags, made, `Provider '${name}' is stored${tested === null ? '' : `; it lists ${tested} models`}.`);
    return 0;
  });
}

interface StoredProvider {
  type: string;
  definition: object | null;
  credentials: readonly { id: string; made_at: string | null }[];
  version: number;
}

/** The new key is in use before the earlier ones go, so no request is without one. */
async function rotateKey(name: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const address = `/providers/${encodeURIComponent(name)}`;
  return withAdmin(flags, parts, async (admin) => {
    const before = (await admin.request('GET', address)) as StoredProvider;
    const api_key = keyOf(before.type, flags);
    if (api_key === null) throw new CommandFailed('Name the new key by --key-env or --key-file.', 2);
    // The server refuses a credential of a provider of the configuration file.
    const credentials = `${address}/credentials`;
    if (before.definition !== null && flags.untested !== true) await tryOut(admin, `${credentials}/test`, { api_key });
    let now = (await admin.request('POST', credentials, { body: { api_key } })) as StoredProvider;
    const earlier = before.credentials.filter(({ made_at }) => made_at !== null).map(({ id }) => id);
    for (const id of earlier) {
      const path = `${credentials}/${encodeURIComponent(id.slice(name.length + 1))}`;
      now = (await admin.request('DELETE', path, { query: { version: now.version } })) as StoredProvider;
    }
    printReply(flags, now, `Provider '${name}' has a new key. ${earlier.length} stored before it are no longer used.`);
    return 0;
  });
}

/** How many models it lists. */
async function tryOut(admin: AdminClient, path: string, body: Record<string, unknown>): Promise<number> {
  const { ok, verdict, message, models } = (await admin.request('POST', path, { body })) as {
    ok: boolean;
    verdict: string;
    message: string;
    models: readonly unknown[];
  };
  if (ok) return models.length;
  throw new CommandFailed(`Nothing was stored (${verdict}): ${message}. --untested stores it without a test.`);
}

/** The key comes from a file or a variable, because the process list would show an argument. */
function keyOf(type: string, { keyEnv, keyFile }: AddFlags): string | null {
  if (keyFile !== undefined) {
    const key = readText(keyFile).trim();
    if (key !== '') return key;
    throw new CommandFailed(`${keyFile} holds no key.`, 2);
  }
  const variable = keyEnv ?? providerTypes.get(type)?.envKey ?? null;
  const key = variable === null ? undefined : process.env[variable]?.trim();
  if (key) return key;
  if (keyEnv !== undefined) throw new CommandFailed(`The variable ${keyEnv} holds no key.`, 2);
  if (variable !== null) note(`${variable} is not set, so the provider is tried without a key.`);
  return null;
}
