import { z } from 'zod';
import { type TrafficKind, trafficGrainsMs } from '../books/ledger/minute-sums.ts';
import { quantileMs, type TrafficPoint } from '../books/ledger/traffic-queries.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '../books/metering/ledger.ts';
import { usageRecord } from '../books/metering/usage-record.ts';
import { dayMs, hourMs, minuteMs } from '../kernel/clock.ts';
import { invalid } from '../kernel/failure.ts';
import { usageRowsMax } from '../kernel/limits.ts';
import { type AccountScope, requestedAccounts } from './account-scope.ts';
import type { Records } from './directory.ts';
import { accountOf } from './entries/accounts.ts';
import { filter, pastInstant, timeField, usedFields } from './fields.ts';
import { added } from './key-tags.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { pointsIn } from './points.ts';
import { periodOf } from './requests.ts';
import { type TroubleWatch, wrongSchema } from './troubles/wrong.ts';
import { largestFirst, usageRow } from './usage/usage.ts';

/**
 * Each has 60 to 96 points, the newest of which is running. A range begins at a whole hour, as sums of usage do; the
 * short ones begin at a point, and their sums are of single requests. So lists cover what the totals do.
 */
const ranges = {
  '1h': { grain: 'minute', stepMs: minuteMs, points: 60, from: 'point' },
  '6h': { grain: 'minute', stepMs: 5 * minuteMs, points: 72, from: 'point' },
  '24h': { grain: 'minute', stepMs: 15 * minuteMs, points: 96, from: 'hour' },
  '7d': { grain: 'hour', stepMs: 2 * hourMs, points: 84, from: 'hour' },
  '30d': { grain: 'hour', stepMs: 8 * hourMs, points: 90, from: 'hour' },
  '90d': { grain: 'hour', stepMs: dayMs, points: 90, from: 'hour' },
} as const;
type Range = keyof typeof ranges;

/** Points of a chart: steps of `stepMs` from `fromMs` on, the last of which may be running. */
interface Drawn {
  grain: keyof typeof trafficGrainsMs;
  stepMs: number;
  fromMs: number;
  points: number;
  /** Where it ends: the moment of the question, or an earlier one. */
  toMs: number;
  /** Whether it begins between two hours, so that lists are of single requests. */
  isExact: boolean;
}

function endingNow(range: Range, nowMs: number): Drawn {
  const { grain, stepMs, points, from } = ranges[range];
  const endMs = (Math.floor(nowMs / stepMs) + 1) * stepMs;
  const firstMs = endMs - points * stepMs;
  const fromMs = from === 'point' ? firstMs : Math.ceil(firstMs / hourMs) * hourMs;
  return { grain, stepMs, fromMs, points: (endMs - fromMs) / stepMs, toMs: nowMs, isExact: from === 'point' };
}

/** A range of the reader's choice, in whole minutes while these are kept and it is short, else in whole hours. */
function between({ fromMs, toMs }: { fromMs: number; toMs: number }, nowMs: number): Drawn {
  if (fromMs > nowMs) refuse(invalid('from', 'from: expected a time that has come'));
  const { grain, stepMs, ...span } = pointsIn({ fromMs, toMs: Math.min(toMs, nowMs + 1) }, nowMs);
  const isExact = grain === 'minute' && (span.fromMs % hourMs !== 0 || (toMs <= nowMs && span.toMs % hourMs !== 0));
  return {
    grain,
    stepMs,
    fromMs: span.fromMs,
    points: Math.ceil((span.toMs - span.fromMs) / stepMs),
    toMs: Math.min(span.toMs, nowMs),
    isExact,
  };
}

const topRows = 8;

const ms = z.int().nullable();
const totalsFields = {
  ...usedFields,
  first_token_p50_ms: ms.describe(
    'Over successful streamed requests; null: there is none. All percentiles are of bins.',
  ),
  first_token_p95_ms: ms,
  total_p50_ms: ms.describe('Whole time of successful requests.'),
  total_p95_ms: ms,
};
const totals = z.object(totalsFields);

