import type { AttemptsReply } from '../../../../src/admin/usage/attempts.ts';
import Chart, { type Series } from '../../parts/chart.tsx';
import { span } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { useChartLinks } from '../../parts/use-chart-links.ts';
import type { AttemptRow } from './use-attempts.ts';

/** Groups with a separate colour. */
const colours = [1, 2, 3, 4, 5, 6] as const;

type Point = NonNullable<AttemptRow['points']>[number];

interface AttemptChartsProps {
  attempts: AttemptsReply;
  range: Ranged;
  /** Filters of the requests that a step leads to. */
  where: Record<string, string | undefined>;
}

/** Failures and waits over time, a colour for each of the groups with the most attempts. */
export default function AttemptCharts({ attempts: { from, to, step_s, data }, range, where }: AttemptChartsProps) {
  const links = useChartLinks(range, where);
  const stepMs = step_s * 1_000;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const times = Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, (_, at) => fromMs + at * stepMs);
  const series = (
    of: (point: Point) => number | null,
    none: number | null,
    whole: (row: AttemptRow) => number | null,
  ) =>
    data.slice(0, colours.length).map((row, at): Series => {
      const byTime = new Map(row.points?.map((point) => [Date.parse(point.at), point]));
      const values = times.map((ms) => {
        const point = byTime.get(ms);
        return point === undefined ? none : of(point);
      });
      return { label: row.group, colour: colours[at] ?? 6, values, whole: whole(row) };
    });
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Failed attempts">
        <Chart
          label="Failed attempts over time"
          kind="bars"
          {...links}
          times={times}
          stepMs={stepMs}
          series={series(
            ({ failed }) => failed,
            0,
            ({ failed }) => failed,
          )}
        />
      </Section>
      <Section title="Time to first token, p95 ≈">
        <Chart
          label="Time to first token over time"
          kind="lines"
          format={span}
          {...links}
          times={times}
          stepMs={stepMs}
          series={series(
            ({ first_token_p95_ms }) => first_token_p95_ms,
            null,
            ({ first_token_p95_ms }) => first_token_p95_ms,
          )}
        />
      </Section>
    </div>
  );
}
