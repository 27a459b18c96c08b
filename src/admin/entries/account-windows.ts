import { z } from 'zod';
import type { Plan } from '../../books/metering/plan.ts';
import { planOf, raisedBy } from '../../books/metering/plan-rules.ts';
import { planSchema } from '../../config/schema/schema-plans.ts';
import { type Directory, type KnownAccount, livingKeysOf, type Records } from '../directory.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { accountOf } from './accounts.ts';
import { refuseUnfitPlan } from './plans.ts';
import { type WindowOwner, windowSchema, windowsOf } from './windows.ts';

/** More accounts, or keys of one, are not looked at in one answer. */
const previewedMax = 500;
const keysMax = 200;

const windowsReply = z.object({
  account: z.string(),
  plan: z.string(),
  scope: z.enum(['account', 'key']).describe('Whether the plan counts by account or by key.'),
  data: z.array(
    z.object({
      key: z.string().nullable().describe('Id of the key that is counted; null: the account.'),
      name: z.string().nullable().describe('Its name.'),
      windows: z.array(windowSchema),
    }),
  ),
});

export type AccountWindows = z.output<typeof windowsReply>;

const previewReply = z.object({
  plan: z.string(),
  accounts: z.int().describe('How many accounts have the plan.'),
  looked_at: z.int().describe(`How many of them this answer is about: ${previewedMax} at most.`),
  data: z
    .array(
      z.object({
        account: z.string(),
        key: z
          .string()
          .nullable()
          .describe('Id of the key that the new limits would stop, where the plan counts by key.'),
        windows: z.array(windowSchema).describe('The limits that are reached already.'),
      }),
    )
    .describe('Accounts that the plan would stop, because their usage is at or above a new limit.'),
});

export type PlanPreview = z.output<typeof previewReply>;

/** How full windows are, by today's plans and by hypothetical ones. */
export function windowOperations(parts: AdminParts, records: Records): Operation[] {
  async function readOf(directory: Directory, { id, extraBudget }: KnownAccount, planned: Plan) {
    const plan = raisedBy(planned, extraBudget, parts.clock.wallMs());
    const each = ownersOf(directory, id, plan);
    return Promise.all(each.map(async (one) => ({ ...one, windows: await windowsOf(parts, plan, one.owner) })));
  }

  return [
    jsonOperation({
      route: 'GET /accounts/{id}/windows',
      area: 'accounts',
      summary:
        'How full every window of an account is, and when the next unit is available again, by key if its plan counts by key.',
      reply: windowsReply,
      async run({ params, operator }) {
        const directory = await records.current(operator.accounts);
        const account = accountOf(directory, params.id);
        const plan = parts.plans().plan(account.plan);
        const data = await readOf(directory, account, plan);
        return {
          account: account.id,
          plan: plan.name,
          scope: plan.scope,
          data: data.map(({ key, name, windows }) => ({ key, name, windows })),
        };
      },
    }),
    jsonOperation({
      route: 'POST /plans/{name}/preview',
      area: 'plans',
      access: 'read',
      summary: 'Previews a plan: lists the accounts that it would stop, based on their usage. Changes nothing.',
      body: planSchema,
      reply: previewReply,
      async run({ params, body, operator }) {
        const directory = await records.current(operator.accounts);
        refuseUnfitPlan(body, directory);
        const plan = planOf(params.name, body, directory.config.tiers);
        const users = directory.accounts.filter((account) => account.plan === params.name);
        const previewed = users.slice(0, previewedMax);
        const data: z.input<typeof previewReply>['data'] = [];
        for (const account of previewed) {
          for (const { key, windows } of await readOf(directory, account, plan)) {
            const full = windows.filter(({ limit, used }) => limit !== null && used >= limit);
            if (full.length > 0) data.push({ account: account.id, key, windows: full });
          }
        }
        return { plan: params.name, accounts: users.length, looked_at: previewed.length, data };
      },
    }),
  ];
}

function ownersOf(
  directory: Directory,
  account: string,
  plan: Plan,
): { key: string | null; name: string | null; owner: WindowOwner }[] {
  if (plan.scope === 'account') return [{ key: null, name: null, owner: { account, tenant: null } }];
  const keys = livingKeysOf(directory, account).slice(0, keysMax);
  return keys.map(({ id, name, tenant }) => ({ key: id, name, owner: { account, tenant } }));
}
