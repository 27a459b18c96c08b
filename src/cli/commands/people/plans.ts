import type { PlanReply } from '../../../admin/entries/plans.ts';
import { isObject, objectIn } from '../../../kernel/json.ts';
import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { calls, lists, noteWarnings, overAdmin } from '../../admin-entries.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CommandBody } from '../../command-table.ts';
import type { CliParts } from '../../parts.ts';
import { printReply } from '../../print.ts';
import { type Row, shown } from '../../rows.ts';
import { entryOrNull, jsonIn } from '../../stored-settings.ts';
import { limitsIn, modelsOf } from './keys.ts';

export const plans: CommandBody = {
  example: 'culvert plans list',
  commands: {
    list: lists({
      description: 'list plans',
      example: 'culvert plans list',
      path: '/plans',
      rowsMax: 10_000,
      columns: [
        ['plan', (plan) => plan.name],
        ['5h', (plan) => limit(objectIn(definitionIn(plan).windows)['5h'])],
        ['week', (plan) => limit(objectIn(definitionIn(plan).windows).week)],
        ['month', (plan) => limit(objectIn(definitionIn(plan).windows).month)],
        ['rpm', (plan) => limit(definitionIn(plan).rpm)],
        ['concurrency', (plan) => limit(definitionIn(plan).concurrency)],
        ['usd', (plan) => limit(budgetsIn(definitionIn(plan)).join(', ') || undefined)],
        ['models', (plan) => (shown(definitionIn(plan).models) || 'all').replace(/^off$/, 'all')],
        ['accounts', (plan) => plan.accounts],
        ['from', (plan) => (plan.default === true ? `${plan.from}, the default` : plan.from)],
      ],
      empty: 'There is no plan.',
    }),
    show: calls({
      description: 'show all limits of a plan',
      arguments: [['<name>', 'its name']],
      example: 'culvert plans show pro',
      call: 'GET /plans/{name}',
      as: 'exact',
      // As YAML, ready for culvert.yaml.
      describe: async (plan, name) => (await import('yaml')).stringify({ [name]: definitionIn(plan) }).trimEnd(),
    }),
    set: overAdmin({
      description: 'create a plan, or change limits of one; they apply at once',
      arguments: [['<name>', 'its name']],
      options: [
        [
          '--limits <list>',
          'limits to set, such as windows.month=1000,rpm=off; none removes one, after which rpm is 60',
          { read: limitsIn },
        ],
        ['--models <list>', 'models that it allows, separated by commas; all for all', { read: modelsOf }],
        ['--settings <json>', 'other settings, as under plans in culvert.yaml; null removes one'],
      ],
      example: 'culvert plans set pro --limits rpm=120,windows.month=1000,calendar_budget.month=50',
      work: () => setPlan,
    }),
    remove: calls({
      description: 'remove a plan that no account has',
      arguments: [['<name>', 'its name']],
      example: 'culvert plans remove pro',
      call: 'DELETE /plans/{name}',
      describe: (_plan, name) => `Plan '${name}' is removed.`,
    }),
  },
};

interface PlanFlags extends AdminFlags {
  limits?: Record<string, unknown>;
  models?: string[] | null;
  settings?: string;
}

/** Writes the whole plan, at the version that was read: another change meanwhile is refused, not lost. */
async function setPlan(name: string, flags: PlanFlags, parts: CliParts): Promise<number> {
  const { limits, models } = flags;
  const changes = { ...jsonIn(flags.settings, '{"tpm": 100000}'), ...limits, ...(models !== undefined && { models }) };
  if (Object.keys(changes).length === 0) throw new CommandFailed('Give --limits, --models or --settings.', 2);
  return withAdmin(flags, parts, async (admin) => {
    const path = `/plans/${encodeURIComponent(name)}`;
    const before = (await entryOrNull(admin, path)) as PlanReply | null;
    // Its notices are not shown whole, so they stay at the server.
    const { notify: _, ...known } = before?.definition ?? {};
    const keepsNotices = before !== null && !('notify' in changes);
    const query = { version: before?.version, ...(keepsNotices && { keep: 'notify' }) };
    const saved = await admin.request('PUT', path, { query, body: withChanges(known, changes) });
    noteWarnings(saved, flags);
    printReply(flags, saved, `Plan '${name}' is ${before === null ? 'created' : 'changed. Its limits apply at once'}.`);
    return 0;
  });
}

/** Objects are merged, null removes a member, and the rest replaces. */
function withChanges(before: Row, changes: Row): Row {
  const result: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    const after = isObject(value) ? withChanges(objectIn(before[name]), value) : value;
    if (after === null || (isObject(after) && Object.keys(after).length === 0)) delete result[name];
    else result[name] = after;
  }
  return result;
}

function definitionIn(plan: Row): Row {
  return objectIn(plan.definition);
}

/** `50 a month`, of its budgets in USD. */
function budgetsIn({ budget, calendar_budget }: Row): string[] {
  return [budget, calendar_budget].flatMap((amounts) =>
    Object.entries(objectIn(amounts)).flatMap(([window, usd]) => (typeof usd === 'number' ? [`${usd}/${window}`] : [])),
  );
}

function limit(value: unknown): unknown {
  return value === undefined || value === null || value === 'off' ? 'unlimited' : value;
}
