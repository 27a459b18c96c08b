import type { VariantTimes } from './experiment-book.ts';

/** Fewer requests of one variant say nothing. */
const requestsMin = 50;
/**
 * Standard deviations by which a difference must exceed chance: 1 in 30,000 for one look. Looks repeat, over requests that
 * overlap, so a usual bound such as 1.96 would be passed by chance within a day.
 */
const deviationsMin = 4;
/** The same for callers, of whom each has one variant for good: looks that repeat ask the same callers. 1 in 740. */
const callerDeviationsMin = 3;
/** Smaller differences may be certain, but no reason to take a variant out. */
const errorRateMoreMin = 0.02;
const slowerShareMin = 0.2;
const slowerMsMin = 100;

/** How one variant is clearly worse than another one. */
export interface Worse {
  /** `faults`: in errors that no caller brings about. `errors`: in all. `times`: its first tokens come later. */
  in: 'faults' | 'errors' | 'times';
  /** In words. */
  reason: string;
}

/** How `other` is clearly worse than `first`; null: it is not, or too little is known. */
export function clearlyWorse(first: readonly VariantTimes[], other: readonly VariantTimes[]): Worse | null {
  return moreErrors(first, other, 'faults') ?? moreErrors(first, other, 'errors') ?? slower(first, other);
}

/**
 * Whether `other` is clearly worse in the same way without any one of those in `by`: else one account would decide for all.
 * `rows` has both variants.
 */
export function isWorseWithoutAny(
  rows: readonly VariantTimes[],
  { in: how }: Worse,
  { first, other }: { first: string; other: string },
): boolean {
  const names = new Set(rows.map(({ by }) => by).filter((by) => by !== null));
  return [...names].every((name) => {
    const left = rows.filter(({ by }) => by !== name);
    const of = (variant: string) => left.filter((row) => row.variant === variant);
    return compared[how](of(first), of(other)) !== null;
  });
}

type Compare = (first: readonly VariantTimes[], other: readonly VariantTimes[]) => Worse | null;

const compared: Readonly<Record<Worse['in'], Compare>> = {
  faults: (first, other) => moreErrors(first, other, 'faults'),
  errors: (first, other) => moreErrors(first, other, 'errors'),
  times: slower,
};

/** Two-proportion z-test with the pooled share. */
function moreErrors(
  first: readonly VariantTimes[],
  other: readonly VariantTimes[],
  counted: 'faults' | 'errors',
): Worse | null {
  const [a, b] = [errorsOf(first, counted), errorsOf(other, counted)];
  if (a.n < requestsMin || b.n < requestsMin) return null;
  const more = b.errors / b.n - a.errors / a.n;
  const pooled = (a.errors + b.errors) / (a.n + b.n);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / a.n + 1 / b.n));
  if (more < errorRateMoreMin || more < deviationsMin * deviation) return null;
  const shown = ({ errors, n }: { errors: number; n: number }) => `${((errors / n) * 100).toFixed(1)}% of ${n}`;
  return { in: counted, reason: `${shown(b)} requests failed, against ${shown(a)}` };
}

function errorsOf(rows: readonly VariantTimes[], counted: 'faults' | 'errors'): { n: number; errors: number } {
  const sum = { n: 0, errors: 0 };
  for (const row of rows) {
    sum.n += row.requests;
    sum.errors += row[counted];
  }
  return sum;
}

/** The rank test over requests, whatever the distribution of the times. */
function slower(first: readonly VariantTimes[], other: readonly VariantTimes[]): Worse | null {
  const sorted = countsOf(first, other);
  const [n, m] = [sumOf(sorted, 'a'), sumOf(sorted, 'b')];
  if (n < requestsMin || m < requestsMin) return null;
  const [was, is] = [medianOf(sorted, 'a', n), medianOf(sorted, 'b', m)];
  if (is - was < Math.max(slowerMsMin, was * slowerShareMin)) return null;
  if (deviationsOf(sorted) < deviationsMin) return null;
  return { in: 'times', reason: `half of its first tokens took more than ${is} ms, against ${was} ms` };
}

/**
 * Whether the callers of `other` wait longer than those of `first`, each caller counted once by its middle time: one who
 * asks a lot, or for what takes long, is no reason. Only rows with a name in `by` count.
 */
export function isSlowerByCaller(
  rows: readonly VariantTimes[],
  { first, other }: { first: string; other: string },
): boolean {
  const middles = (variant: string): VariantTimes[] => {
    const ofVariant = rows.filter((row) => row.variant === variant && row.by !== null && row.firstTokenMs !== null);
    return [...Map.groupBy(ofVariant, ({ by }) => by).values()].flatMap(([one, ...more]) => {
      if (one === undefined) return [];
      const counts = countsOf([one, ...more], []);
      return [{ ...one, firstTokenMs: medianOf(counts, 'a', sumOf(counts, 'a')), requests: 1 }];
    });
  };
  return deviationsOf(countsOf(middles(first), middles(other))) >= callerDeviationsMin;
}

function countsOf(first: readonly VariantTimes[], other: readonly VariantTimes[]): Counts {
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
  return [...groups].toSorted(([x], [y]) => x - y);
}

/** Standard deviations by which Mann and Whitney's U of `b` is above chance, with the correction for ties. */
function deviationsOf(sorted: Counts): number {
  let [below, u, ties] = [0, 0, 0];
  for (const [, { a, b }] of sorted) {
    u += b * (below + a / 2);
    below += a;
    ties += (a + b) ** 3 - (a + b);
  }
  const [n, m] = [sumOf(sorted, 'a'), sumOf(sorted, 'b')];
  const all = n + m;
  const deviation = Math.sqrt(((n * m) / 12) * (all + 1 - ties / (all * (all - 1))));
  return deviation > 0 ? (u - (n * m) / 2) / deviation : 0;
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
