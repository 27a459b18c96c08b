import type { Clock } from '../../kernel/clock.ts';
import type { HostTurns } from '../../net/host-turns.ts';

/** The pace at hosts that the crawls of several processes keep together. Driver: stores/postgres. */
export interface SharedPace {
  /** Takes the host's next turn, `delayMs` after the last one of anybody: ms from `nowMs` on until it comes. */
  take(host: string, delayMs: number, nowMs: number): Promise<number>;
}

export interface SharedPaceParts {
  pace: SharedPace;
  clock: Clock;
  /** Resolves after so long, or at once when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Turns within this process, and then among all that share the pace. Rejects as its store does. */
export function turnsOverReplicas(turns: HostTurns, { pace, clock, pause }: SharedPaceParts): HostTurns {
  return {
    take: (visit, signal, work) =>
      turns.take(visit, signal, async () => {
        const { host, delayMs } = visit;
        const waitMs = delayMs > 0 ? await pace.take(host, delayMs, clock.wallMs()) : 0;
        if (waitMs > 0) await pause(waitMs, signal);
        signal.throwIfAborted();
        return work();
      }),
  };
}
