import Chart from '../../parts/chart.tsx';
import { shownZone } from '../../parts/ranges/zone.ts';
import { lastDays } from './last-days.ts';
import type { UsedRow } from './own-usage.ts';

const dayMs = 86_400_000;

/** Requests of the last 30 days, failed ones apart. */
export default function DayChart({ rows }: { rows: readonly UsedRow[] }) {
  const days = lastDays(Date.now(), shownZone());
  const byDay = new Map(rows.map((row) => [row.group, row]));
  const of = (value: (row: UsedRow) => number) =>
    days.map(({ date }) => {
      const row = byDay.get(date);
      return row === undefined ? 0 : value(row);
    });
  return (
    <Chart
      label="Requests by day"
      kind="bars"
      times={days.map(({ atMs }) => atMs)}
      stepMs={dayMs}
      series={[
        { label: 'Served', colour: 1, values: of(({ requests, errors }) => requests - errors) },
        { label: 'Failed', colour: 'bad', values: of(({ errors }) => errors) },
      ]}
    />
  );
}
