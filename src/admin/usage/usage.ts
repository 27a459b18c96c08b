import { z } from 'zod';
import type { Operator } from '../../books/auth/operator.ts';
import { zoneDays } from '../../books/ledger/zone-days.ts';
import { type PartMeasure, partMeasures, type UsageRow } from '../../books/metering/ledger.ts';
import { readLimits } from '../../books/metering/limits/limit-view.ts';
import { usageRecord } from '../../books/metering/usage-record.ts';
import { timeZone } from '../../config/scalars.ts';
import { dayMs } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import { exportedRowsMax, usageRowsMax } from '../../kernel/limits.ts';
import { requestedAccounts } from '../account-scope.ts';
import { csvLine } from '../csv.ts';
import type { Directory, Records } from '../directory.ts';
import { accountOf } from '../entries/accounts.ts';
import {
  definedMembers,
  filter,
  listLimitMax,
  listOf,
  pageFields,
  pastInstant,
  timeField,
  usedFields,
} from '../fields.ts';
import { byKeyTag, keysTagged } from '../key-tags.ts';
import { jsonOperation, type Operation, refuse, textOperation } from '../operation.ts';
import { pageByPlace } from '../page.ts';
import type { AdminParts } from '../parts.ts';
import { begun, periodOf } from '../requests.ts';
import { largestParts, measureOf } from './largest-parts.ts';

/** Rows of a group, but for the one of all others. */
const partsMax = 100;

const groups = ['hour', 'day', 'model', 'account', 'endpoint', 'user', 'tag', 'provider', 'key', 'key_tag'] as const;

const usageFields = {
  account: filter('Only what this account used.'),
  key: filter('Only what this key used, by its id.'),
  model: filter('Only requests for this model.'),
  provider: filter('Only what this provider answered.'),
  endpoint: filter('Only this endpoint, such as chat.'),
  user: filter('Only what callers did for this end user.'),
  tag: filter('Only what callers gave this tag.'),
  key_tag: filter('Only what keys with this tag used.'),
  group_by: z
    .enum(groups)
    .default('day')
    .describe('What the rows are grouped by. key_tag: tags of keys as they are now; a key with two counts in both.'),
  split_by: z
    .enum(groups)
    .optional()
    .describe('The parts of each group, a row each: the models of a day, for example.'),
  time_zone: timeZone()
    .optional()
    .describe('Where the days of `group_by=day` begin, such as Europe/Berlin, to the hour of UTC. Default: UTC.'),
  order_by: z
    .enum(partMeasures)
    .default('units')
    .describe(
      'Groups with most of it come first. Days and hours stay in their order, and their parts are ordered by it.',
    ),
  from: pastInstant('Start of the range, to the hour. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the range, to the hour. Default: now.').optional(),
};

/** Fields for charts, which have room for few parts. An export has every part. */
const partFields = {
  parts: z.coerce
    .number()
    .int()
    .min(1)
    .max(partsMax)
    .optional()
    .describe('With `split_by`: so many parts, the largest of the range, have rows; the others of a group share one.'),
  parts_by: z.enum(partMeasures).default('units').describe('With `parts`: what the largest parts have most of.'),
};

export const usageRow = z.object({
  group: z.string(),
  split: z.string().optional().describe('With `split_by`: which part of the group.'),
  ...usedFields,
  counted_tokens: z
    .int()
    .describe('Part of input and output tokens that Culvert counted, because the provider gave no count.'),
  estimated_tokens: z
    .int()
    .describe('Part of these tokens that nobody counted; Culvert estimated them from the request.'),
  counted_cost_usd: z.number().describe('Part of cost_usd for what Culvert counted.'),
  estimated_cost_usd: z.number().describe('Part of cost_usd for what was estimated.'),
});

const nameField = z.string().nullable().optional();

/** With what people call an account or a key, which the sums know by its id. */
const namedRow = usageRow.extend({
  name: nameField.describe('Of an account or a key of `group`; a key as account/name. Null: it is gone.'),
  split_name: nameField.describe('The same of `split`.'),
  other_parts: z
    .int()
    .optional()
    .describe('With `parts`, instead of `split`: the row sums all but the largest parts, which are so many.'),
});

const usageReply = listOf(namedRow).extend({
  group_by: z.string(),
  split_by: z.string().optional(),
  truncated: z
    .literal(true)
    .optional()
    .describe(`The range has more than ${usageRowsMax} rows; those with least of order_by are left out.`),
  account: z.string().optional(),
  windows: z
    .record(
      z.string(),
      z.object({
        used: z.number(),
        allowed: z.number().nullable(),
        remaining: z.number().nullable(),
        resets_at: timeField.nullable(),
        soft: z.number().optional().describe('From so much on requests are warned, and pass.'),
      }),
    )
    .optional()
    .describe('With `account`: how full the windows of its plan are now, if the plan counts by account.'),
});

