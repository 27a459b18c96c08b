import { z } from 'zod';
import { timeZone } from '../../config/scalars.ts';
import { filter, timeField, usedFields } from '../fields.ts';

const monthField = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'expected a month such as 2026-10');
export const monthOf = {
  month: monthField.describe('The calendar month, such as 2026-10.'),
  time_zone: timeZone().default('UTC').describe('Where the month begins and ends, such as Europe/Berlin.'),
};
export const statementQuery = z.strictObject({ ...monthOf, account: filter('Only this account.') });

const sums = {
  ...usedFields,
  recalculated_usd: z
    .number()
    .describe(
      'Part of cost_usd that recalculations added or took away: cost_usd less it is what was charged at first.',
    ),
};
/** Names of the sums, in the order of a CSV. */
export const sumNames = Object.keys(sums) as (keyof typeof sums)[];

const line = z.object({ model: z.string(), ...sums });
const row = z.object({
  account: z.string(),
  name: z.string().describe('As it was called when this was made.'),
  ...sums,
  lines: z.array(line).describe('The same by model, the largest first.'),
});

export const statement = z.object({
  object: z.literal('statement'),
  month: z.string(),
  time_zone: z.string(),
  from: timeField,
  to: timeField.describe('End of the month, not included.'),
  status: z
    .enum(['running', 'open', 'closed'])
    .describe('running: the month is not over. open: it can be closed. closed: it is as it was then, for ever.'),
  closed_at: timeField.nullable(),
  closed_by: z.string().nullable().describe('Name of the operator.'),
  totals: z.object(sums),
  data: z.array(row).describe('Accounts that used something, in the order of their ids; at most 10,000.'),
});

export type Statement = z.output<typeof statement>;
export type Row = Statement['data'][number];
export type Sums = Statement['totals'];

export const closedReply = z.object({
  data: z.array(z.object({ month: z.string(), time_zone: z.string(), closed_at: timeField, closed_by: z.string() })),
});

export type ClosedStatements = z.output<typeof closedReply>;
