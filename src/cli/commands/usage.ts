import { type AdminClient, type AdminQuery, withAdmin } from '../admin-client.ts';
import type { CommandBody } from '../command-table.ts';
import { pastInstant } from '../instant-option.ts';
import { adminOptions } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson, writeOut } from '../print.ts';
import { type Column, type Row, rowTable } from '../rows.ts';
import { limitsOf, limitTable } from './people/windows.ts';
import { recalculate } from './recalculate.ts';
import type { ResultsFlags } from './results.ts';

export const usage: CommandBody = {
  options: [
    ['--account <id>', 'only of this account, with its windows'],
    [
      '--group-by <group>',
      'what the sums are grouped by',
      { choices: ['day', 'model', 'account', 'endpoint', 'user', 'provider', 'key', 'key_tag'], default: 'day' },
    ],
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

interface UsageFlags extends ResultsFlags {
  groupBy: string;
  focus?: boolean;
}

/** `culvert usage`: sums by group, and of one account its windows where the server can tell. */
async function showUsage(flags: UsageFlags, parts: CliParts): Promise<number> {
  const nowMs = Date.now();
  const query = {
    account: flags.account,
    group_by: flags.groupBy,
    from: pastInstant('--from', flags.from, nowMs),
    to: pastInstant('--to', flags.to, nowMs),
  };
  return withAdmin(flags, parts, async (admin) => {
    if (flags.csv || flags.focus) {
      const { group_by, ...unsummed } = query;
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
