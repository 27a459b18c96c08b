import { z } from 'zod';
import { limitsOfKey, raisedBy } from '../../books/metering/plan-rules.ts';
import type { KeyLimitsConfig } from '../../config/schema.ts';
import type { Records } from '../directory.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { accountOf } from './accounts.ts';
import { keyOf } from './keys.ts';
import { windowSchema, windowsOf } from './windows.ts';

const keyWindowsReply = z.object({
  key: z.string(),
  plan: z.string(),
  own: z
    .array(windowSchema)
    .describe('How much this key has used, and its limits. A `limit` of null: only the plan limits it.'),
  of_plan: z.array(windowSchema).describe('The limits of its plan.'),
  scope: z.enum(['account', 'key']).describe('Whether the plan counts all keys of the account together, or each key.'),
});

export type KeyWindows = z.output<typeof keyWindowsReply>;

/** How full the limits of one key are. */
export function keyWindowsOperation(parts: AdminParts, records: Records): Operation {
  return jsonOperation({
    route: 'GET /keys/{id}/windows',
    area: 'keys',
    summary:
      'How full the limits of a key and those of its plan are, and when the next unit of each is available again.',
    reply: keyWindowsReply,
    async run({ params, operator }) {
      const directory = await records.current(operator.accounts);
      const { id, account, tenant, limits } = keyOf(directory, params.id);
      const payer = accountOf(directory, account);
      const plan = raisedBy(parts.plans().plan(payer.plan), payer.extraBudget, parts.clock.wallMs());
      const keyLimits = limitsOfKey((limits ?? {}) as KeyLimitsConfig, parts.clock.wallMs());
      const [ofKey, ofPlan] = await Promise.all([
        windowsOf(parts, keyLimits, { account, tenant }),
        windowsOf(parts, plan, { account, tenant: plan.scope === 'key' ? tenant : null }),
      ]);
      return { key: id, plan: plan.name, own: ofKey, of_plan: ofPlan, scope: plan.scope };
    },
  });
}
