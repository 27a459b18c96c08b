import type { AttemptsReply } from '../../../../src/admin/usage/attempts.ts';
import Chart, { type Series } from '../../parts/chart.tsx';
import { plural, span } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { useChartLinks } from '../../parts/use-chart-links.ts';
import type { AttemptRow } from './use-attempts.ts';

const colours = [1, 2, 3, 4, 5, 6] as const;

type Point = NonNullable<AttemptRow['points']>[number];

interface AttemptChartsProps {
  attempts: AttemptsReply;
  range: Ranged;
  /** Filters of the requests that a step leads to. */
  where: Record<string, string | undefined>;
}

/**
 * Failures and waits over time, a colour for each of the groups with the most attempts. Failures of all other groups are
 * drawn together: a group that fails is often asked least.
 */
export default function AttemptCharts({ attempts: { from, to, step_s, data }, range, where }: AttemptChartsProps) {
  const links = useChartLinks(range, where);
  const stepMs = step_s * 1_000;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const times = Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, (_, at) => fromMs + at * stepMs);
  // One colour is left for the others.
  const apart = data.length > colours.length ? data.slice(0, colours.length - 1) : data;
  const others = data.slice(apart.length);
  const over = <T,>(row: AttemptRow, of: (point: Point) => T, none: T) => {
    const byTime = new Map(row.points?.map((point) => [Date.parse(point.at), point]));
    return times.map((ms) => {
      const point = byTime.get(ms);
      return point === undefined ? none : of(point);
    });
  };
  const failures = (row: AttemptRow) => over(row, ({ failed }) => failed, 0);
  const failed = apart.map((row, at): Series => ({ label: row.group, colour: colours[at]!, values: failures(row) }));
  if (others.length > 0) {
    const sums = others.map(failures);
    const values = times.map((_, at) => sums.reduce((sum, one) => sum + (one[at] ?? 0), 0));
    failed.push({ label: plural(others.length, 'other'), colour: 6, values });
  }
  const notDrawn = others.reduce((sum, row) => sum + (row.points === undefined ? row.failed : 0), 0);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Failed attempts">
        <Chart label="Failed attempts over time" kind="bars" {...links} times={times} stepMs={stepMs} series={failed} />
        {notDrawn > 0 && (
          <p className="mt-2 text-muted text-xs">
            Not shown: {plural(notDrawn, 'failed attempt')} of groups with few attempts. The table has them.
          </p>
        )}
      </Section>
      <Section title="Time to first token, p95 ≈">
        <Chart
          label="Time to first token over time"
          kind="lines"
          format={span}
          {...links}
          times={times}
          stepMs={stepMs}
          series={apart.map((row, at) => ({
            label: row.group,
            colour: colours[at]!,
            values: over<number | null>(row, (point) => point.first_token_p95_ms, null),
            whole: row.first_token_p95_ms,
          }))}
        />
      </Section>
    </div>
  );
}
