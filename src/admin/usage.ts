import { z } from 'zod';
import type { Operator } from '../auth/operator.ts';
import { FailureError } from '../kernel/failure.ts';
import { readLimits } from '../metering/limit-view.ts';
import { usageRecord } from '../metering/usage-record.ts';
import { accountOf } from './accounts.ts';
import { csvLine } from './csv.ts';
import type { Records } from './directory.ts';
import { filter, listLimitMax, listOf, pageFields, pastInstant, timeField } from './fields.ts';
import { jsonOperation, type Operation, textOperation } from './operation.ts';
import { pageByPlace } from './page.ts';
import type { AdminParts } from './parts.ts';
import { periodOf } from './requests.ts';
import { accountsAsked, onlyAccount } from './scope.ts';

const usageFields = {
  account: filter('Only what this account used.'),
  group_by: z
    .enum(['day', 'model', 'account', 'endpoint', 'user', 'provider', 'key'])
    .default('day')
    .describe('What each row sums up.'),
  from: pastInstant('First instant, to the hour. Default: 30 days before `to`.').optional(),
  to: pastInstant('End, to the hour. Default: now.').optional(),
};

const rowSchema = z.object({
  group: z.string(),
  requests: z.int(),
  units: z.number(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  errors: z.int().describe('Requests whose class is not ok.'),
  counted_tokens: z.int().describe('Part of input and output tokens that Culvert counted: the provider told none.'),
  estimated_tokens: z.int().describe('Part of them that nobody counted, estimated from the request.'),
  counted_cost_usd: z.number().describe('Part of cost_usd for what Culvert counted.'),
  estimated_cost_usd: z.number().describe('Part of cost_usd for what was estimated.'),
});

const usageReply = listOf(rowSchema).extend({
  group_by: z.string(),
  account: z.string().optional(),
  windows: z
    .record(
      z.string(),
      z.object({
        used: z.number(),
        allowed: z.number().nullable(),
        remaining: z.number().nullable(),
        resets_at: timeField.nullable(),
      }),
    )
    .optional()
    .describe("With `account`: how full its plan's windows are now, where they are counted by account."),
});

/** `/usage`: sums of what was used, from roll-ups that are kept for ever. */
export function usageOperations(parts: AdminParts, records: Records): Operation[] {
  const rowsOf = (query: z.output<z.ZodObject<typeof usageFields>>, { accounts }: Operator) =>
    parts.ledger.usage({
      account: onlyAccount(accountsAsked(query.account, accounts)),
      groupBy: query.group_by,
      ...periodOf(query, parts.clock.wallMs()),
    });

  async function windowsOf(account: string) {
    const found = (await records.current(null)).account(account);
    if (found === null || parts.counters === null) return {};
    const plan = parts.plans().plan(found.plan);
    if (plan.scope !== 'account') return {};
    try {
      const { windows } = await readLimits(parts.counters, { account, tenant: null, plan, own: null });
      return { windows };
    } catch (error) {
      // Counters that cannot be asked hide no sums.
      if (error instanceof FailureError) return {};
      throw error;
    }
  }

  return [
    jsonOperation({
      method: 'GET',
      path: '/usage',
      area: 'usage',
      summary: 'Sums by group: days in order, others by units, the largest first.',
      query: z.strictObject({ ...pageFields, limit: pageFields.limit.prefault(listLimitMax), ...usageFields }),
      body: null,
      reply: usageReply,
      async run({ query, operator }) {
        const { account } = query;
        if (account !== undefined) accountOf(await records.current(operator.accounts), account);
        const page = pageByPlace(await rowsOf(query, operator), query);
        return {
          group_by: query.group_by,
          ...(account === undefined ? {} : { account, ...(await windowsOf(account)) }),
          data: page.rows.map(usageRecord),
          next_cursor: page.next,
        };
      },
    }),
    textOperation({
      method: 'GET',
      path: '/usage.csv',
      area: 'usage',
      summary: 'The same as CSV, all rows.',
      query: z.strictObject(usageFields),
      contentType: 'text/csv; charset=utf-8; header=present',
      async run({ query, operator }) {
        const rows = (await rowsOf(query, operator)).map(usageRecord);
        const columns = [
          'requests',
          'units',
          'input_tokens',
          'output_tokens',
          'cost_usd',
          'errors',
          'counted_tokens',
          'estimated_tokens',
          'counted_cost_usd',
          'estimated_cost_usd',
        ] as const;
        const head = csvLine([query.group_by, ...columns]);
        return head + rows.map((row) => csvLine([row.group, ...columns.map((column) => row[column])])).join('');
      },
    }),
  ];
}
