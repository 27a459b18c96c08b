import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { AttemptTimers } from '../../../upstream/transport/timers.ts';
import { type ExpiredLimits, expiredFault } from './attempt-faults.ts';

/** Limits of an engine's time. */
export type EngineLimits = Omit<ExpiredLimits, 'silence' | 'status'> & { totalMs: number };

/** The clocks of one try at an engine. `silence`: what it did while nothing came, such as `made no audio`. */
export function engineTimers(
  clock: Clock,
  { firstTokenMs, idleMs, totalMs, deadlineMs }: EngineLimits,
  silence: string,
  onExpire: (found: Fault) => void,
): AttemptTimers {
  const totalDeadlineMs = Math.min(clock.monotonicMs() + totalMs, deadlineMs);
  const limits = { firstTokenMs, idleMs, deadlineMs, silence, status: null };
  return new AttemptTimers({ firstTokenMs, idleMs, totalDeadlineMs }, (kind) =>
    onExpire(expiredFault(kind, limits, clock.monotonicMs())),
  );
}

/** Receiver of an engine's output. */
export interface EngineReader<Piece> {
  timers: AttemptTimers;
  /** Aborted: nobody wants the rest. */
  signal: AbortSignal;
  /** `empty`: it was nothing, and counts as silence. `behind`: wait for `drained` before the next. */
  take(piece: Piece): 'taken' | 'behind' | 'empty';
  drained(): Promise<void>;
}

/** Passes on an engine's output until it ends, nobody wants it, or it is silent. Rejects as the engine does. */
export async function followEngine<Piece>(
  pieces: AsyncIterable<Piece>,
  { timers, signal, take, drained }: EngineReader<Piece>,
): Promise<'ended' | 'left'> {
  const left = new Promise<'left'>((resolve) => signal.addEventListener('abort', () => resolve('left')));
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), left]);
      if (next === 'left' || signal.aborted) return 'left';
      if (next.done === true) return 'ended';
      const taken = take(next.value);
      if (taken === 'empty') continue;
      timers.content();
      if (taken === 'taken') continue;
      timers.pause();
      await Promise.race([drained(), left]);
      timers.resume();
    }
  } finally {
    // It is notified, but not waited for: an engine that hangs would hang its caller too.
    void iterator.return?.().catch(() => {});
  }
}
