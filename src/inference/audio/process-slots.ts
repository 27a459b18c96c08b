import { FailureError } from '../../kernel/failure.ts';

/** How many may run at once; who comes later waits in line, and beyond `waitingMax` is refused. */
export interface Slots {
  /** Resolves to what gives the slot back; rejects when too many wait, or with the signal's reason. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(limits: { runningMax: number; waitingMax: number }): Slots {
  let running = 0;
  let granting = false;
  const waiting: (() => void)[] = [];
  const grant = () => {
    granting = false;
    if (running >= limits.runningMax) return;
    const next = waiting.shift();
    if (next === undefined) return;
    running += 1;
    next();
    grantSoon();
  };
  // One a turn of the loop: each starts a process, which holds up the loop for a ms or more.
  const grantSoon = () => {
    if (granting || waiting.length === 0 || running >= limits.runningMax) return;
    granting = true;
    setImmediate(grant);
  };
  return {
    take(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (waiting.length >= limits.waitingMax)
        return Promise.reject(
          new FailureError({ kind: 'overloaded', message: 'Too much audio is being converted. Try again soon.' }),
        );
      return new Promise((resolve, reject) => {
        const aborted = () => {
          const at = waiting.indexOf(granted);
          if (at >= 0) waiting.splice(at, 1);
          reject(signal.reason);
        };
        const granted = () => {
          signal.removeEventListener('abort', aborted);
          let held = true;
          resolve(() => {
            if (!held) return;
            held = false;
            running -= 1;
            grantSoon();
          });
        };
        signal.addEventListener('abort', aborted, { once: true });
        waiting.push(granted);
        grantSoon();
      });
    },
  };
}
