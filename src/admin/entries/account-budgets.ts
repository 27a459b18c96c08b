import { z } from 'zod';
import { readParts } from '../../books/metering/part-budgets.ts';
import type { Records } from '../directory.ts';
import { definedMembers, filter, timeField } from '../fields.ts';
import { jsonOperation, type Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { accountOf } from './accounts.ts';
import { runningCounters } from './windows.ts';

const budgetsReply = z.object({
  account: z.string(),
  data: z.array(
    z.object({
      user: z.string().optional(),
      tag: z.string().optional(),
      model: z.string().optional(),
      window: z.string().optional(),
      calendar: z.string().optional(),
      time_zone: z.string().optional(),
      used: z.number().describe('USD.'),
      allowed: z.number(),
      remaining: z.number(),
      resets_at: timeField.nullable(),
    }),
  ),
});

export type AccountBudgets = z.output<typeof budgetsReply>;

/** How full the budgets within an account are. */
export function accountBudgetsOperation(parts: AdminParts, records: Records): Operation {
  return jsonOperation({
    route: 'GET /accounts/{id}/budgets',
    area: 'accounts',
    summary: 'How full the budgets within an account are: those that name a user, tag or model, and of whom you name.',
    query: z.strictObject({
      user: filter('Also the budgets of this end user.'),
      tag: filter('Also the budgets of this tag.'),
      model: filter('Also the budgets of this model.'),
    }),
    reply: budgetsReply,
    async run({ params, query, operator }) {
      const { id, budgets } = accountOf(await records.current(operator.accounts), params.id);
      const data = budgets == null ? [] : await readParts(runningCounters(parts), id, budgets, definedMembers(query));
      return { account: id, data };
    },
  });
}
