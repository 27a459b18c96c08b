import { trafficGrainsMs, trafficRetentionMs } from '../books/ledger/minute-sums.ts';
import { hourMs } from '../kernel/clock.ts';

/** Beyond it hours are summed, though minutes may be kept. */
const minutesSpanMs = 48 * hourMs;
const pointsMax = 100;
/** Widths of points. */
const stepsMs = [1 / 60, 5 / 60, 1 / 4, 1, 2, 4, 8, 24, 48, 168].map((hours) => hours * hourMs);

/** Steps in which a period is drawn: whole minutes or hours around it, and the width of its points. */
export function pointsIn({ fromMs, toMs }: { fromMs: number; toMs: number }, nowMs: number) {
  const isWithinMinutes = fromMs >= nowMs - trafficRetentionMs.minute + hourMs && toMs - fromMs <= minutesSpanMs;
  const grain = isWithinMinutes ? 'minute' : 'hour';
  const grainMs = trafficGrainsMs[grain];
  const from = Math.floor(fromMs / grainMs) * grainMs;
  const to = Math.ceil(toMs / grainMs) * grainMs;
  const wide = stepsMs.find((stepMs) => stepMs >= grainMs && (to - from) / stepMs <= pointsMax);
  return {
    grain,
    fromMs: from,
    toMs: to,
    stepMs: wide ?? Math.ceil((to - from) / pointsMax / hourMs) * hourMs,
  } as const;
}
