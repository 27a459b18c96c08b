import { z } from 'zod';
import {
  type AttemptQuery,
  type AttemptSum,
  attemptGroups,
  attemptRowsMax,
  quantileMs,
} from '../../books/ledger/traffic-queries.ts';
import { hourMs } from '../../kernel/clock.ts';
import { forbidden } from '../../kernel/failure.ts';
import { definedMembers, filter, listLimitMax, listOf, pageFields, pastInstant, timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import { pageByPlace } from '../page.ts';
import type { AdminParts } from '../parts.ts';
import { pointsIn } from '../points.ts';
import { periodOf } from '../requests.ts';

const defaultSpanMs = 24 * hourMs;
/** Rows that have points, by attempts and again by failures: more lines than a chart can tell apart. */
const drawnMax = 12;

/** Ends that say nothing against the provider. */
const blameless = new Set(
  'ok cancelled caller_fault caller_credential filtered too_long not_capable gateway_fault'.split(' '),
);

const ms = z.int().nullable();
const figures = {
  attempts: z.int(),
  failed: z.int().describe("Attempts that ended badly by the provider's fault."),
  retried: z.int().describe('Failures after which the request went on with another attempt.'),
  hedges: z.int().describe('Attempts that began while another one of their request still ran.'),
  first_token_p50_ms: ms.describe('Of answered attempts; null: there is none. All percentiles are of bins.'),
  first_token_p95_ms: ms,
  first_token_p99_ms: ms,
  total_p50_ms: ms.describe('From dispatch to the end, of answered attempts.'),
  total_p95_ms: ms,
  total_p99_ms: ms,
  tokens_per_s: z.number().nullable().describe('Of answers, from the first token to the end.'),
};

const attemptRow = z.object({
  group: z.string(),
  ...figures,
  failures: z.record(z.string(), z.int()).describe('Attempts that were not answered, by class.'),
  points: z
    .array(z.object({ at: timeField.describe('Its first instant.'), ...figures }))
    .optional()
    .describe('Steps of time, with `points`; one without an attempt is left out.'),
});

const attemptsReply = listOf(attemptRow).extend({
  group_by: z.enum(attemptGroups),
  from: timeField.describe('The first instant of what the sums cover.'),
  to: timeField,
  step_s: z.int().describe('Seconds of one point.'),
});

export type AttemptsReply = z.output<typeof attemptsReply>;
type Figures = z.output<z.ZodObject<typeof figures>>;

/** Models are named by callers, and these sums do not know whose a request was. */
const ofAllAccounts = forbidden(
  'Attempts by model are those of all accounts. An operator of some accounts may group them otherwise.',
);

/** `/attempts`: who was asked, how that ended and how long it took. No account is in these sums. */
export function attemptOperations({ ledger, clock }: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /attempts',
      area: 'health',
      summary: 'Sums attempts at providers by group, those with the most attempts first.',
      query: z.strictObject({
        ...pageFields,
        limit: pageFields.limit.prefault(listLimitMax),
        group_by: z.enum(attemptGroups).default('provider').describe('What the rows are grouped by.'),
        provider: filter('Only attempts at this provider.'),
        target: filter('Only attempts at this target, provider/model.'),
        credential: filter('Only attempts with this credential.'),
        model: filter('Only attempts for requests of this model.'),
        from: pastInstant('Start of the range. Default: 24 hours before `to`.').optional(),
        to: pastInstant('End of the range. Default: now.').optional(),
        points: z
          .stringbool()
          .default(false)
          .describe(
            `Whether the ${drawnMax} rows with the most attempts, and as many with the most failures, have points.`,
          ),
      }),
      reply: attemptsReply,
      async run({ query: { group_by: groupBy, from, to, points, limit, cursor, ...filters }, operator }) {
        if (operator.accounts !== null && (groupBy === 'model' || filters.model !== undefined)) refuse(ofAllAccounts);
        const nowMs = clock.wallMs();
        const start = (endMs: number) => endMs - defaultSpanMs;
        const period = periodOf({ from: from ?? (() => start(to?.(nowMs) ?? nowMs)), to }, nowMs);
        const span = pointsIn(period, nowMs);
        const where = definedMembers(filters);
        const query = { groupBy, where, groups: null, ...span, stepMs: null };
        // Steps give the sums too, in one pass over the rows, unless there are too many of them.
        const steps = points ? await ledger.attempts({ ...query, stepMs: span.stepMs }) : [];
        const isWhole = points && steps.length < attemptRowsMax;
        const rows = [...Map.groupBy(isWhole ? steps : await ledger.attempts(query), ({ group }) => group)];
        const shown = rows
          .map(([group, sums]) => ({ group, ...figuresOf(sums, groupBy), failures: failuresOf(sums) }))
          .sort((a, b) => b.attempts - a.attempts || (a.group < b.group ? -1 : 1));
        const page = pageByPlace(shown, { limit, cursor });
        const failing = page.rows.filter((row) => row.failed > 0).sort((a, b) => b.failed - a.failed);
        const most = [...page.rows.slice(0, drawnMax), ...failing.slice(0, drawnMax)].map(({ group }) => group);
        const drawn = points ? [...new Set(most)] : [];
        const some = { ...query, groups: drawn, stepMs: span.stepMs };
        const series = pointsOf(isWhole || !points ? steps : await ledger.attempts(some), groupBy);
        return {
          group_by: groupBy,
          from: new Date(span.fromMs).toISOString(),
          to: new Date(span.toMs).toISOString(),
          step_s: span.stepMs / 1_000,
          data: page.rows.map((row) => ({ ...row, ...(drawn.includes(row.group) && { points: series(row.group) }) })),
          next_cursor: page.next,
        };
      },
    }),
  ];
}

