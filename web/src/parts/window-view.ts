/** How full one limit is. */
export interface WindowView {
  window: 'minute' | '5h' | 'week' | 'month';
  /** Its period of the calendar; null: a rolling window. */
  calendar: { period: 'day' | 'week' | 'month'; time_zone: string } | null;
  measure: 'requests' | 'units' | 'tokens' | 'usd';
  /** Only requests of this tier; null: all. */
  tier: string | null;
  used: number;
  /** Null: unlimited. */
  limit: number | null;
  /** From so much on requests are warned, and pass; null: never. */
  soft: number | null;
  /** ISO; null: nothing is counted. */
  freesAt: string | null;
  /** How much then; null: not known. */
  frees: number | null;
}

/** Sums of money differ by less than this only by their rounding. */
const least = 1e-9;

/**
 * The next part of a rolling window that leaves it, null where it is not known, and whether that makes room. Where more than
 * the limit is used, less of it is available again, or nothing.
 */
export function freed({ used, frees, limit }: Pick<WindowView, 'used' | 'frees' | 'limit'>): {
  part: number | null;
  is: 'available again' | 'not counted any more';
} {
  const part = frees === 0 ? null : frees;
  // Without a limit everything is available.
  const room = limit === null ? 0 : limit - used + (part ?? least);
  if (room <= least / 2) return { part, is: 'not counted any more' };
  return { part: part === null ? null : Math.min(part, room), is: 'available again' };
}
