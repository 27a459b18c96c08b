import type { VariantTimes } from './experiment-book.ts';

/** Fewer requests of one variant say nothing. */
const requestsMin = 50;
/**
 * Standard deviations by which a difference must exceed chance: 1 in 30,000 for one look. Looks repeat, over requests that
 * overlap, so a usual bound such as 1.96 would be passed by chance within a day.
 */
const deviationsMin = 4;
/** Smaller differences may be certain, but no reason to take a variant out. */
const errorRateMoreMin = 0.02;
const slowerShareMin = 0.2;
const slowerMsMin = 100;

/** Why `other` is clearly worse than `first`, in words; null: it is not, or too little is known. */
export function whyClearlyWorse(first: readonly VariantTimes[], other: readonly VariantTimes[]): string | null {
  return moreErrors(first, other) ?? slower(first, other);
}

/** Two-proportion z-test with the pooled share. */
function moreErrors(first: readonly VariantTimes[], other: readonly VariantTimes[]): string | null {
  const [a, b] = [errorsOf(first), errorsOf(other)];
  if (a.n < requestsMin || b.n < requestsMin) return null;
  const more = b.errors / b.n - a.errors / a.n;
  const pooled = (a.errors + b.errors) / (a.n + b.n);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / a.n + 1 / b.n));
  if (more < errorRateMoreMin || more < deviationsMin * deviation) return null;
  const shown = ({ errors, n }: { errors: number; n: number }) => `${((errors / n) * 100).toFixed(1)} % of ${n}`;
  return `${shown(b)} requests failed, against ${shown(a)}`;
}

function errorsOf(rows: readonly VariantTimes[]): { n: number; errors: number } {
  const sum = { n: 0, errors: 0 };
  for (const { requests, errors } of rows) {
    sum.n += requests;
    sum.errors += errors;
  }
  return sum;
}

/** Mann and Whitney's U with the correction for ties, whatever the distribution of the times. */
function slower(first: readonly VariantTimes[], other: readonly VariantTimes[]): string | null {
  const groups = new Map<number, { a: number; b: number }>();
  const add = (rows: readonly VariantTimes[], name: 'a' | 'b') => {
    for (const { firstTokenMs, requests } of rows) {
      if (firstTokenMs === null) continue;
      const group = groups.get(firstTokenMs) ?? { a: 0, b: 0 };
      group[name] += requests;
      groups.set(firstTokenMs, group);
    }
  };
  add(first, 'a');
  add(other, 'b');
  const sorted = [...groups].toSorted(([x], [y]) => x - y);
  const [n, m] = [sumOf(sorted, 'a'), sumOf(sorted, 'b')];
  if (n < requestsMin || m < requestsMin) return null;
  const [was, is] = [medianOf(sorted, 'a', n), medianOf(sorted, 'b', m)];
  if (is - was < Math.max(slowerMsMin, was * slowerShareMin)) return null;
  let below = 0;
  let u = 0;
  let ties = 0;
  for (const [, { a, b }] of sorted) {
    u += b * (below + a / 2);
    below += a;
    ties += (a + b) ** 3 - (a + b);
  }
  const all = n + m;
  const deviation = Math.sqrt(((n * m) / 12) * (all + 1 - ties / (all * (all - 1))));
  if (u - (n * m) / 2 < deviationsMin * deviation) return null;
  return `half of its first tokens took more than ${is} ms, against ${was} ms`;
}

type Counts = readonly (readonly [ms: number, counts: { a: number; b: number }])[];

function sumOf(groups: Counts, name: 'a' | 'b'): number {
  return groups.reduce((sum, [, counts]) => sum + counts[name], 0);
}

function medianOf(groups: Counts, name: 'a' | 'b', all: number): number {
  let upTo = 0;
  for (const [ms, counts] of groups) {
    upTo += counts[name];
    if (upTo * 2 >= all) return ms;
  }
  return 0;
}
