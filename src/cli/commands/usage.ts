import type { Recalculation } from '../../admin/usage/recalculate.ts';
import { partMeasures } from '../../books/metering/ledger.ts';
import { type AdminClient, type AdminFlags, type AdminQuery, withAdmin } from '../admin-client.ts';
import { overAdmin } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import { pastSpan } from '../instant-option.ts';
import { adminOptions } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson, writeOut } from '../print.ts';
import { type Column, type Row, rowTable } from '../rows.ts';
import { withKeyId } from './people/key-id.ts';
import { limitsOf, limitTable } from './people/windows.ts';
import type { ResultsFlags } from './results.ts';

interface RecalculateFlags extends AdminFlags, Partial<Record<'account' | 'model' | 'from' | 'to', string>> {
  all?: boolean;
  apply?: boolean;
}

const recalculate = overAdmin({
  description: 'recalculate the cost of past requests at current prices; without --apply, only a preview',
  options: [
    ['--account <id>', 'only requests of this account'],
    ['--model <id>', 'only requests for this model'],
    ['--from <date>', 'a date or time, or how long ago such as 7d (default: 30d)'],
    ['--to <date>', 'a date or time, or how long ago (default: now)'],
    ['--all', 'also requests that were charged at another price (default: only those without one)'],
    ['--apply', 'change them'],
  ],
  example: 'culvert usage recalculate --model smart --from 7d',
  work: () => run,
});

/** Goes on call by call: each looks at some of the span. */
async function run(flags: RecalculateFlags, parts: CliParts): Promise<number> {
  const span = pastSpan(flags);
  const requests = flags.all === true ? 'all' : 'unpriced';
  const requestBody = { account: flags.account, model: flags.model, requests, apply: flags.apply === true };
  return withAdmin(flags, parts, async (admin) => {
    const call = async (body: object) => (await admin.request('POST', '/usage/recalculate', { body })) as Recalculation;
    let sum = await call({ ...requestBody, ...span });
    for (let cursor = sum.next_cursor; cursor !== null; cursor = sum.next_cursor) {
      note(`${sum.looked_at} requests were looked at. The rest, back to ${sum.from}, follows.`);
      sum = joined(sum, await call({ ...requestBody, from: sum.from, to: sum.to, cursor }));
    }
    if (listForm(flags) === 'json') printJson(sum);
    else print(summary(sum));
    return 0;
  });
}

/** Two calls as one. */
function joined(one: Recalculation, next: Recalculation): Recalculation {
  const names = ['requests', 'unpriced_requests', 'old_usd', 'new_usd'] as const;
  const add = <Row extends Pick<Recalculation, (typeof names)[number]>>(a: Row, b: Row): Row => ({
    ...a,
    // Whole nano-USD: a sum of fractions would show dust.
    ...Object.fromEntries(names.map((name) => [name, Math.round((a[name] + b[name]) * 1e9) / 1e9])),
  });
  const targets = new Map(one.targets.map((row) => [`${row.model} ${row.target}`, row]));
  for (const row of next.targets) {
    const name = `${row.model} ${row.target}`;
    const there = targets.get(name);
    targets.set(name, there === undefined ? row : add(there, row));
  }
  return {
    ...add(one, next),
    looked_at: one.looked_at + next.looked_at,
    still_unpriced: one.still_unpriced + next.still_unpriced,
    unclear: one.unclear + next.unclear,
    targets: [...targets.values()],
    next_cursor: next.next_cursor,
  };
}

function summary(sum: Recalculation): string {
  const { applied, requests, unpriced_requests, old_usd, new_usd, still_unpriced, unclear, targets } = sum;
  const lines = [
    `${requests} of ${sum.looked_at} requests ${applied ? 'have a new cost now' : 'would have a new cost'}: $${old_usd} → $${new_usd}; ${unpriced_requests} of them had no price.`,
  ];
  if (targets.length > 0)
    lines.push(
      rowTable(targets, [
        ['model', (row) => row.model],
        ['target', (row) => row.target],
        ['requests', (row) => row.requests],
        ['USD before', (row) => row.old_usd],
        ['USD now', (row) => row.new_usd],
      ]),
    );
  if (still_unpriced > 0)
    lines.push(`${still_unpriced} still have no price: set one at their models (docs/prices.md).`);
  if (unclear > 0) lines.push(`${unclear} keep their cost: it is the sum of several calls.`);
  if (!applied && requests > 0) lines.push('Nothing was changed yet. --apply changes them.');
  return lines.join('\n');
}

