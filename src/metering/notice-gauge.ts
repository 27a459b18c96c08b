import type { Limit } from './counters.ts';

/** One share of a limit, and what is known of it. Amounts in the limit's whole numbers. */
export interface Mark {
  share: number;
  /** Used up to here or more: it is crossed. */
  at: number;
  /** Below this a crossed one may be told again. */
  rearmBelow: number;
  crossed: boolean;
}

/** A limit with shares to watch. Mutable: it is looked at on every request, and almost never moves. */
export interface Gauge {
  limit: Limit;
  /** Ascending. */
  marks: readonly Mark[];
  /** Nothing is to be done while `down` ≤ used < `up`. */
  up: number;
  down: number;
}

/** How far use must fall below a share before the next crossing is news: use that flickers around it is not. */
const rearmShare = 0.05;

/** Null for what is no window, or cannot fill up. */
export function gaugeOf(limit: Limit, shares: readonly number[], known: (share: number) => boolean): Gauge | null {
  const { measure, span, allowed } = limit;
  if (measure === 'calls' || span === 'minute' || !(allowed > 0) || allowed === Number.POSITIVE_INFINITY) return null;
  const marks = [...new Set(shares)]
    .sort((a, b) => a - b)
    .map((share) => ({
      share,
      // 0.07 × 100 is 7.000000000000001 to the machine, and 7 to whoever wrote it.
      at: Math.ceil(share * allowed - 1e-6),
      rearmBelow: Math.max(share - rearmShare, share / 2) * allowed,
      crossed: known(share),
    }));
  const gauge: Gauge = { limit, marks, up: 0, down: 0 };
  setBounds(gauge);
  return gauge;
}

/** After marks have moved. */
export function setBounds(gauge: Gauge): void {
  gauge.up = Number.POSITIVE_INFINITY;
  gauge.down = Number.NEGATIVE_INFINITY;
  for (const mark of gauge.marks) {
    if (mark.crossed) gauge.down = Math.max(gauge.down, mark.rearmBelow);
    else gauge.up = Math.min(gauge.up, mark.at);
  }
}
