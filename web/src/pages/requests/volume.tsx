import type { Query } from '../../api/request.ts';
import Chart from '../../parts/chart.tsx';
import { Section } from '../../parts/page.tsx';
import { anyTime } from '../../parts/ranges/range.ts';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { stepOf, useByDay } from '../usage/use-by-day.ts';

/** Fewer bars say no more than the list below. */
const barsMin = 3;

interface VolumeProps {
  /** Filters that sums of usage have, too. */
  query: Query;
  range: Ranged;
}

/** How many requests there were, by hour or day and outcome. Dragging or a click narrows the list to that time. */
export default function Volume({ query, range }: VolumeProps) {
  const { byDay, error } = useByDay(query, 'day', range, 'requests');
  const { times, stepMs, parts } = byDay ?? { times: [], stepMs: 1, parts: [] };
  if (error !== null || (byDay !== undefined && times.length < barsMin)) return null;
  const rows = parts[0]?.rows ?? times.map(() => null);
  return (
    <Section>
      <div className="min-h-[102px]">
        {range.text === anyTime && <p className="float-right text-muted text-xs">Last 30 days</p>}
        {byDay !== undefined && (
          <Chart
            label={`Requests by ${stepOf(range)}`}
            kind="bars"
            height={76}
            times={times}
            stepMs={stepMs}
            onZoom={range.zoom}
            onPick={range.zoom}
            series={[
              { label: 'Served', colour: 1, values: rows.map((row) => (row === null ? 0 : row.requests - row.errors)) },
              { label: 'Failed', colour: 'bad', values: rows.map((row) => row?.errors ?? 0) },
            ]}
          />
        )}
      </div>
    </Section>
  );
}
