import { z } from 'zod';
import type { Operator } from '../../books/auth/operator.ts';
import type { VariantState } from '../../books/metering/experiments/experiment-book.ts';
import { type VariantResult, variantResults } from '../../books/metering/experiments/experiment-results.ts';
import { aliasFor } from '../../config/alias-pattern.ts';
import type { ModelConfig } from '../../config/schema.ts';
import { shapeOf } from '../../inference/models/create-alias.ts';
import { requestedAccounts } from '../account-scope.ts';
import { csvLine } from '../csv.ts';
import type { Records } from '../directory.ts';
import { filter, pastInstant, timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse, textOperation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { periodOf } from '../requests.ts';

const query = z.strictObject({
  account: filter('Only requests of this account.'),
  from: pastInstant('Start of the range. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the range, not included. Default: now.').optional(),
});

const interval = z.array(z.number()).length(2).nullable();

const metric = z.object({
  metric: z.string(),
  kind: z.enum(['boolean', 'number']),
  n: z.int(),
  mean: z.number().describe('Of booleans, the share of true.'),
  interval: interval.describe('95% interval of the mean: Wilson for booleans, Student’s t for numbers. null: n is 1.'),
});

const variantResult = z.object({
  variant: z.string().nullable().describe('null: requests without a variant.'),
  weight: z.number().nullable().describe('null: the model has no such variant now.'),
  out: z
    .object({ since: timeField, reason: z.string() })
    .nullable()
    .describe('Since when it is out, because it was clearly worse; null: it takes part.'),
  requests: z.int(),
  errors: z.int().describe('Requests whose class is not ok.'),
  error_rate: z.number().nullable(),
  error_rate_interval: interval.describe('95% interval (Wilson). null: there are no requests.'),
  cost_usd: z.number(),
  cost_usd_per_request: z.number().nullable(),
  first_token_ms: z.object({ p50: z.int(), p95: z.int() }).nullable().describe('null: no request had a first token.'),
  metrics: z.array(metric).describe('Of feedback, by metric.'),
});

const resultsReply = z.object({
  object: z.literal('results'),
  model: z.string(),
  from: timeField,
  to: timeField,
  variants: z.array(variantResult).describe('In the order of the configuration, then those that it has no more.'),
});

/** For pages that show them. */
export type ResultsReply = z.output<typeof resultsReply>;

/** `/models/{id}/results`: what the variants of a model came to; and back with one that was taken out. */
export function resultsOperations(parts: AdminParts, records: Pick<Records, 'note'>): Operation[] {
  const path = '/models/{id}/results';
  const area = 'usage';
  return [
    jsonOperation({
      route: `GET ${path}`,
      area,
      summary: 'Compares the variants of a model: requests, errors, cost, time to the first token, and feedback.',
      query,
      reply: resultsReply,
      run: (call) => resultsOf(parts, call.params.id, call.query, call.operator),
    }),
    textOperation({
      route: `GET ${path}.csv`,
      area,
      summary: 'Exports the results as CSV: a row for each variant and metric.',
      query,
      contentType: 'text/csv; charset=utf-8; header=present',
      run: async (call) => csvOf(await resultsOf(parts, call.params.id, call.query, call.operator)),
    }),
    jsonOperation({
      route: 'POST /models/{id}/variants/{variant}/restore',
      area: 'models',
      summary: 'Lets a variant take part again that `rollback: auto` took out. It is compared from now on.',
      reply: z.object({ model: z.string(), variant: z.string() }),
      async run({ params: { id, variant }, operator }) {
        const { ledger, clock, snapshots } = parts;
        const model = aliasFor(snapshots.current.config.models, id)?.model;
        const experiment = { alias: id, shape: model === undefined ? '' : shapeOf(model) };
        if (!(await ledger.experiments.takeBack(experiment, variant, clock.wallMs()))) {
          const message = `The model '${id.slice(0, 256)}' has no variant '${variant.slice(0, 64)}' that is out.`;
          refuse({ kind: 'not-found', message });
        }
        const subject = `${id}/${variant}`;
        await records.note({ actor: operator.name, action: 'variant.restore', subject, after: null });
        return { model: id, variant };
      },
    }),
  ];
}

async function resultsOf(
  { ledger, clock, snapshots }: AdminParts,
  id: string,
  request: z.output<typeof query>,
  operator: Operator,
): Promise<ResultsReply> {
  const model = aliasFor(snapshots.current.config.models, id)?.model ?? null;
  const variants: NonNullable<ModelConfig['variants']> = model?.variants ?? {};
  const period = periodOf(request, clock.wallMs());
  const accounts = requestedAccounts(request.account, operator.accounts);
  const states = model === null ? [] : await ledger.experiments.states({ alias: id, shape: shapeOf(model) });
  const rows = await ledger.experiments.results({ alias: id, accounts, ...period });
  if (rows.times.length === 0 && model === null) {
    refuse({ kind: 'not-found', message: `There is no model '${id.slice(0, 256)}', and it had no requests then.` });
  }
  const results = variantResults(rows, Object.keys(variants));
  return {
    object: 'results',
    model: id,
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
    variants: results.map((result) => ({
      ...shown(result, variants[result.variant ?? '']?.weight ?? null),
      out: outIn(states, result.variant),
    })),
  };
}

type Shown = ResultsReply['variants'][number];

function outIn(states: readonly VariantState[], name: string | null): Shown['out'] {
  const out = states.find(({ variant }) => variant === name)?.out ?? null;
  return out && { since: new Date(out.atMs).toISOString(), reason: out.reason };
}

function shown(result: VariantResult, weight: number | null): Omit<Shown, 'out'> {
  const { variant, requests, errors, errorRate, errorRateInterval, costUsd, firstTokenMs, metrics } = result;
  return {
    variant,
    weight,
    requests,
    errors,
    error_rate: errorRate,
    error_rate_interval: errorRateInterval && [...errorRateInterval],
    cost_usd: costUsd,
    cost_usd_per_request: requests === 0 ? null : costUsd / requests,
    first_token_ms: firstTokenMs,
    metrics: metrics.map(({ interval: bounds, ...rest }) => ({ ...rest, interval: bounds && [...bounds] })),
  };
}

const columns = [
  ['variant', ({ variant }) => variant],
  ['weight', ({ weight }) => weight],
  ['out', ({ out }) => out?.reason ?? null],
  ['requests', ({ requests }) => requests],
  ['errors', ({ errors }) => errors],
  ['error_rate', (row) => row.error_rate],
  ['error_rate_low', (row) => row.error_rate_interval?.[0] ?? null],
  ['error_rate_high', (row) => row.error_rate_interval?.[1] ?? null],
  ['cost_usd', (row) => row.cost_usd],
  ['cost_usd_per_request', (row) => row.cost_usd_per_request],
  ['first_token_p50_ms', (row) => row.first_token_ms?.p50 ?? null],
  ['first_token_p95_ms', (row) => row.first_token_ms?.p95 ?? null],
] as const satisfies [string, (row: ResultsReply['variants'][number]) => string | number | null][];

const metricColumns = [
  ['metric', (row) => row?.metric ?? null],
  ['kind', (row) => row?.kind ?? null],
  ['n', (row) => row?.n ?? null],
  ['mean', (row) => row?.mean ?? null],
  ['mean_low', (row) => row?.interval?.[0] ?? null],
  ['mean_high', (row) => row?.interval?.[1] ?? null],
] as const satisfies [string, (row: z.output<typeof metric> | null) => string | number | null][];

/** A variant without feedback has one row, without a metric. */
function csvOf({ variants }: ResultsReply): string {
  const rows = variants.flatMap((variant) =>
    (variant.metrics.length === 0 ? [null] : variant.metrics).map((rated) =>
      csvLine([...columns.map(([, of]) => of(variant)), ...metricColumns.map(([, of]) => of(rated))]),
    ),
  );
  return csvLine([...columns, ...metricColumns].map(([name]) => name)) + rows.join('');
}