const overviewReply = z.object({
  range: z.enum(['1h', '6h', '24h', '7d', '30d', '90d']).nullable().describe('Null for `from` and `to`.'),
  account: z.string().nullable(),
  from: timeField,
  to: timeField.describe('Now, or where the range ends.'),
  step_s: z.int().describe('Seconds of one point.'),
  series: z.array(z.object({ at: timeField.describe('Its first instant.'), ...totalsFields })),
  totals,
  before: totals.describe('The same figures for the span before.'),
  top: z
    .object({
      order_by: z.enum(['cost_usd', 'units']).describe('cost_usd: where requests of the range have prices.'),
      models: z.array(usageRow),
      accounts: z.array(usageRow),
      providers: z.array(usageRow),
    })
    .describe('Those that used most, in the same range.'),
  wrong: z.array(wrongSchema).describe('What is wrong right now, the worst first.'),
});

export type Overview = z.output<typeof overviewReply>;

/** `/overview`: activity and problems, for the first page that an operator sees. */
export function overviewOperations(parts: AdminParts, records: Records, watch: TroubleWatch): Operation[] {
  async function drawn({ grain, stepMs, fromMs, points, toMs: lastMs }: Drawn, scope: AccountScope, nowMs: number) {
    const spanMs = stepMs * points;
    const scopeFilter: { kind: TrafficKind; names: readonly string[] } =
      scope === null ? { kind: 'all', names: [''] } : { kind: 'account', names: scope };
    const toMs = lastMs === nowMs ? nowMs + trafficGrainsMs[grain] : lastMs;
    const [now, before] = await Promise.all([
      parts.ledger.traffic({ ...scopeFilter, grain, stepMs, fromMs, toMs }),
      parts.ledger.traffic({ ...scopeFilter, grain, stepMs: spanMs, fromMs: fromMs - spanMs, toMs: toMs - spanMs }),
    ]);
    const byStep = new Map(now.map((point) => [point.fromMs, point]));
    const series = Array.from({ length: points }, (_, at) => {
      const atMs = fromMs + at * stepMs;
      return { at: new Date(atMs).toISOString(), ...shown(byStep.get(atMs) ?? nothing) };
    });
    const totals = shown(now.reduce(sumOf, nothing));
    return { series, totals, before: shown(before.reduce(sumOf, nothing)) };
  }

  return [
    jsonOperation({
      route: 'GET /overview',
      area: 'usage',
      summary: 'Returns requests, errors, tokens, spend and latency over a range, and what is wrong right now.',
      query: z.strictObject({
        range: z
          .enum(['1h', '6h', '24h', '7d', '30d', '90d'])
          .default('24h')
          .describe('The range that ends now. Ignored with `from`.'),
        from: pastInstant('Start of another range: to the minute in the last two days, else to the hour.').optional(),
        to: pastInstant('Its end. Default: now.').optional(),
        account: filter('Only what this account did.'),
      }),
      reply: overviewReply,
      async run({ query: { range, account, from, to }, operator }) {
        if (account !== undefined) accountOf(await records.current(operator.accounts), account);
        if (from === undefined && to !== undefined) refuse(invalid('from', 'from: expected the start of a range'));
        const scope = requestedAccounts(account, operator.accounts);
        const nowMs = parts.clock.wallMs();
        const period = from === undefined ? endingNow(range, nowMs) : between(periodOf({ from, to }, nowMs), nowMs);
        const [rest, top, wrong] = await Promise.all([
          drawn(period, scope, nowMs),
          topsOf(parts, scope, period, nowMs),
          watch.wrong(scope, operator),
        ]);
        return {
          range: from === undefined ? range : null,
          account: account ?? null,
          from: new Date(period.fromMs).toISOString(),
          to: new Date(period.toMs).toISOString(),
          step_s: period.stepMs / 1_000,
          ...rest,
          top,
          wrong,
        };
      },
    }),
  ];
}

