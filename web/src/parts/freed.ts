import { plural, usd } from './format.ts';
import type { WindowView } from './window-gauges.tsx';

/** Sums of money differ by less than this only by their rounding. */
const least = 1e-9;

/**
 * `3 units are available again`, for the next part of a window that leaves it. Where more than the limit is used, that is
 * less than stops counting, or none of it.
 */
export function freed({
  used,
  frees,
  measure,
  limit,
  calendar,
}: Pick<WindowView, 'used' | 'frees' | 'measure' | 'limit' | 'calendar'>): string {
  if (calendar !== null) return 'All of it is available again';
  const known = frees === null || frees === 0 ? null : frees;
  // Without a limit everything is available.
  const room = limit === null ? 0 : limit - used + (known ?? least);
  const isRoom = room > least / 2;
  if (known === null) return isRoom ? 'The next part is available again' : 'The oldest part stops counting';
  const part = isRoom ? Math.min(known, room) : known;
  if (measure === 'usd') return `${usd(part)} ${isRoom ? 'is available again' : 'stops counting'}`;
  const [is, stops] = part === 1 ? ['is', 'stops'] : ['are', 'stop'];
  return `${plural(part, measure.slice(0, -1), measure)} ${isRoom ? `${is} available again` : `${stops} counting`}`;
}
