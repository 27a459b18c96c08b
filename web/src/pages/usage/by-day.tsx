import type { ReactNode } from 'react';
import type { Query } from '../../api/request.ts';
import Chart, { type Series } from '../../parts/chart.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { Pending } from '../../parts/skeleton.tsx';
import { WithoutPrice } from '../../parts/spend.tsx';
import { useChartLinks } from '../../parts/use-chart-links.ts';
import { type Measure, measures, type UsageRow } from './measures.ts';
import { type ByDay as Arranged, stepOf, useByDay } from './use-by-day.ts';

/** One for each group that is drawn apart. */
const colours = [1, 2, 3, 4, 5] as const;

interface ByDayProps {
  query: Query;
  groupBy: string;
  range: Ranged;
  measure: Measure;
  actions?: ReactNode;
}

/** One measure over time, by group. */
export default function ByDay({ query, groupBy, range, measure, actions }: ByDayProps) {
  const { label, of, format } = measures[measure];
  const links = useChartLinks(range, query as Record<string, string | undefined>);
  const { byDay, error } = useByDay(query, groupBy, range, measure);
  const group = groupBy.replace('_', ' ');
  return (
    <Section title={`${label} by ${stepOf(range)}${groupBy === 'day' ? '' : ` and ${group}`}`} actions={actions}>
      {error !== null && <ErrorNote error={error} />}
      {byDay === undefined && error === null && <Pending className="h-48" />}
      {measure === 'cost_usd' && byDay !== undefined && <Unpriced byDay={byDay} />}
      {byDay !== undefined && (
        <Chart
          label={`${label} over time`}
          {...links}
          kind="bars"
          height={200}
          times={byDay.times}
          stepMs={byDay.stepMs}
          format={format}
          series={seriesOf(byDay, of, groupBy === 'day' ? label : `No ${group}`)}
        />
      )}
    </Section>
  );
}

/** Requests that a chart of cost cannot draw. */
function Unpriced({ byDay: { parts, others } }: { byDay: Arranged }) {
  const rows = [...parts, ...(others === null ? [] : [others])].flatMap((part) => part.rows);
  const count = rows.reduce((sum, row) => sum + (row?.unpriced_requests ?? 0), 0);
  if (count === 0) return null;
  return (
    <p className="mb-2 text-muted text-xs">
      Not shown: <WithoutPrice count={count} at="models" />
    </p>
  );
}

function seriesOf({ parts, others, times }: Arranged, of: (row: UsageRow) => number, unnamed: string): Series[] {
  const values = (rows: (UsageRow | null)[]) => rows.map((row) => (row === null ? 0 : of(row)));
  const stacked: Series[] = parts.map(({ group, name, rows }, at) => ({
    label: group === '' ? unnamed : name,
    colour: colours[at]!,
    values: values(rows),
  }));
  if (others !== null) stacked.push({ label: plural(others.count, 'other'), colour: 6, values: values(others.rows) });
  return stacked.length > 0 ? stacked : [{ label: unnamed, colour: 1, values: times.map(() => 0) }];
}