/** The figures over time of a group. */
function pointsOf(steps: readonly AttemptSum[], groupBy: AttemptQuery['groupBy']) {
  const byGroup = Map.groupBy(steps, ({ group }) => group);
  return (group: string) =>
    [...Map.groupBy(byGroup.get(group) ?? [], ({ fromMs }) => fromMs)]
      .sort(([a], [b]) => a - b)
      .map(([fromMs, ofStep]) => ({ at: new Date(fromMs).toISOString(), ...figuresOf(ofStep, groupBy) }));
}

function figuresOf(sums: readonly AttemptSum[], groupBy: AttemptQuery['groupBy']): Figures {
  const timed = sums.filter((sum) => groupBy === 'class' || sum.class === 'ok');
  const add = (all: readonly AttemptSum[], of: (sum: AttemptSum) => number) =>
    all.reduce((sum, one) => sum + of(one), 0);
  const [firstTokens, totals] = [binsOf(timed.map((one) => one.firstTokens)), binsOf(timed.map((one) => one.totals))];
  const outputMs = add(sums, (one) => one.outputMs);
  return {
    attempts: add(sums, (one) => one.attempts),
    failed: add(sums, (one) => (blameless.has(one.class) ? 0 : one.attempts)),
    retried: add(sums, (one) => one.retried),
    hedges: add(sums, (one) => one.hedges),
    first_token_p50_ms: quantileMs(firstTokens, 0.5),
    first_token_p95_ms: quantileMs(firstTokens, 0.95),
    first_token_p99_ms: quantileMs(firstTokens, 0.99),
    total_p50_ms: quantileMs(totals, 0.5),
    total_p95_ms: quantileMs(totals, 0.95),
    total_p99_ms: quantileMs(totals, 0.99),
    tokens_per_s: outputMs === 0 ? null : Math.round((add(sums, (one) => one.outputTokens) / outputMs) * 10_000) / 10,
  };
}

function binsOf(counts: readonly (readonly number[])[]): number[] {
  const sum: number[] = [];
  for (const bins of counts) for (const [bin, count] of bins.entries()) sum[bin] = (sum[bin] ?? 0) + count;
  return sum;
}

function failuresOf(sums: readonly AttemptSum[]): Record<string, number> {
  const failures = new Map<string, number>();
  for (const { class: outcome, attempts } of sums)
    if (outcome !== 'ok') failures.set(outcome, (failures.get(outcome) ?? 0) + attempts);
  return Object.fromEntries(failures);
}
