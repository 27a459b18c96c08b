import type { Recalculation } from '../../admin/usage/recalculate.ts';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { overAdmin } from '../admin-entries.ts';
import { pastInstant } from '../instant-option.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { rowTable } from '../rows.ts';

interface RecalculateFlags extends AdminFlags {
  account?: string;
  model?: string;
  from?: string;
  to?: string;
  all?: boolean;
  apply?: boolean;
}

export const recalculate = overAdmin({
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
  const nowMs = Date.now();
  const span = { from: pastInstant('--from', flags.from, nowMs), to: pastInstant('--to', flags.to, nowMs) };
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
export function joined(one: Recalculation, next: Recalculation): Recalculation {
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
