import type { Command } from 'commander';
import { stringify } from 'yaml';
import { type AdminFlags, adminCall } from '../admin-client.ts';
import { adminOptions, example, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, printExact, printJson } from '../print.ts';
import { type Column, list, type Row, shown } from '../rows.ts';

/** `culvert plans …` */
export function declare(plans: Command, run: Run, parts: CliParts): void {
  plans.addHelpText('after', example('culvert plans list'));

  adminOptions(plans.command('list').description('list plans'), 'culvert plans list').action((options) =>
    run(list(options, parts, listing)),
  );

  adminOptions(
    plans.command('show').description('show all limits of a plan').argument('<name>', 'its name'),
    'culvert plans show pro',
  ).action((name, options) => run(showPlan(name, options, parts)));
}

/** `culvert plans show`: as YAML on a terminal, ready for culvert.yaml. */
async function showPlan(name: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const plan = (await adminCall(flags, parts, 'GET', `/plans/${encodeURIComponent(name)}`)) as Row;
  if (listForm(flags) === 'json') printJson(plan);
  else printExact(stringify({ [name]: definitionOf(plan) }).trimEnd());
  return 0;
}

const columns: readonly Column[] = [
  ['plan', (plan) => plan.name],
  ['5h', (plan) => limit(windowsOf(plan)['5h'])],
  ['week', (plan) => limit(windowsOf(plan).week)],
  ['month', (plan) => limit(windowsOf(plan).month)],
  ['rpm', (plan) => limit(definitionOf(plan).rpm)],
  ['concurrency', (plan) => limit(definitionOf(plan).concurrency)],
  ['models', (plan) => (shown(definitionOf(plan).models) || 'all').replace(/^off$/, 'all')],
  ['accounts', (plan) => plan.accounts],
  ['from', (plan) => (plan.default === true ? `${plan.from}, the default` : plan.from)],
];

const listing = { path: '/plans', rowsMax: 10_000, columns, empty: 'There is no plan.' };

function definitionOf({ definition }: Row): Row {
  return definition as Row;
}

function windowsOf(plan: Row): Row {
  const { windows } = definitionOf(plan);
  return typeof windows === 'object' && windows !== null ? (windows as Row) : {};
}

function limit(value: unknown): unknown {
  return value === undefined || value === null || value === 'off' ? 'unlimited' : value;
}
