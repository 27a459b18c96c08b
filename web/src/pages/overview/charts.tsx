import type { Overview } from '../../../../src/admin/overview.ts';
import Chart from '../../parts/chart.tsx';
import { span, usd } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { WithoutPrice } from '../../parts/spend.tsx';
import { useChartLinks } from '../../parts/use-chart-links.ts';

interface ChartsProps {
  overview: Overview;
  range: Ranged;
  account: string | undefined;
}

/** Traffic in steps of time. */
export default function Charts({ overview: { series, totals, step_s }, range, account }: ChartsProps) {
  const times = series.map(({ at }) => Date.parse(at));
  const shared = { times, stepMs: step_s * 1_000, ...useChartLinks(range, { account }) };
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Requests">
        <Chart
          {...shared}
          label="Requests over time"
          kind="bars"
          series={[
            { label: 'Served', colour: 1, values: series.map(({ requests, errors }) => requests - errors) },
            { label: 'Failed', colour: 'bad', values: series.map(({ errors }) => errors) },
          ]}
        />
      </Section>
      <Section title="Spend">
        {totals.unpriced_requests > 0 && (
          <p className="mb-2 text-muted text-xs">
            Not shown: <WithoutPrice count={totals.unpriced_requests} at="models" />
          </p>
        )}
        <Chart
          {...shared}
          label="Spend over time"
          kind="bars"
          format={usd}
          series={[{ label: 'USD', colour: 2, values: series.map(({ cost_usd }) => cost_usd) }]}
        />
      </Section>
      <Section title="Tokens">
        <Chart
          {...shared}
          label="Tokens over time"
          kind="bars"
          series={[
            { label: 'Input', colour: 1, values: series.map(({ input_tokens }) => input_tokens) },
            { label: 'Output', colour: 3, values: series.map(({ output_tokens }) => output_tokens) },
          ]}
        />
      </Section>
      <Section title="Time to first token">
        <Chart
          {...shared}
          label="Time to first token over time"
          kind="lines"
          format={span}
          series={[
            {
              label: 'Median ≈',
              colour: 1,
              values: series.map(({ first_token_p50_ms }) => first_token_p50_ms),
              whole: totals.first_token_p50_ms,
            },
            {
              label: 'p95 ≈',
              colour: 3,
              values: series.map(({ first_token_p95_ms }) => first_token_p95_ms),
              whole: totals.first_token_p95_ms,
            },
          ]}
        />
      </Section>
    </div>
  );
}
