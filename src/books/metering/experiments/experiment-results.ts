import type { ExperimentRows, VariantRatings, VariantTimes } from './experiment-book.ts';

/** Bounds that hold the true value in 95 of 100 cases. */
export type Interval = readonly [low: number, high: number];

export interface MetricResult {
  metric: string;
  kind: 'boolean' | 'number';
  n: number;
  /** Mean of the values; for booleans, the share of true. */
  mean: number;
  /** Null: one number has none. */
  interval: Interval | null;
}

export interface VariantResult {
  /** Null: requests from before the model had variants. */
  variant: string | null;
  requests: number;
  errors: number;
  /** Null: there are no requests. */
  errorRate: number | null;
  errorRateInterval: Interval | null;
  costUsd: number;
  firstTokenMs: { p50: number; p95: number } | null;
  metrics: readonly MetricResult[];
}

/** Results by variant: those of `variants` in their order, then others that have requests. */
export function variantResults({ times, ratings }: ExperimentRows, variants: readonly string[]): VariantResult[] {
  const seen = new Set<string | null>([...variants, ...times.map(variantOf), ...ratings.map(variantOf)]);
  return [...seen].map((variant) => {
    const ofVariant = times.filter((row) => row.variant === variant);
    const requests = sumOf(ofVariant, (row) => row.requests);
    const errors = sumOf(ofVariant, (row) => row.errors);
    return {
      variant,
      requests,
      errors,
      errorRate: requests === 0 ? null : errors / requests,
      errorRateInterval: requests === 0 ? null : wilson(errors, requests),
      costUsd: sumOf(ofVariant, (row) => row.costUsd),
      firstTokenMs: quantiles(ofVariant),
      metrics: ratings.filter((row) => row.variant === variant).map(metricResult),
    };
  });
}

function variantOf({ variant }: { variant: string | null }): string | null {
  return variant;
}

function sumOf(rows: readonly VariantTimes[], of: (row: VariantTimes) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0);
}

/** Nearest ranks. */
function quantiles(rows: readonly VariantTimes[]): { p50: number; p95: number } | null {
  const times = rows
    .flatMap(({ firstTokenMs: ms, requests }) => (ms === null ? [] : [{ ms, requests }]))
    .toSorted((a, b) => a.ms - b.ms);
  const all = times.reduce((sum, { requests }) => sum + requests, 0);
  if (all === 0) return null;
  const at = (share: number) => {
    let below = 0;
    for (const { ms, requests } of times) {
      below += requests;
      if (below >= Math.ceil(all * share)) return ms;
    }
    return times.at(-1)?.ms ?? 0;
  };
  return { p50: at(0.5), p95: at(0.95) };
}

function metricResult({ metric, kind, n, sum, sumOfSquares }: VariantRatings): MetricResult {
  const mean = sum / n;
  if (kind === 'boolean') return { metric, kind, n, mean, interval: wilson(sum, n) };
  if (n < 2) return { metric, kind, n, mean, interval: null };
  // Rounding may take the difference of equal values below 0.
  const variance = Math.max(0, sumOfSquares - n * mean * mean) / (n - 1);
  const half = studentQuantile(n - 1) * Math.sqrt(variance / n);
  return { metric, kind, n, mean, interval: [mean - half, mean + half] };
}

/** 97.5 % quantile of the normal distribution. */
const z = 1.959964;

/** Interval of a share of `hits` in `n` (E. B. Wilson 1927): right for small numbers and shares near 0 and 1 too. */
export function wilson(hits: number, n: number): Interval {
  const share = hits / n;
  const scale = 1 + (z * z) / n;
  const middle = (share + (z * z) / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** 97.5 % quantile of Student's t, to 1 %: exact for two degrees of freedom, then Abramowitz and Stegun 26.7.5. */
export function studentQuantile(freedom: number): number {
  const exact = [12.706, 4.303][freedom - 1];
  if (exact !== undefined) return exact;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}
