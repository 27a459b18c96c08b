import { instantOf } from '../../parts/ranges/range.ts';

const dayMs = 86_400_000;

/** The last 30 days of UTC, each where a chart in this zone writes its date. */
export function lastDays(nowMs: number, zone: string): { date: string; atMs: number }[] {
  return Array.from({ length: 30 }, (_, at) => {
    const date = new Date(nowMs - (29 - at) * dayMs).toISOString().slice(0, 10);
    return { date, atMs: instantOf(`${date}T00:00`, zone) };
  });
}
