import { hourMs, minuteMs } from '../../kernel/clock.ts';

/**
 * How wide the stored quota buckets are, and the longest time in which they count (books/metering/window.ts): five hours,
 * and a calendar month with the hour of a changed clock.
 */
const spanOfGrainMs: ReadonlyMap<number, number> = new Map([
  [minuteMs, 5 * hourMs],
  [hourMs, (31 * 24 + 1) * hourMs],
  // One bucket, which never ends: what credit has paid.
  [0, Number.POSITIVE_INFINITY],
]);

/** The grain by which the newest use is found: the finest. */
export const finestGrainMs = minuteMs;

export const quotaGrainsMs: readonly number[] = [...spanOfGrainMs.keys()];

/** The first bucket that counts at `nowMs`, and one more for clocks that differ; those below are dead. */
export function deadBefore(grainMs: number, nowMs: number): number {
  return grainMs === 0 ? 0 : Math.floor((nowMs - (spanOfGrainMs.get(grainMs) ?? 0)) / grainMs) - 1;
}
