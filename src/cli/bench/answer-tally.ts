import type { Answered } from './ask-once.ts';

export interface Spread {
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** Results of a run. Times are ms of whole answers; null when there was none. */
export interface Results {
  requests: number;
  failed: number;
  seconds: number;
  requestsPerSecond: number;
  ms: Spread | null;
  firstTokenMs: Spread | null;
  /** Counts by outcome, each with the message of its first error. */
  outcomes: readonly { outcome: string; count: number; message: string | null }[];
}

const outcomesMax = 50;

/** Collects answers; `requestsMax` of the run bounds its memory. */
export function createTally(): { add(answered: Answered): void; results(elapsedMs: number): Results } {
  const times: number[] = [];
  const firstTokens: number[] = [];
  const outcomes = new Map<string, { count: number; message: string | null }>();
  let requests = 0;
  let failed = 0;
  return {
    add({ outcome, ok, ms, firstTokenMs, message }) {
      requests++;
      if (ok) times.push(ms);
      else failed++;
      if (firstTokenMs !== null) firstTokens.push(firstTokenMs);
      const name = outcomes.has(outcome) || outcomes.size < outcomesMax ? outcome : 'other';
      const known = outcomes.get(name);
      if (known === undefined) outcomes.set(name, { count: 1, message });
      else known.count++;
    },
    results(elapsedMs) {
      const seconds = elapsedMs / 1_000;
      return {
        requests,
        failed,
        seconds: rounded(seconds),
        requestsPerSecond: rounded(times.length / Math.max(seconds, 0.001)),
        ms: spreadOf(times),
        firstTokenMs: spreadOf(firstTokens),
        outcomes: [...outcomes].map(([outcome, facts]) => ({ outcome, ...facts })),
      };
    },
  };
}

function spreadOf(times: number[]): Spread | null {
  if (times.length === 0) return null;
  const sorted = Float64Array.from(times).sort();
  // Nearest rank: of 100 answers the 95th, not something between two.
  const at = (share: number) => rounded(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
