import Chart from '../../parts/chart.tsx';
import type { UsedRow } from './own-usage.ts';

const dayMs = 86_400_000;
const days = 30;

/** Requests of the last 30 days, failed ones apart. */
export default function DayChart({ rows }: { rows: readonly UsedRow[] }) {
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
  const times = Array.from({ length: days }, (_, at) => todayMs - (days - 1 - at) * dayMs);
  const byDay = new Map(rows.map((row) => [Date.parse(row.group), row]));
  const of = (value: (row: UsedRow) => number) =>
    times.map((atMs) => {
      const row = byDay.get(atMs);
      return row === undefined ? 0 : value(row);
    });
  return (
    <Chart
      label="Requests by day"
      kind="bars"
      times={times}
      stepMs={dayMs}
      series={[
        { label: 'Served', colour: 1, values: of(({ requests, errors }) => requests - errors) },
        { label: 'Failed', colour: 'bad', values: of(({ errors }) => errors) },
      ]}
    />
  );
}
