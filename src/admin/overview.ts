import { z } from 'zod';
import { quantileMs, type TrafficKind, type TrafficPoint, trafficGrainsMs } from '../books/ledger/traffic.ts';
import type { UsageGroup } from '../books/metering/ledger.ts';
import { usageRecord } from '../books/metering/usage-record.ts';
import type { Records } from './directory.ts';
import { accountOf } from './entries/accounts.ts';
import { filter, timeField, unpricedField } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { type AccountScope, accountsAsked } from './scope.ts';
import { usageRow } from './usage.ts';
import { type TroubleWatch, wrongSchema } from './wrong.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

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

/** First instant of a range that ends now, and how many points it has. */
function beginOf(range: Range, nowMs: number): { fromMs: number; points: number } {
  const { stepMs, points, from } = ranges[range];
  const endMs = (Math.floor(nowMs / stepMs) + 1) * stepMs;
  const firstMs = endMs - points * stepMs;
  const fromMs = from === 'point' ? firstMs : Math.ceil(firstMs / hourMs) * hourMs;
  return { fromMs, points: (endMs - fromMs) / stepMs };
}

const topRows = 8;

const ms = z.int().nullable();
const totalsFields = {
  requests: z.int(),
  errors: z.int().describe('Requests whose class is not ok.'),
  units: z.number(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  unpriced_requests: unpricedField,
  first_token_p50_ms: ms.describe('Over successful streamed requests; null when there is none.'),
  first_token_p95_ms: ms,
  total_p50_ms: ms.describe('Whole time of successful requests.'),
  total_p95_ms: ms,
};
const totals = z.object(totalsFields);

const overviewReply = z.object({
  range: z.enum(['1h', '6h', '24h', '7d', '30d', '90d']),
  account: z.string().nullable(),
  from: timeField,
  to: timeField.describe('Now.'),
  step_s: z.int().describe('Seconds of one point.'),
  series: z.array(z.object({ at: timeField.describe('Its first instant.'), ...totalsFields })),
  totals,
  before: totals.describe('The same figures for the span before.'),
  top: z
    .object({ models: z.array(usageRow), accounts: z.array(usageRow), providers: z.array(usageRow) })
    .describe('Those that used most, in the same range.'),
  wrong: z.array(wrongSchema).describe('What is wrong right now, the worst first.'),
});

export type Overview = z.output<typeof overviewReply>;

/** `/overview`: activity and problems, for the first page that an operator sees. */
export function overviewOperations(parts: AdminParts, records: Records, watch: TroubleWatch): Operation[] {
  async function drawn(range: Range, scope: AccountScope, nowMs: number) {
    const { grain, stepMs } = ranges[range];
    const { fromMs, points } = beginOf(range, nowMs);
    const spanMs = stepMs * points;
    const whose: { kind: TrafficKind; names: readonly string[] } =
      scope === null ? { kind: 'all', names: [''] } : { kind: 'account', names: scope };
    const toMs = nowMs + trafficGrainsMs[grain];
    const [now, before] = await Promise.all([
      parts.ledger.traffic({ ...whose, grain, stepMs, fromMs, toMs }),
      parts.ledger.traffic({ ...whose, grain, stepMs: spanMs, fromMs: fromMs - spanMs, toMs: toMs - spanMs }),
    ]);
    const byStep = new Map(now.map((point) => [point.fromMs, point]));
    const series = Array.from({ length: points }, (_, at) => {
      const atMs = fromMs + at * stepMs;
      return { at: new Date(atMs).toISOString(), ...shown(byStep.get(atMs) ?? nothing) };
    });
    const totals = shown(now.reduce(sumOf, nothing));
    return { fromMs, series, totals, before: shown(before.reduce(sumOf, nothing)) };
  }

  async function topOf(groupBy: UsageGroup, scope: AccountScope, range: Range, nowMs: number) {
    const span = { fromMs: beginOf(range, nowMs).fromMs, toMs: nowMs + 1 };
    const exact = ranges[range].from === 'point' && { exact: true as const };
    const rows = await parts.ledger.usage({ accounts: scope, where: {}, groupBy, splitBy: null, ...span, ...exact });
    return rows.slice(0, topRows).map(usageRecord);
  }

  return [
    jsonOperation({
      method: 'GET',
      path: '/overview',
      area: 'usage',
      summary: 'Returns requests, errors, tokens, spend and latency over a range, and what is wrong right now.',
      query: z.strictObject({
        range: z.enum(['1h', '6h', '24h', '7d', '30d', '90d']).default('24h').describe('The range that ends now.'),
        account: filter('Only what this account did.'),
      }),
      reply: overviewReply,
      async run({ query: { range, account }, operator }) {
        if (account !== undefined) accountOf(await records.current(operator.accounts), account);
        const scope = accountsAsked(account, operator.accounts);
        const nowMs = parts.clock.wallMs();
        const { fromMs, ...rest } = await drawn(range, scope, nowMs);
        const [models, accounts, providers, wrong] = await Promise.all([
          topOf('model', scope, range, nowMs),
          topOf('account', scope, range, nowMs),
          topOf('provider', scope, range, nowMs),
          watch.wrong(scope, operator),
        ]);
        return {
          range,
          account: account ?? null,
          from: new Date(fromMs).toISOString(),
          to: new Date(nowMs).toISOString(),
          step_s: ranges[range].stepMs / 1_000,
          ...rest,
          top: { models, accounts, providers: providers.filter(({ group }) => group !== '') },
          wrong,
        };
      },
    }),
  ];
}

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
