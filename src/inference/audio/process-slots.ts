import { FailureError } from '../../kernel/failure.ts';

/** A place for one process. */
export interface Slot {
  /** Whether its process has work to do now; it is taken to have some when it starts. */
  setBusy(state: 'busy' | 'idle'): void;
  giveBack(): void;
}

/**
 * How many processes may run, and how many of them may be busy, when another is started: starting one holds up our own
 * loop until it gets its turn on the machine, which is soon only where the machine is not full. Who comes later waits
 * in line, and beyond `waitingMax` is refused.
 */
export interface Slots {
  /** Rejects when too many wait, or with the signal's reason. */
  take(signal: AbortSignal): Promise<Slot>;
  /** Whether one more would not be waiting. */
  hasRoom(): boolean;
}

export interface SlotLimits {
  runningMax: number;
  busyMax: number;
  waitingMax: number;
}

export function createSlots(limits: SlotLimits): Slots {
  let running = 0;
  let busy = 0;
  let granting = false;
  const waiting: (() => void)[] = [];
  const hasRoom = () => running < limits.runningMax && busy < limits.busyMax;
  const isFree = () => waiting.length > 0 && hasRoom();
  // One a turn of the loop: each starts a process.
  const grantSoon = () => {
    if (granting || !isFree()) return;
    granting = true;
    setImmediate(() => {
      granting = false;
      if (!isFree()) return;
      waiting.shift()?.();
      grantSoon();
    });
  };
  const grant = (): Slot => {
    let state: 'busy' | 'idle' | 'given-back' = 'busy';
    running += 1;
    busy += 1;
    const move = (next: typeof state) => {
      if (state === 'given-back' || state === next) return;
      if (next === 'given-back') running -= 1;
      busy += Number(next === 'busy') - Number(state === 'busy');
      state = next;
      grantSoon();
    };
    return { setBusy: move, giveBack: () => move('given-back') };
  };
  return {
    hasRoom: () => waiting.length === 0 && hasRoom(),
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
          resolve(grant());
        };
        signal.addEventListener('abort', aborted, { once: true });
        waiting.push(granted);
        grantSoon();
      });
    },
  };
}
