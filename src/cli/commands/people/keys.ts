import { InvalidArgumentError } from 'commander';
import type { KeyAddresses } from '../../../admin/entries/key-addresses.ts';
import { parseDurationMs } from '../../../config/scalars.ts';
import { culvert } from '../../../kernel/command-form.ts';
import { didYouMean } from '../../../kernel/nearest.ts';
import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from '../../admin-client.ts';
import { calls, lists, noteWarnings, overAdmin } from '../../admin-entries.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CommandBody } from '../../command-table.ts';
import { type DataRulePatch, dataRuleIn, ruleToSet } from '../../data-rule.ts';
import { futureInstant } from '../../instant-option.ts';
import { listOf } from '../../options.ts';
import type { CliParts } from '../../parts.ts';
import { printSecret } from '../../print.ts';
import { type Column, listRows, type Row, rowTable, shown, shownDate, shownTime } from '../../rows.ts';
import { entryOrNull } from '../../stored-settings.ts';
import { keyIdOf, keysMax } from './key-id.ts';

export const keyColumns: readonly Column[] = [
  ['account', (key) => key.account],
  ['name', (key) => key.name],
  ['id', (key) => key.id],
  ['plan', (key) => key.plan],
  ['models', (key) => (key.models === null ? 'all' : key.models)],
  ['ips', (key) => (shown(key.ips) === '' ? 'any' : key.ips), 'any'],
  ['tags', (key) => key.tags, ''],
  ['expires', (key) => shownDate(key.expires, 'never'), 'never'],
  ['status', (key) => key.status],
  ['from', (key) => key.from, 'admin api'],
];

/** Values parted by commas; null for the word that means all of them. */
function listOrAll(all: string, such: string): (text: string) => string[] | null {
  const read = listOf(such);
  return (text) => (text === all ? null : read(text));
}

export const modelsOf = listOrAll('all', 'smart,claude-*');
const ipsOf = listOrAll('any', '10.0.0.0/8,192.0.2.7');
const tagsOf = (text: string) => (text === 'none' ? [] : listOf('team-a,production')(text));
const guardsOf = (text: string) => (text === 'none' ? [] : listOf('pii,no-secrets')(text));

const ofKey = { arguments: [['<key>', 'its id or account/name']], idOf: keyIdOf } as const;