/** `/usage`: sums of usage, from roll-ups that are kept for ever. */
export function usageOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'GET /usage',
      area: 'usage',
      summary: 'Sums usage by group: days in order, others by `order_by`, the largest first.',
      query: z.strictObject({
        ...pageFields,
        limit: pageFields.limit.prefault(listLimitMax),
        ...usageFields,
        ...partFields,
      }),
      reply: usageReply,
      async run({ query, operator }) {
        const { account } = query;
        if (account !== undefined) accountOf(await records.current(operator.accounts), account);
        const directory = await records.current(operator.accounts);
        if (query.parts !== undefined && query.split_by === undefined)
          refuse(invalid('parts', 'parts: expected split_by too, such as split_by=account&parts=5'));
        const { parts: count, parts_by } = query;
        const all = await rowsOf(parts, directory, query, operator);
        const sums = count !== undefined && isByKeyTag(query) ? largestParts(all, count, parts_by) : all;
        const rows = count === undefined ? largestRows(sums, usageRowsMax, query.order_by) : sums;
        const page = pageByPlace(rows, query);
        const named = naming(directory, query);
        return {
          group_by: query.group_by,
          ...(query.split_by !== undefined && { split_by: query.split_by }),
          ...(sums.length > rows.length && { truncated: true as const }),
          ...(account === undefined ? {} : { account, ...(await windowsOf(parts, records, account)) }),
          data: page.rows.map((row) => ({
            ...named(usageRecord(row)),
            ...(row.otherParts !== undefined && { other_parts: row.otherParts }),
          })),
          next_cursor: page.next,
        };
      },
    }),
    textOperation({
      route: 'GET /usage.csv',
      area: 'usage',
      summary: `Exports all rows as CSV, up to ${exportedRowsMax}; a range with more is refused. Parts of days and hours may be so many a day.`,
      query: z.strictObject(usageFields),
      contentType: 'text/csv; charset=utf-8; header=present',
      run: async ({ query, operator }) => begun(csvOf(parts, records, query, operator)),
    }),
  ];
}

async function* csvOf(
  parts: AdminParts,
  records: Records,
  query: UsageQuery,
  operator: Operator,
): AsyncGenerator<string> {
  const directory = await records.current(operator.accounts);
  const named = naming(directory, query);
  const columns = [
    ...(['requests', 'units', 'input_tokens', 'output_tokens', 'cost_usd', 'errors', 'counted_tokens'] as const),
    ...(['estimated_tokens', 'counted_cost_usd', 'estimated_cost_usd', 'unpriced_requests'] as const),
  ] as const;
  const { group_by: group, split_by: split } = query;
  const heads = (by: string | undefined) =>
    by === undefined ? [] : by === 'account' || by === 'key' ? [by, `${by}_name`] : [by];
  let head = csvLine([...heads(group), ...heads(split), ...columns]);
  for (const span of exportSpans(query, periodOf(query, parts.clock.wallMs()))) {
    const sums = await rowsOf(parts, directory, { ...query, ...span }, operator, exportedRowsMax + 1);
    if (sums.length > exportedRowsMax) {
      const fewer = 'Export a shorter range, or group by less';
      refuse(invalid('from', `from: the range has more than ${exportedRowsMax} rows, the most of an export. ${fewer}`));
    }
    const lines = sums.map((sum) => {
      const row = named(usageRecord(sum));
      const ofGroup = [row.group, row.name ?? ''].slice(0, heads(group).length);
      const ofSplit = [row.split ?? '', row.split_name ?? ''].slice(0, heads(split).length);
      return csvLine([...ofGroup, ...ofSplit, ...columns.map((column) => row[column])]);
    });
    yield head + lines.join('');
    head = '';
  }
}

/** A month by user may have millions of groups, which no database sums in one statement's time. */
const exportDaysMax = 400;

/** An export sums these spans one after the other: the days of UTC where its groups are these or their hours. */
function exportSpans({ group_by: group, split_by: split, time_zone: zone = 'UTC' }: UsageQuery, period: Period) {
  const firstDay = Math.floor(period.fromMs / dayMs);
  const days = Math.ceil(period.toMs / dayMs) - firstDay;
  const isCut =
    split !== undefined && (group === 'hour' || (group === 'day' && zone === 'UTC')) && days <= exportDaysMax;
  return Array.from({ length: isCut ? days : 1 }, (_, at) => {
    const fromMs = Math.max(period.fromMs, (firstDay + at) * dayMs);
    const toMs = isCut ? Math.min(period.toMs, (firstDay + at + 1) * dayMs) : period.toMs;
    return { from: () => fromMs, to: () => toMs };
  });
}

