import { setTimeout as pause } from 'node:timers/promises';
import { note } from '../cli/print.ts';
import { FailureError } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { mayPass, whyUnusable } from '../stores/postgres/open.ts';

/** Tries a step of a start again while PostgreSQL may only just be coming up, or is slow. */
export type Patient = <T>(step: () => Promise<T>) => Promise<T>;

/** A step is begun again until then: a start that comes before its database need not be ordered behind it. */
const waitMaxMs = 60_000;
const retryMs = 1_000;

/** `place`: the database in messages. The first wait of a start is in the log, and on stderr. */
export function createPatient(place: string, onTrouble: (message: string) => void): Patient {
  let isAnnounced = false;
  return async (step) => {
    const untilMs = performance.now() + waitMaxMs;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const why = whyWait(error, place);
        if (why === null) throw error;
        if (!mayPass(error) || performance.now() > untilMs) throw new StartRefused(why);
        const message = `${why} Culvert waits for it, at most ${waitMaxMs / 1_000} s.`;
        if (!isAnnounced) toLogAndStderr(onTrouble)(message);
        isAnnounced = true;
        await pause(retryMs);
      }
    }
  };
}

/** Into the log and on stderr, which people at a terminal read. */
export function toLogAndStderr(onTrouble: (message: string) => void): (message: string) => void {
  return (message) => {
    onTrouble(message);
    note(message);
  };
}

/** Null: waiting does not help, or it is a defect. */
function whyWait(error: unknown, place: string): string | null {
  if (!(error instanceof FailureError)) return whyUnusable(error, place);
  return error.failure.kind === 'quota-unavailable' ? factsOf(error.failure, 0).message : null;
}
