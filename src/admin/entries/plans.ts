import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isoOrNull } from '../../books/auth/key-facts.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { checkPlan } from '../../config/cross-check-plans.ts';
import { formatPath } from '../../config/problem.ts';
import { redactPart } from '../../config/redact.ts';
import { name } from '../../config/scalars.ts';
import { planSchema } from '../../config/schema/schema-plans.ts';
import { forbidden, invalid } from '../../kernel/failure.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { Directory, KnownPlan, Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { idleSettings, warningsField } from '../idle-settings.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { notAllowed, rolesThatMay } from '../roles.ts';
import { declaredConflict } from './accounts.ts';
import {
  checkContentVersion,
  contentVersion,
  contentVersionField,
  knownContentVersion,
  refuseChanged,
} from './content-version.ts';
import { entryOperations } from './entry-operations.ts';

const planReply = z.object({
  name: z.string(),
  from: z
    .enum(['configuration', 'admin api', 'built-in'])
    .describe(
      'Plans of the configuration are changed there. built-in: the `default` plan that exists without being written.',
    ),
  default: z.boolean().describe('Whether accounts without a plan have this one.'),
  accounts: z.int().describe('Number of accounts that have it.'),
  updated_at: timeField.nullable(),
  version: contentVersionField,
  definition: z.record(z.string(), z.unknown()).describe('As under `plans` in culvert.yaml, without secrets.'),
  warnings: warningsField,
});

/** For pages that show it. */
export type PlanReply = z.output<typeof planReply>;
type ShownPlan = z.input<typeof planReply>;

const putQuery = z.strictObject({
  version: knownContentVersion,
  keep: z
    .literal('notify')
    .optional()
    .describe(
      'Keeps the notices as they are. Their address and secret are not shown, so a client cannot send them back.',
    ),
});

type PlanBody = z.output<typeof planSchema>;

/** `/plans`: limits by name. */
export function planOperations(parts: AdminParts, records: Records): Operation[] {
  const entries = entryOperations({ path: '/plans', named: 'name', area: 'plans', reply: planReply });
  return [
    entries.list({
      summary: 'Lists the plans of the configuration and the store, by name.',
      async rows(_query, operator) {
        const directory = await records.current(operator.accounts);
        return {
          rows: directory.plans,
          textOf: (plan: KnownPlan) => plan.name,
          shown: (plan: KnownPlan) => shown(directory, plan),
        };
      },
    }),
    entries.show({
      summary: 'Returns one plan.',
      async run(plan, { operator }) {
        const directory = await records.current(operator.accounts);
        return shown(directory, planOf(directory, plan));
      },
    }),
    entries.change({
      method: 'PUT',
      summary: 'Creates or replaces a plan. Its limits apply at once.',
      query: putQuery,
      body: planSchema,
      run: (plan, call) => putPlan(parts, records, plan, call),
    }),
    entries.remove({
      summary: 'Removes a plan that no account has.',
      query: z.strictObject({ version: knownContentVersion }),
      run: (plan, { query, operator }) => removePlan(parts, records, plan, { known: query.version, operator }),
    }),
  ];
}

async function putPlan(
  parts: AdminParts,
  records: Records,
  planName: string,
  { query, body: written, operator }: { query: z.output<typeof putQuery>; body: PlanBody; operator: Operator },
): Promise<ShownPlan> {
  const directory = await records.current(operator.accounts);
  const before = directory.plan(planName);
  if (before !== null) refuseReadOnly(parts, before);
  if (before !== null) checkContentVersion(query.version, shown(directory, before), `plan '${planName}'`);
  else if (query.version !== undefined) refuse(noPlan(directory, planName));
  const body = query.keep === 'notify' ? withNotices(written, before) : written;
  if (!name('a plan').safeParse(planName).success) {
    refuse(invalid('name', 'name: expected 1 to 64 letters, digits, dots, _ or -'));
  }
  refuseUnfitPlan(body, directory);
  refuseNotices(body, before, operator);
  const plan = { name: planName, definition: body, updatedMs: parts.clock.wallMs() };
  const was = query.version === undefined ? null : (before?.definition ?? null);
  const done = await records.apply([{ kind: 'put-plan', plan, was }], {
    actor: operator.name,
    action: before === null ? 'plan.create' : 'plan.update',
    subject: planName,
    before: before === null ? null : redactPart(before.definition),
    after: redactPart(body),
  });
  if (done !== 'done') {
    const later = await records.current(operator.accounts);
    refuseChanged(shown(later, planOf(later, planName)), `plan '${planName}'`);
  }
  return {
    ...shown(directory, { ...plan, from: 'admin api' }),
    ...idleSettings(parts, { models: body.models, plans: [body] }),
  };
}

