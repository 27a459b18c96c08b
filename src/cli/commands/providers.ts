import { providerTypes } from '../../formats/providers/catalog.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { calls, lists, overAdmin } from '../admin-entries.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import type { CliParts } from '../parts.ts';
import { note, printReply } from '../print.ts';
import { originOf, type Row } from '../rows.ts';
import { removesStored } from '../stored-settings.ts';
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
        ['problem', (provider) => provider.problem],
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
    remove: removesStored(
      'Provider',
      'remove a stored provider and its credentials; running requests finish',
      'culvert providers remove openai',
    ),
  },
};

interface AddFlags extends AdminFlags {
  type?: string;
  baseUrl?: string;
  keyEnv?: string;
  keyFile?: string;
  untested?: boolean;
}

async function addProvider(name: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const type = flags.type ?? name;
  const key = keyOf(type, flags);
  const provider = { type, base_url: flags.baseUrl, api_key: key ?? undefined };
  return withAdmin(flags, parts, async (admin) => {
    const tested = flags.untested === true ? null : await tryOut(admin, { name, ...provider });
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
