/** The three rolling windows of a plan, as config, errors and headers name them. */
export type WindowName = '5h' | 'week' | 'month';

/** Everything that is counted over time: the windows, and the minute of rpm and tpm. */
export type SpanName = 'minute' | WindowName;

/**
 * A rolling span and the buckets it is counted in. Bucket `b` holds [b · bucketMs, (b + 1) · bucketMs) and counts until
 * its *end* has left the span, so that no true sliding window is ever above the limit: `spanMs / bucketMs + 1` buckets
 * live at once, and a unit returns at most one bucket late (design §11).
 */
export interface Span {
  name: SpanName;
  spanMs: number;
  bucketMs: number;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;

export const spans: Readonly<Record<SpanName, Span>> = {
  minute: { name: 'minute', spanMs: minuteMs, bucketMs: 1_000 },
  '5h': { name: '5h', spanMs: 5 * hourMs, bucketMs: minuteMs },
  week: { name: 'week', spanMs: 7 * 24 * hourMs, bucketMs: hourMs },
  month: { name: 'month', spanMs: 30 * 24 * hourMs, bucketMs: hourMs },
};

export const windowNames: readonly WindowName[] = ['5h', 'week', 'month'];

/** In messages: `Rate limit exceeded: 5-hour window, …`. */
export const windowLabels: Readonly<Record<WindowName, string>> = {
  '5h': '5-hour window',
  week: 'weekly window',
  month: 'monthly window',
};

/** The bucket that an instant falls in. */
export function bucketAt(span: Span, atMs: number): number {
  return Math.floor(atMs / span.bucketMs);
}

/** The instant at which a bucket has left the span and its count is free. */
export function bucketLeavesAtMs(span: Span, bucket: number): number {
  return (bucket + 1) * span.bucketMs + span.spanMs;
}
