import type { AccountCredit } from '../../../admin/entries/account-credit.ts';
import { culvert } from '../../../kernel/command-form.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../../admin-client.ts';
import { calls, lists, overAdmin } from '../../admin-entries.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CommandBody } from '../../command-table.ts';
import { type DataRulePatch, dataRuleForm, dataRuleIn, dataRuleOf, dataRuleWords, ruleToSet } from '../../data-rule.ts';
import { futureInstant } from '../../instant-option.ts';
import type { CliParts } from '../../parts.ts';
import { listForm, print, printJson } from '../../print.ts';
import { listRows, type Row, rowTable, rowText, shownDate, shownTime } from '../../rows.ts';
import { budgetOf, budgetText } from './account-budgets.ts';
import { type CreditFlags, checkCredit, creditText } from './account-credit.ts';
import { checkPlan, givenWords, guardsShown, keyColumns } from './keys.ts';
import { limitsOf, limitTable } from './windows.ts';

const accountsMax = 100_000;

export const accounts: CommandBody = {
  example: 'culvert accounts list',
  commands: {
    create: calls<Row, { plan?: string; name?: string; data?: DataRulePatch | null }>({
      description: 'create an account',
      arguments: [['<id>', 'its id']],
      options: [
        ['--plan <plan>', 'its plan (default: default_plan of the configuration)'],
        ['--name <name>', 'its display name (default: the id)'],
        ['--data <rule>', 'where its requests may go, such as region=eu,no-training', { read: dataRuleIn }],
      ],
      example: 'culvert accounts create acme --plan pro --name "Acme Inc."',
      check: async (admin, { plan }) => (plan === undefined ? undefined : checkPlan(admin, plan)),
      call: 'POST /accounts',
      body: ({ plan, name, data }, id) => ({ id, name: name ?? id, plan, data: ruleToSet(data) }),
      describe: (account) => rowText(account),
    }),
    list: lists({
      description: 'list accounts',
      example: 'culvert accounts list --json',
      path: '/accounts',
      rowsMax: accountsMax,
      columns: [
        ['account', (account) => account.id],
        ['name', (account) => (account.name === account.id ? '' : account.name)],
        ['plan', (account) => account.plan],
        ['status', (account) => account.status],
        ['created', (account) => shownDate(account.created_at, '')],
        ['from', (account) => account.from],
      ],
      empty: `There is no account yet: ${culvert} accounts create ID --plan P`,
      more: () => `The list stops after ${accountsMax} accounts.`,
    }),
    show: overAdmin({
      description: 'show an account, its keys and its windows',
      arguments: [['<id>', 'its id']],
      example: 'culvert accounts show acme',
      work: () => showAccount,
    }),
    suspend: setsStatus('suspended', 'refuse all calls of an account with 403', 'culvert accounts suspend acme'),
    activate: setsStatus('active', 'accept calls of an account again', 'culvert accounts activate acme'),
    guards: calls({
      description: 'show or set the guards of an account; they apply from the next request on',
      arguments: [
        ['<id>', 'its id'],
        ['[guards...]', 'names of guards, or none for those of its plan alone; omit them to show what is set'],
      ],
      example: 'culvert accounts guards acme pii',
      call: 'PATCH /accounts/{id}',
      shows: 'alone',
      body: (_flags, _id, ...words) => ({ guards: givenWords(words) }),
      describe: ({ guards }, id) => `Account '${id}' has ${guardsShown(guards)}.`,
    }),
    'extra-budget': calls<Row, ExtraBudgetFlags>({
      description: 'let an account use more than its limits allow, until a time, or show that',
      arguments: [
        ['<id>', 'its id'],
        ['[usd]', 'how much money, or none to remove the extra budget; omit all amounts to show it'],
      ],
      options: [
        ['--tokens <number>', 'how many tokens more, in each window'],
        ['--requests <number>', 'how many requests more, in each window'],
        ['--until <date>', 'a date such as 2027-01-01, or a time from now such as 5d'],
      ],
      example: 'culvert accounts extra-budget acme 50 --until 5d',
      call: 'PATCH /accounts/{id}',
      shows: 'without body',
      body: extraBudgetIn,
      describe({ extra_budget }, id) {
        const extra = extra_budget as Row | null;
        const has = extra === null ? 'no extra budget' : `${amountsShown(extra)} more until ${extra.until}`;
        return `Account '${id}' has ${has}.`;
      },
    }),
    budgets: calls({
      description: 'show or set the budgets of end users, tags and models within an account',
      arguments: [
        ['<id>', 'its id'],
        [
          '[budgets...]',
          'user=5/month (each end user, in 30 days), user:alice=20/week, tag:team-a=100/calendar-month@Europe/Berlin; none removes all; omit them to show what is set',
        ],
      ],
      example: 'culvert accounts budgets acme user=5/month tag:team-a=100/calendar-month',
      call: 'PATCH /accounts/{id}',
      shows: 'alone',
      body: (_flags, _id, ...words) => ({ budgets: givenWords(words).map(budgetOf) }),
      describe({ budgets }, id) {
        const set = (budgets as Row[]).map(budgetText).join(', ');
        return `Account '${id}' has ${set === '' ? 'no budgets within' : `the budgets ${set}`}.`;
      },
    }),
    data: calls({
      description: 'show or set the data rule of an account: where its requests may go',
      arguments: [
        ['<id>', 'its id'],
        ['[rule...]', `${dataRuleForm}, or none for that of its plan alone; omit it to show what is set`],
      ],
      example: 'culvert accounts data acme region=eu no-training',
      call: 'PATCH /accounts/{id}',
      shows: 'alone',
      body: (_flags, _id, ...words) => ({ data: ruleToSet(dataRuleOf(givenWords(words))) ?? null }),
      describe({ data }, id) {
        const rule = dataRuleWords(data).join(', ');
        return `Account '${id}' has ${rule === '' ? 'no data rule besides that of its plan' : `the data rule ${rule}`}.`;
      },
    }),
    credit: calls<AccountCredit, CreditFlags>({
      description: 'show the credit of an account, or add to it',
      arguments: [
        ['<id>', 'its id'],
        ['[usd]', 'how much to add, or to take away if below 0; omit it to show the credit'],
      ],
      options: [
        ['--note <text>', 'a note, such as who paid'],
        ['--top-up <id>', 'your id for it, such as an invoice number; the same id adds only once'],
      ],
      example: 'culvert accounts credit acme 100 --note "paid by card" --top-up inv-2027-001',
      check: async (_admin, flags, _id, usd) => checkCredit(flags, usd),
      call: 'POST /accounts/{id}/credit',
      shows: 'alone',
      body: ({ note, topUp }, _id, usd) => ({ usd: Number(usd), note, id: topUp }),
      describe: creditText,
    }),
    name: calls({
      description: 'change the display name of an account',
      arguments: [
        ['<id>', 'its id'],
        ['<name>', 'its new name'],
      ],
      example: 'culvert accounts name acme "Acme Inc."',
      call: 'PATCH /accounts/{id}',
      body: (_flags, _id, name) => ({ name }),
      describe: (_account, id, _flags, _id, name) => `Account '${id}' is called '${name}'.`,
    }),
    plan: calls({
      description: 'change the plan of an account; it applies to its windows at once',
      arguments: [
        ['<id>', 'its id'],
        ['<plan>', 'its new plan'],
      ],
      example: 'culvert accounts plan acme pro',
      call: 'PATCH /accounts/{id}',
      check: (admin, _flags, _id, plan = '') => checkPlan(admin, plan),
      body: (_flags, _id, plan) => ({ plan }),
      describe: (_account, id, _flags, _id, plan) => `Account '${id}' has plan '${plan}'.`,
    }),
  },
};

