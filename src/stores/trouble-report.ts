import type { Clock } from '../kernel/clock.ts';

/** However often trouble comes and goes, or changes its words, the log gets no more than a few lines a minute. */
const quietMs = 10_000;

export type TroubleReport = ReturnType<typeof createTroubleReport>;

/**
 * Logs when `trouble` begins, when it becomes another one and when it is over. Trouble that refuses every request must
 * be in the log, not only in the callers' answers, but a flapping store must not flood it: 10 s after a beginning, or
 * other words, the next one is logged, if it still holds then. The end of logged trouble is logged at once.
 */
export function createTroubleReport(options: {
  trouble: () => string | null;
  words: { begins(trouble: string): string; over: string };
  report: (message: string, level?: 'info') => void;
  clock: Pick<Clock, 'monotonicMs'>;
}) {
  const { trouble, words, report, clock } = options;
  let reported: string | null = null;
  let reportedMs = Number.NEGATIVE_INFINITY;
  return {
    /** Called whenever it may have changed, and now and then. */
    look(): void {
      const now = trouble();
      if (now === reported) return;
      if (now === null) {
        reported = null;
        report(words.over, 'info');
        return;
      }
      const nowMs = clock.monotonicMs();
      if (nowMs - reportedMs < quietMs) return;
      reported = now;
      reportedMs = nowMs;
      report(words.begins(now));
    },
  };
}

/** How both databases say that requests cannot be recorded. */
export const ledgerWords = {
  begins: (trouble: string) => `ledger: requests cannot be recorded: ${trouble}`,
  over: 'ledger: requests are recorded again',
};

/** The message of a driver's error, without the name of its class, as callers and operators read it. */
export function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
