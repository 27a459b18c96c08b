import { type AdminFlags, withAdmin } from '../admin-client.ts';
import type { CommandBody } from '../command-table.ts';
import { pastSpan } from '../instant-option.ts';
import { adminOptions } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson, writeOut } from '../print.ts';
import { type Column, type Row, rowTable } from '../rows.ts';

export const results: CommandBody = {
  arguments: [['<model>', 'name of a model']],
  options: [
    ['--account <id>', 'only of this account'],
    ['--from <date>', 'a date or time, or how long ago such as 7d (default: 30d)'],
    ['--to <date>', 'a date or time, or how long ago (default: now)'],
    ['--csv', 'print CSV', { conflicts: 'json' }],
    ...adminOptions,
  ],
  example: 'culvert results smart --from 7d',
  work: () => showResults,
};

export interface ResultsFlags extends AdminFlags, Partial<Record<'account' | 'from' | 'to', string>> {
  csv?: boolean;
}

interface Metric {
  metric: string;
  n: number;
  mean: number;
  interval: readonly [number, number] | null;
}

async function showResults(model: string, flags: ResultsFlags, parts: CliParts): Promise<number> {
  const query = { account: flags.account, ...pastSpan(flags) };
  const path = `/models/${encodeURIComponent(model)}/results`;
  return withAdmin(flags, parts, async (admin) => {
    if (flags.csv) {
      for await (const piece of admin.read(`${path}.csv`, query)) writeOut(piece);
      return 0;
    }
    const reply = (await admin.request('GET', path, { query })) as { variants: readonly Row[] };
    if (listForm(flags) === 'json') printJson(reply);
    else print(resultsTable(reply.variants));
    return 0;
  });
}

/** A line for each variant; each metric of the feedback is a column. */
export function resultsTable(variants: readonly Row[]): string {
  const names = new Set(variants.flatMap((row) => metricsOf(row).map(({ metric }) => metric)));
  return rowTable(variants, [
    ['variant', (row) => row.variant ?? '(none)'],
    ['weight', (row) => (row.out === null ? row.weight : 'out')],
    ['requests', (row) => row.requests],
    ['errors', (row) => withInterval(row.error_rate, row.error_rate_interval, percent)],
    ['USD', (row) => decimal(row.cost_usd)],
    ['USD a request', (row) => decimal(row.cost_usd_per_request)],
    ['first token p50', (row) => (row.first_token_ms as Row | null)?.p50],
    ['p95', (row) => (row.first_token_ms as Row | null)?.p95],
    ...[...names].map((name): Column => [name, (row) => ratings(row, name)]),
  ]);
}

function metricsOf(row: Row): readonly Metric[] {
  return row.metrics as readonly Metric[];
}

function ratings(row: Row, name: string): string {
  const ofMetric = metricsOf(row).filter(({ metric }) => metric === name);
  return ofMetric.map(({ n, mean, interval }) => `${withInterval(mean, interval, decimal)} n=${n}`).join(', ');
}

function withInterval(value: unknown, interval: unknown, shown: (value: unknown) => unknown): string {
  if (value === null) return '';
  const [low, high] = (interval ?? []) as readonly number[];
  return low === undefined ? String(shown(value)) : `${shown(value)} (${shown(low)} to ${shown(high)})`;
}

function percent(value: unknown): string {
  return `${(Number(value) * 100).toFixed(1)}%`;
}

function decimal(value: unknown): number | null {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : null;
}