export const keys: CommandBody = {
  example: 'culvert keys list',
  commands: {
    create: overAdmin({
      description: 'create a key; its secret is printed once, alone on standard output',
      options: [
        ['--account <id>', 'account that pays; it is created if it does not exist', { needed: true }],
        ['--name <name>', 'what the key is for', { needed: true }],
        ['--plan <plan>', 'plan of a new account (default: default_plan of the configuration)'],
        ['--expires <date>', 'a date such as 2027-01-01, or a time from now such as 90d (default: never)'],
        [
          '--models <list>',
          'models it may use, separated by commas; * matches any characters',
          { read: listOf('smart,claude-*') },
        ],
        [
          '--ips <list>',
          'addresses and networks it may be used from, separated by commas',
          { read: listOf('10.0.0.0/8,192.0.2.7') },
        ],
        ['--limits <list>', 'limits of this key, such as budget.month=50,rpm=10', { read: limitsIn }],
        ['--guards <names>', 'guards of its requests', { read: listOf('pii,no-secrets') }],
        [
          '--tags <list>',
          'tags such as its team, to find it and to group usage by',
          { read: listOf('team-a,production') },
        ],
        ['--data <rule>', 'where its requests may go, such as region=eu,no-training', { read: dataRuleIn }],
        ['--share-vectors-with <key>', 'key of the same account (id or account/name) whose vector data it shares'],
      ],
      example: "KEY=$(culvert keys create --account dev --name laptop --models 'smart,claude-*')",
      work: () => createKey,
    }),
    list: lists<{ account?: string; status?: string; tag?: string }>({
      description: 'list keys, without secrets',
      options: [
        ['--account <id>', 'only of this account'],
        ['--tag <tag>', 'only keys with this tag'],
        ['--status <status>', 'only keys with this status', { choices: ['active', 'expired', 'suspended', 'revoked'] }],
      ],
      example: 'culvert keys list --account dev',
      path: '/keys',
      query: ({ account, status, tag }) => ({ account, status, tag }),
      rowsMax: keysMax,
      columns: keyColumns,
      empty: `There is no key yet: ${culvert} keys create --account A --name N`,
      more: () => `The list stops after ${keysMax} keys. --account narrows it.`,
    }),
    show: overAdmin({
      description: 'show a key, how full its limits are, and those of its plan',
      arguments: [['<key>', 'its id or account/name']],
      example: 'culvert keys show dev/laptop',
      work: async () => (await import('./key-show.ts')).showKey,
    }),
    change: calls<Row, KeyChangeFlags>({
      description: 'change the name, expiry, models, addresses, limits, guards, tags or data rule of a key',
      ...ofKey,
      options: [
        ['--name <name>', 'another name; it keeps its usage and its vector data'],
        ['--expires <date>', 'a date such as 2027-01-01, a time from now such as 90d, or never'],
        ['--models <list>', 'models it may use, separated by commas; all for those of its plan', { read: modelsOf }],
        ['--ips <list>', 'addresses and networks it may be used from; any for all', { read: ipsOf }],
        ['--limits <list>', 'limits of this key to set, such as budget.month=50; none removes one', { read: limitsIn }],
        ['--guards <names>', 'guards of its requests; none for none', { read: guardsOf }],
        ['--tags <list>', 'tags such as its team; none for none', { read: tagsOf }],
        [
          '--data <rule>',
          'where its requests may go, such as region=eu,no-training; none removes it',
          { read: dataRuleIn },
        ],
      ],
      example: 'culvert keys change dev/laptop --limits budget.month=50,rpm=none --expires 90d',
      call: 'PATCH /keys/{key}',
      body: changesOf,
      describe: (_key, id) => `Key '${id}' was changed. Every server applies it within a second.`,
    }),
    addresses: calls<KeyAddresses>({
      description: 'list the addresses that a key was last used from',
      ...ofKey,
      example: 'culvert keys addresses dev/laptop',
      call: 'GET /keys/{key}/addresses',
      describe: ({ data }, id) =>
        data.length === 0
          ? `No address is known for key '${id}'.`
          : rowTable(data, [
              ['address', ({ address }) => address],
              ['requests', ({ requests }) => requests],
              ['first used', ({ first_used_at }) => shownTime(first_used_at)],
              ['last used', ({ last_used_at }) => shownTime(last_used_at)],
            ]),
    }),
    guards: calls({
      description: 'show or set the guards of a key; they apply from the next request on',
      arguments: [
        ['<key>', 'its id or account/name'],
        [
          '[guards...]',
          'names of guards, or none for those of its account and plan alone; omit them to show what is set',
        ],
      ],
      example: 'culvert keys guards dev/laptop pii no-secrets',
      idOf: keyIdOf,
      call: 'PATCH /keys/{key}',
      shows: 'alone',
      body: (_flags, _key, ...words) => ({ guards: givenWords(words) }),
      describe: ({ guards }, id) => `Key '${id}' has ${guardsShown(guards)}.`,
    }),
    rotate: calls<Row, { grace: string }>({
      description: 'give a key a new secret, printed once; the old secret works for a while',
      ...ofKey,
      options: [['--grace <time>', 'how long the old secret still works; 0s ends it at once', { default: '24h' }]],
      example: 'NEW=$(culvert keys rotate dev/laptop --grace 24h)',
      call: 'POST /keys/{key}/rotate',
      body({ grace }) {
        graceMsOf(grace);
        return { grace };
      },
      describe(_rotated, id, { grace }) {
        const until = graceMsOf(grace) === 0 ? 'no longer works' : `works for another ${grace}`;
        return `Key '${id}' has a new secret, shown only once. The old one ${until}:`;
      },
      as: 'secret',
    }),
    revoke: calls({
      description: 'revoke a key permanently; one of the configuration is blocked',
      ...ofKey,
      example: 'culvert keys revoke dev/laptop',
      call: 'POST /keys/{key}/revoke',
      body: () => ({}),
      describe: (_key, id) => `Key '${id}' is revoked. New calls are refused within a second, and running ones finish.`,
      as: 'note',
    }),
    restore: calls({
      description: 'lift the block of a key of the configuration',
      ...ofKey,
      example: 'culvert keys restore dev/laptop',
      call: 'POST /keys/{key}/restore',
      body: () => ({}),
      describe: (_key, id) => `Key '${id}' works again within a second.`,
      as: 'note',
    }),
  },
};

interface KeyFlags extends AdminFlags {
  expires?: string;
  limits?: Record<string, unknown>;
  guards?: string[];
  tags?: string[];
  data?: DataRulePatch | null;
}

interface KeyChangeFlags extends KeyFlags {
  name?: string;
  models?: string[] | null;
  ips?: string[] | null;
}

/** `soft.budget.month=50,rpm=none` as the admin API merges it: `{soft: {budget: {month: 50}}, rpm: null}`. */
export function limitsIn(text: string): Record<string, unknown> {
  const limits: Record<string, unknown> = {};
  for (const one of listOf('budget.month=50,rpm=none')(text)) {
    const [, name = '', value = ''] = /^([a-z0-9_]+(?:\.[a-z0-9_]+){0,2})=(.+)$/.exec(one) ?? [];
    if (name === '') throw new InvalidArgumentError('Name limits such as budget.month=50,rpm=none.');
    const amount = value === 'none' ? null : Number.isNaN(Number(value)) ? value : Number(value);
    const path = name.split('.');
    let place = limits;
    for (const part of path.slice(0, -1)) {
      place[part] ??= {};
      place = place[part] as Record<string, unknown>;
    }
    place[path.at(-1) ?? ''] = amount;
  }
  return limits;
}

