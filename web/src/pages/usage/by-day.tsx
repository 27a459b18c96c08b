import type { ReactNode } from 'react';
import type { Query } from '../../api/request.ts';
import Chart, { type Series } from '../../parts/chart.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Section } from '../../parts/page.tsx';
import { Pending } from '../../parts/skeleton.tsx';
import { WithoutPrice } from '../../parts/spend.tsx';
import { useChartLinks } from '../../parts/use-chart-links.ts';
import type { Ranged } from '../../parts/use-range.ts';
import { type Measure, measures } from './measures.ts';
import { type ByDay as Arranged, stepOf, type UsageRow, useByDay } from './use-by-day.ts';

/** Groups with a separate colour; all others are drawn together. */
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
  const { byDay, error } = useByDay(query, groupBy, range, of);
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
function Unpriced({ byDay: { parts } }: { byDay: Arranged }) {
  const count = parts.reduce((sum, { rows }) => rows.reduce((all, row) => all + (row?.unpriced_requests ?? 0), sum), 0);
  if (count === 0) return null;
  return (
    <p className="mb-2 text-muted text-xs">
      Not shown: <WithoutPrice count={count} at="models" />
    </p>
  );
}

function seriesOf({ parts, times }: Arranged, of: (row: UsageRow) => number, unnamed: string): Series[] {
  const values = (rows: (UsageRow | null)[]) => rows.map((row) => (row === null ? 0 : of(row)));
  const stacked = parts.slice(0, colours.length).map(({ group, name, rows }, at) => ({
    label: group === '' ? unnamed : name,
    colour: colours[at]!,
    values: values(rows),
  }));
  const others = parts.slice(colours.length).map(({ rows }) => values(rows));
  if (others.length === 0)
    return stacked.length > 0 ? stacked : [{ label: unnamed, colour: 1, values: times.map(() => 0) }];
  const sum = times.map((_, at) => others.reduce((total, row) => total + row[at]!, 0));
  return [...stacked, { label: `${others.length} others`, colour: 6, values: sum }];
}
