import { type Fault, fault } from '../neutral/outcome.ts';
import type { ExpiredTimer } from '../transport/timers.ts';

/** What an attempt was held to, and how it is told. */
export interface ExpiredLimits {
  firstTokenMs: number;
  idleMs: number;
  /** The request's, on the monotonic clock. */
  deadlineMs: number;
  /** What it did while nothing came, such as `sent no content`. */
  silence: string;
  /** Of the upstream's answer; null when there was none. */
  status: number | null;
}

/** An attempt took too long. `nowMs` is the monotonic clock's. */
export function expiredFault(kind: ExpiredTimer, limits: ExpiredLimits, nowMs: number): Fault {
  const { firstTokenMs, idleMs, deadlineMs, silence, status } = limits;
  if (kind === 'first-token') return fault('stall_first_token', `${silence} within ${firstTokenMs / 1_000} s`, status);
  if (kind === 'idle') return fault('stall_idle', `went silent for ${idleMs / 1_000} s`, status);
  const overall = deadlineMs <= nowMs + 1;
  return fault(overall ? 'deadline' : 'stall_idle', 'did not finish within the total timeout', status);
}