async function removePlan(
  parts: AdminParts,
  records: Records,
  planName: string,
  { known, operator }: { known: string | undefined; operator: Operator },
): Promise<ShownPlan> {
  const directory = await records.current(operator.accounts);
  const plan = planOf(directory, planName);
  refuseReadOnly(parts, plan);
  checkContentVersion(known, shown(directory, plan), `plan '${planName}'`);
  const users = directory.accounts.filter((account) => account.plan === plan.name);
  if (users.length > 0) {
    const named = users.slice(0, 5).map(({ id }) => id);
    const more = users.length > named.length ? ` and ${users.length - named.length} more` : '';
    const message = `These accounts have the plan '${plan.name}': ${named.join(', ')}${more}. Give them another plan first.`;
    refuse({ kind: 'conflict', message });
  }
  const done = await records.apply([{ kind: 'delete-plan', name: plan.name }], {
    actor: operator.name,
    action: 'plan.delete',
    subject: plan.name,
    before: redactPart(plan.definition),
    after: null,
  });
  return done === 'done' ? shown(directory, plan) : refuse(noPlan(directory, plan.name));
}

/** Refuses a plan that names what the configuration does not have, at the field. */
export function refuseUnfitPlan(body: PlanBody, { config }: Directory): void {
  const [problem] = checkPlan(body, config);
  if (problem === undefined) return;
  const param = formatPath(problem.path);
  refuse(invalid(param, `${param}: ${problem.message}`));
}

/** This server posts notices to any address, also a private one: to name one takes more than a right to plans. */
function refuseNotices({ notify }: PlanBody, before: KnownPlan | null, operator: Operator): void {
  const known = (before?.definition ?? {}) as Partial<PlanBody>;
  if (notify === undefined || isDeepStrictEqual(notify, known.notify)) return;
  const refused = notAllowed(operator, 'settings', 'write');
  if (refused === null) return;
  const roles = rolesThatMay('settings', 'write').join(', ');
  const message = `notify: the role ${operator.role} may not say where notices go. These roles may: ${roles}.`;
  refuse(forbidden(message));
}

function withNotices({ notify: _, ...limits }: PlanBody, before: KnownPlan | null): PlanBody {
  const { notify } = (before?.definition ?? {}) as Partial<PlanBody>;
  return notify === undefined ? limits : { ...limits, notify };
}

function shown(directory: Directory, plan: KnownPlan): ShownPlan {
  return {
    name: plan.name,
    from: plan.from,
    default: plan.name === directory.config.default_plan,
    accounts: directory.accountsByPlan.get(plan.name) ?? 0,
    updated_at: isoOrNull(plan.updatedMs),
    version: contentVersion(plan.definition),
    definition: redactPart(plan.definition) as Record<string, unknown>,
  };
}

function planOf(directory: Directory, name: string): KnownPlan {
  return directory.plan(name) ?? refuse(noPlan(directory, name));
}

function refuseReadOnly(parts: AdminParts, { name, from }: KnownPlan): void {
  if (from === 'configuration') refuse(declaredConflict(parts, 'plan', name));
  if (from !== 'built-in') return;
  const message = `The plan '${name}' is built in. Create a plan with another name, or write this one under plans in culvert.yaml.`;
  refuse({ kind: 'conflict', message });
}

function noPlan({ plans }: Directory, name: string) {
  const names = plans.map((plan) => plan.name);
  return { kind: 'not-found', message: `There is no plan '${name.slice(0, 64)}'${didYouMean(name, names)}.` } as const;
}