function setsStatus(status: 'suspended' | 'active', description: string, example: string) {
  return calls({
    description,
    arguments: [['<id>', 'its id']],
    example,
    call: 'PATCH /accounts/{id}',
    body: () => ({ status }),
    describe: (_account, id) => `Account '${id}' is ${status}.`,
  });
}

const keysShownMax = 1_000;

type ExtraBudgetFlags = Partial<Record<'until' | 'tokens' | 'requests', string>>;

function extraBudgetIn({ until, tokens, requests }: ExtraBudgetFlags, _id: string, usd: string | undefined) {
  const isRemoved = usd === 'none';
  const named = { usd: isRemoved ? undefined : usd, tokens, requests };
  const given = Object.entries(named).filter(([, amount]) => amount !== undefined);
  if ((given.length === 0) !== (until === undefined) || (isRemoved && given.length > 0)) {
    const ways = 'an amount and --until, none to remove the extra budget, or neither to see it';
    throw new CommandFailed(`Give ${ways}.`, 2);
  }
  const amounts = Object.fromEntries(given.map(([name, amount]) => [name, Number(amount)]));
  const end = futureInstant('--until', until, Date.now());
  if (end === undefined) return isRemoved ? { extra_budget: null } : undefined;
  return { extra_budget: { ...amounts, until: end } };
}

/** `culvert accounts show`: the account, its keys, and how full its windows are where the server can tell. */
async function showAccount(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const account = (await admin.request('GET', `/accounts/${encodeURIComponent(id)}`)) as Row;
    const { rows: keys } = await listRows(admin, '/keys', { account: id }, keysShownMax);
    const limits = await limitsOf(admin, id);
    if (listForm(flags) === 'json') {
      const windows = await unitWindows(admin, id);
      printJson({ ...account, keys, ...windows, ...(limits !== null && { limits: limits.data }) });
      return 0;
    }
    print(rowText({ ...account, extra_budget: extraShown(account.extra_budget) }));
    if (limits !== null) print(`\n${limitTable(limits)}`);
    print(keys.length === 0 ? '\nIt has no key.' : `\n${rowTable(keys, keyColumns)}`);
    return 0;
  });
}

/** `100 USD, 5000 tokens` */
function amountsShown({ usd, tokens, requests }: Row): string {
  const shown = { USD: usd, tokens, requests };
  return Object.entries(shown)
    .flatMap(([unit, amount]) => (amount === undefined ? [] : [`${amount} ${unit}`]))
    .join(', ');
}

/** `100 USD until 2026-11-30 22:20:07`; null: it has none. */
function extraShown(extra: unknown): string | null {
  if (typeof extra !== 'object' || extra === null) return null;
  return `${amountsShown(extra as Row)} until ${shownTime((extra as Row).until)}`;
}

/** The windows of units, as usage answers have them; {} where nobody counts. */
async function unitWindows(admin: AdminClient, account: string): Promise<{ windows?: unknown }> {
  const query = { account, group_by: 'day' };
  const { windows } = (await admin.request('GET', '/usage', { query })) as { windows?: unknown };
  return windows === undefined ? {} : { windows };
}
