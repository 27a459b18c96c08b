/** How politely the hosts of the web are asked: so many at one time, with a pause between two beginnings. */
export interface HostTurns {
  /**
   * Runs `work` when the host's turn comes. `delayMs`: least pause since the last beginning there. Rejects with the
   * signal's reason when it is aborted before, and with `HostBusy` when too many wait already.
   */
  take<T>(host: string, delayMs: number, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Too many wait for this host, or for all together. */
export class HostBusy extends Error {}

export interface HostTurnsOptions {
  atOnceMax: number;
  /** Of one host. */
  waitingMax: number;
  /** Hosts that somebody is asking or waiting for. */
  hostsMax: number;
  /** Monotonic. */
  nowMs(): number;
}

interface Waiter {
  delayMs: number;
  begin(): void;
}

interface Host {
  running: number;
  /** Monotonic ms at which the last one began; hosts that nobody asks are forgotten with it. */
  beganMs: number;
  waiting: Waiter[];
  timer: NodeJS.Timeout | null;
}

export function createHostTurns({ atOnceMax, waitingMax, hostsMax, nowMs }: HostTurnsOptions): HostTurns {
  const hosts = new Map<string, Host>();

  function hostOf(name: string): Host {
    const known = hosts.get(name);
    if (known !== undefined) return known;
    if (hosts.size >= hostsMax) forgetIdle();
    if (hosts.size >= hostsMax) throw new HostBusy();
    const host = { running: 0, beganMs: Number.NEGATIVE_INFINITY, waiting: [], timer: null };
    hosts.set(name, host);
    return host;
  }

  function forgetIdle(): void {
    for (const [name, { running, waiting }] of hosts) {
      if (running === 0 && waiting.length === 0) hosts.delete(name);
    }
  }

  function next(host: Host): void {
    if (host.timer !== null) clearTimeout(host.timer);
    host.timer = null;
    const first = host.waiting[0];
    if (first === undefined || host.running >= atOnceMax) return;
    const waitMs = host.beganMs + first.delayMs - nowMs();
    if (waitMs > 0) {
      host.timer = setTimeout(() => next(host), Math.ceil(waitMs));
      return;
    }
    host.waiting.shift();
    host.running += 1;
    host.beganMs = nowMs();
    first.begin();
    next(host);
  }

  function turn(host: Host, delayMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (host.waiting.length >= waitingMax) throw new HostBusy();
    return new Promise((resolve, reject) => {
      const leave = () => {
        host.waiting.splice(host.waiting.indexOf(waiter), 1);
        reject(signal.reason);
        next(host);
      };
      const waiter: Waiter = {
        delayMs,
        begin() {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      host.waiting.push(waiter);
      next(host);
    });
  }

  return {
    async take(name, delayMs, signal, work) {
      const host = hostOf(name);
      await turn(host, delayMs, signal);
      try {
        return await work();
      } finally {
        host.running -= 1;
        next(host);
      }
    },
  };
}