function changesOf(flags: KeyChangeFlags): Row {
  const { name, models, ips, guards, tags, data } = flags;
  if ([name, flags.expires, models, ips, flags.limits, guards, tags, data].every((one) => one === undefined)) {
    throw new CommandFailed(
      `Give at least one option that says what changes; ${culvert} keys change --help lists them.`,
      2,
    );
  }
  const limits = data === undefined ? flags.limits : { ...flags.limits, data };
  const expires = flags.expires === 'never' ? null : futureInstant('--expires', flags.expires, Date.now());
  return { name, expires, models, ips, limits, guards, tags };
}

interface KeysCreateFlags extends KeyFlags {
  account: string;
  name: string;
  plan?: string;
  models?: string[];
  ips?: string[];
  shareVectorsWith?: string;
}

/**
 * `culvert keys create`: the account too if there is none of that name. The secret is alone on stdout, so that
 * `KEY=$(culvert keys create …)` takes it.
 */
async function createKey(flags: KeysCreateFlags, parts: CliParts): Promise<number> {
  const { account, name } = flags;
  const expires = futureInstant('--expires', flags.expires, Date.now());
  return withAdmin(flags, parts, async (admin) => {
    const found = await accountOf(admin, account, flags.plan);
    const shared = flags.shareVectorsWith;
    const { models, ips, guards, tags } = flags;
    const data = ruleToSet(flags.data);
    const limits = data === undefined ? flags.limits : { ...flags.limits, data };
    const body = { account, name, expires, models, ips, limits, guards, tags, share_vectors_with: shared };
    const create = async () => (await admin.request('POST', '/keys', { body })) as Row;
    const made = found === null ? await createWithAccount(admin, account, flags.plan, create) : await create();
    const owner = `${found === null ? 'the new account' : 'account'} '${account}'`;
    const sentence = `Key '${name}' of ${owner}, plan '${made.plan}'. The secret is shown only once:`;
    noteWarnings(made, flags);
    await printSecret(flags, made, sentence, async () => {
      await admin.request('POST', `/keys/${String(made.id)}/revoke`, { body: {} });
      return 'Nobody has the secret, so the key was revoked.';
    });
    return 0;
  });
}

/** Null when there is no such account. Refuses one whose plan is another than the one asked for. */
async function accountOf(admin: AdminClient, id: string, plan: string | undefined): Promise<Row | null> {
  if (plan !== undefined) await checkPlan(admin, plan);
  const account = await entryOrNull(admin, `/accounts/${encodeURIComponent(id)}`);
  if (account === null || plan === undefined || account.plan === plan) return account;
  throw new CommandFailed(`Account '${id}' has plan '${account.plan}'. A new key does not change the plan.`);
}

/** The key's fields are checked first, so that no account is made when they are wrong. */
async function createWithAccount(
  admin: AdminClient,
  id: string,
  plan: string | undefined,
  create: () => Promise<Row>,
): Promise<Row> {
  let refused: AdminRefused;
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof AdminRefused) || error.param !== 'account') throw error;
    refused = error;
  }
  try {
    await admin.request('POST', '/accounts', { body: { id, name: id, ...(plan !== undefined && { plan }) } });
  } catch (error) {
    // The key's check has already reported a bad account id in its own words.
    throw error instanceof AdminRefused && error.param === 'id' ? refused : error;
  }
  return create();
}

const plansMax = 10_000;

/** Refuses a plan that is none, and says which was probably meant. */
export async function checkPlan(admin: AdminClient, named: string): Promise<void> {
  const plans = (await listRows(admin, '/plans', {}, plansMax)).rows.map(({ name }) => String(name));
  if (plans.includes(named)) return;
  throw new CommandFailed(`There is no plan '${named}'${didYouMean(named, plans)}. Plans: ${plans.join(', ')}.`);
}

/** Time that an old secret still works. */
function graceMsOf(text: string): number {
  const ms = text === '0' ? 0 : parseDurationMs(text);
  if (ms === undefined) throw new CommandFailed('--grace: expected a time such as 24h, or 0s', 2);
  return ms;
}

/** `the guards pii, no-secrets` */
export function guardsShown(guards: unknown): string {
  return shown(guards) === '' ? 'no guards' : `the guards ${(guards as string[]).join(', ')}`;
}

/** The words of an argument that may come several times; the word `none` alone means an empty list. */
export function givenWords(given: readonly (string | readonly string[])[]): string[] {
  const words = given.flat();
  return words.length === 1 && words[0] === 'none' ? [] : words;
}