function usageOf(
  parts: AdminParts,
  by: Pick<UsageQuery, 'groupBy' | 'splitBy' | 'orderBy'>,
  scope: AccountScope,
  of: Drawn,
  nowMs: number,
) {
  const { fromMs, toMs, isExact } = of;
  const span = { fromMs, toMs: toMs === nowMs ? nowMs + 1 : toMs, ...(isExact && { exact: true as const }) };
  return parts.ledger.usage({ accounts: scope, where: {}, ...by, ...span });
}

/** Accounts, models and providers with the most use, in the same range. */
async function topsOf(parts: AdminParts, scope: AccountScope, of: Drawn, nowMs: number) {
  const ask = async (groupBy: UsageGroup) => {
    const by = (orderBy: 'cost_usd' | 'units') => usageOf(parts, { groupBy, splitBy: null, orderBy }, scope, of, nowMs);
    const dearest = await by('cost_usd');
    // Without prices, so many have the same cost that their names would decide which are left out.
    return dearest.length < usageRowsMax || dearest.some(({ costUsd }) => costUsd > 0) ? dearest : by('units');
  };
  // Both in one pass over the rows, unless there are too many pairs.
  const [byAccount, pairs] = await Promise.all([
    ask('account'),
    usageOf(parts, { groupBy: 'model', splitBy: 'provider' }, scope, of, nowMs),
  ]);
  const isWhole = pairs.length < usageRowsMax;
  const byModel = isWhole ? summedBy(pairs, ({ group }) => group) : await ask('model');
  const byProvider = isWhole ? summedBy(pairs, ({ split }) => split ?? '') : await ask('provider');
  const orderBy = byAccount.some(({ costUsd }) => costUsd > 0) ? 'cost_usd' : 'units';
  const top = (rows: readonly UsageRow[]) => largestFirst(rows, orderBy).slice(0, topRows).map(usageRecord);
  const providers = top(byProvider).filter(({ group }) => group !== '');
  return { order_by: orderBy, models: top(byModel), accounts: top(byAccount), providers } as const;
}

/** The same sums by one name. */
function summedBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): UsageRow[] {
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const named = { ...row, group: nameOf(row), split: null };
    const sum = sums.get(named.group);
    sums.set(named.group, sum === undefined ? named : added(sum, row));
  }
  const groups = [...sums.values()];
  for (const sum of groups) for (const name of usdSums) sum[name] = Math.round(sum[name] * 1e9) / 1e9;
  return groups;
}

const usdSums = ['costUsd', 'countedCostUsd', 'estimatedCostUsd'] as const;

const nothing: Omit<TrafficPoint, 'fromMs'> = {
  requests: 0,
  errors: 0,
  costMilli: 0,
  inputTokens: 0,
  outputTokens: 0,
  usdNano: 0,
  unpriced: 0,
  firstTokens: [],
  totals: [],
};

function sumOf(sum: Omit<TrafficPoint, 'fromMs'>, point: TrafficPoint): Omit<TrafficPoint, 'fromMs'> {
  return {
    requests: sum.requests + point.requests,
    errors: sum.errors + point.errors,
    costMilli: sum.costMilli + point.costMilli,
    inputTokens: sum.inputTokens + point.inputTokens,
    outputTokens: sum.outputTokens + point.outputTokens,
    usdNano: sum.usdNano + point.usdNano,
    unpriced: sum.unpriced + point.unpriced,
    firstTokens: point.firstTokens.map((count, bin) => count + (sum.firstTokens[bin] ?? 0)),
    totals: point.totals.map((count, bin) => count + (sum.totals[bin] ?? 0)),
  };
}

function shown(point: Omit<TrafficPoint, 'fromMs'>): z.input<typeof totals> {
  return {
    requests: point.requests,
    errors: point.errors,
    units: point.costMilli / 1_000,
    input_tokens: point.inputTokens,
    output_tokens: point.outputTokens,
    cost_usd: point.usdNano / 1e9,
    unpriced_requests: point.unpriced,
    first_token_p50_ms: quantileMs(point.firstTokens, 0.5),
    first_token_p95_ms: quantileMs(point.firstTokens, 0.95),
    total_p50_ms: quantileMs(point.totals, 0.5),
    total_p95_ms: quantileMs(point.totals, 0.95),
  };
}