type Period = ReturnType<typeof periodOf>;

/** Adds names to rows whose group or part is an account or a key. */
function naming(directory: Directory, { group_by, split_by }: { group_by: string; split_by?: string | undefined }) {
  const nameOf = (by: string | undefined, id: string | undefined): string | null | undefined => {
    if (id === undefined) return undefined;
    if (by === 'account') return directory.account(id)?.name ?? null;
    if (by !== 'key') return undefined;
    const key = directory.key(id);
    return key === null ? null : `${key.account}/${key.name}`;
  };
  return (row: ReturnType<typeof usageRecord>) => {
    const [name, split] = [nameOf(group_by, row.group), nameOf(split_by, row.split)];
    return { ...row, ...(name !== undefined && { name }), ...(split !== undefined && { split_name: split }) };
  };
}

/** The rows with most of a measure, in their order. */
function largestRows(rows: readonly UsageRow[], most: number, by: PartMeasure): readonly UsageRow[] {
  if (rows.length <= most) return rows;
  const largest = new Set(largestFirst(rows, by).slice(0, most));
  return rows.filter((row) => largest.has(row));
}

/** Equal rows stay in their order. */
export function largestFirst(rows: readonly UsageRow[], by: PartMeasure): UsageRow[] {
  const sizeOf = measureOf[by];
  return rows.toSorted((a, b) => sizeOf(b) - sizeOf(a));
}

type UsageQuery = z.output<z.ZodObject<typeof usageFields>> & Partial<z.output<z.ZodObject<typeof partFields>>>;

/** The ledger has rows of keys alone, whose tags are added up here. */
function isByKeyTag({ group_by, split_by }: UsageQuery): boolean {
  return group_by === 'key_tag' || split_by === 'key_tag';
}

async function rowsOf(
  parts: AdminParts,
  directory: Directory,
  query: UsageQuery,
  { accounts }: Operator,
  rowsMax = query.parts === undefined && !isByKeyTag(query) ? usageRowsMax + 1 : exportedRowsMax,
) {
  const { group_by, split_by = null, key, key_tag, model: alias, provider, endpoint, user, tag } = query;
  if (split_by === group_by) refuse(invalid('split_by', 'split_by: expected another word than group_by'));
  const groupBy = storedGroup(group_by);
  const splitBy = split_by && storedGroup(split_by);
  if (splitBy === groupBy) {
    refuse(invalid('split_by', 'split_by: key_tag sums keys. Group by key or by key_tag, and split by something else'));
  }
  const period = periodOf(query, parts.clock.wallMs());
  const isByZone = query.time_zone !== undefined && (groupBy === 'day' || splitBy === 'day');
  const keys = keysTagged(directory, key_tag);
  const rows = await parts.ledger.usage({
    accounts: requestedAccounts(query.account, accounts),
    where: { ...definedMembers({ key, alias, provider, endpoint, user, tag }), ...(keys !== undefined && { keys }) },
    groupBy,
    splitBy,
    ...period,
    orderBy: query.order_by,
    rowsMax,
    ...(query.parts !== undefined &&
      !isByKeyTag(query) && { parts: { count: query.parts, by: query.parts_by ?? 'units' } }),
    ...(isByZone && query.time_zone !== 'UTC' && { days: zoneDays(query.time_zone ?? 'UTC', period) }),
  });
  if (!isByKeyTag(query)) return rows;
  const tagged = byKeyTag(rows, directory, group_by === 'key_tag' ? 'group' : 'split');
  const sorted = largestFirst(tagged, query.order_by);
  if (group_by !== 'day' && group_by !== 'hour') return sorted;
  return sorted.sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0));
}

/** Group that the ledger sums by: it knows keys, and not their tags. */
function storedGroup(group: (typeof groups)[number]) {
  return group === 'key_tag' ? 'key' : group;
}

async function windowsOf(parts: AdminParts, records: Records, account: string) {
  const found = (await records.current(null)).account(account);
  if (found === null || parts.counters === null) return {};
  const plan = parts.plans().plan(found.plan);
  if (plan.scope !== 'account') return {};
  try {
    const { windows } = await readLimits(parts.counters, { account, tenant: null, plan, keyLimits: null });
    return { windows };
  } catch (error) {
    // Counters that cannot be asked hide no sums.
    if (error instanceof FailureError) return {};
    throw error;
  }
}

/** For pages that draw it. */
export type UsageReply = z.output<typeof usageReply>;