export const usage: CommandBody = {
  options: [
    ['--account <id>', 'only of this account, with its windows'],
    ['--key <key>', 'only of this key, by its id or account/name'],
    ['--model <id>', 'only of requests for this model'],
    ['--provider <name>', 'only of answers of this provider'],
    ['--user <id>', 'only of requests for this end user'],
    ['--tag <tag>', 'only of requests with this tag'],
    ['--key-tag <tag>', 'only of keys with this tag'],
    [
      '--group-by <group>',
      'what the sums are grouped by',
      { choices: ['day', 'model', 'account', 'endpoint', 'user', 'tag', 'provider', 'key', 'key_tag'], default: 'day' },
    ],
    ['--order-by <measure>', 'what groups have most of that come first', { choices: partMeasures, default: 'units' }],
    ['--from <date>', 'a date or time, or how long ago such as 7d (default: 30d)'],
    ['--to <date>', 'a date or time, or how long ago (default: now)'],
    ['--csv', 'print CSV', { conflicts: 'json' }],
    ['--focus', 'print the costs of each day, provider, model and key as FOCUS 1.2 (CSV)', { conflicts: 'json' }],
    ...adminOptions,
  ],
  example: 'culvert usage --account dev --group-by model --from 7d',
  work: () => showUsage,
  commands: { recalculate },
};

interface UsageFlags
  extends ResultsFlags,
    Partial<Record<'key' | 'model' | 'provider' | 'user' | 'tag' | 'keyTag', string>> {
  groupBy: string;
  orderBy: string;
  focus?: boolean;
}

/** `culvert usage`: sums by group, and of one account its windows where the server can tell. */
async function showUsage(flags: UsageFlags, parts: CliParts): Promise<number> {
  const { account, model, provider, user, tag, keyTag: key_tag, groupBy: group_by, orderBy: order_by } = flags;
  const named = { account, model, provider, user, tag, key_tag, group_by, order_by, ...pastSpan(flags) };
  return withAdmin(flags, parts, async (admin) => {
    const query = await withKeyId(admin, { ...named, key: flags.key });
    if (flags.csv || flags.focus) {
      const { group_by, order_by, ...unsummed } = query;
      const csv = flags.csv ? admin.read('/usage.csv', query) : admin.read('/usage/focus.csv', unsummed);
      for await (const piece of csv) writeOut(piece);
      return 0;
    }
    const reply = await wholeUsage(admin, query);
    const limits = flags.account === undefined ? null : await limitsOf(admin, flags.account);
    if (listForm(flags) === 'json') printJson({ ...reply, ...(limits !== null && { limits: limits.data }) });
    else if (reply.data.length === 0) note('There was no usage in this time.');
    else print(usageTable(reply.data, flags.groupBy));
    if (listForm(flags) === 'table' && limits !== null) print(`\n${limitTable(limits)}`);
    return 0;
  });
}

interface Usage {
  data: Row[];
  next_cursor: string | null;
}

/** All of its pages: the ledger bounds how many groups there are. */
async function wholeUsage(admin: AdminClient, query: AdminQuery): Promise<Usage> {
  const first = (await admin.request('GET', '/usage', { query })) as Usage;
  const data = [...first.data];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = (await admin.request('GET', '/usage', { query: { ...query, cursor } })) as Usage;
    data.push(...page.data);
    cursor = page.next_cursor;
  }
  return { ...first, data, next_cursor: null };
}

/** The sums as people read them, with a total where there is more than one group. */
export function usageTable(groups: readonly Row[], groupBy: string): string {
  const sums = [
    'requests',
    'units',
    'input_tokens',
    'output_tokens',
    'cost_usd',
    'errors',
    'unpriced_requests',
    ...omittedNotes.map(([, of]) => of),
  ];
  const total = Object.fromEntries(
    sums.map((name) => [name, groups.reduce((sum, group) => sum + Number(group[name] ?? 0), 0)]),
  );
  const rows = groups.length < 2 ? groups : [...groups, { group: 'total', ...total }];
  return rowTable(rows, [
    [groupBy, (row) => (row.group === '' ? '(none)' : row.group)],
    ['requests', (row) => row.requests],
    // Sums of decimals: 0.1 + 0.2 is not to be read as 0.30000000000000004.
    ['units', (row) => rounded(row.units, 3)],
    ['input tokens', (row) => row.input_tokens],
    ['output tokens', (row) => row.output_tokens],
    ['USD', usdOf],
    ['errors', (row) => row.errors],
    ...omittedNotes
      .filter(([, name]) => groups.some((group) => Number(group[name] ?? 0) > 0))
      .map(([heading, name]): Column => [heading, (row) => rounded(row[name], 6)]),
  ]);
}

/** Requests whose model has no price are not $0. */
export function usdOf(row: Row): unknown {
  const usd = rounded(row.cost_usd, 6);
  const unpriced = Number(row.unpriced_requests ?? 0);
  if (unpriced === 0) return usd;
  return `${usd === 0 ? '' : `${usd} + `}${unpriced} without a price`;
}

/** Parts of the sums before them that no provider reported: columns only where there are any. */
const omittedNotes = [
  ['counted tokens', 'counted_tokens'],
  ['estimated tokens', 'estimated_tokens'],
  ['counted USD', 'counted_cost_usd'],
  ['estimated USD', 'estimated_cost_usd'],
] as const;

function rounded(value: unknown, decimals: number): unknown {
  return typeof value === 'number' ? Number(value.toFixed(decimals)) : value;
}
