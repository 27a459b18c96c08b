import { setTimeout as pause } from 'node:timers/promises';
import { putNewest } from '../kernel/put-newest.ts';
import { createTurns, type Turn, type Turns } from '../kernel/sharing/turns.ts';

/** How politely hosts of the web are asked: this many concurrent requests, with a pause between two beginnings. */
export interface HostTurns {
  /**
   * Runs `work` when the host's turn comes, which goes round the tenants that wait for it. Rejects with the signal's
   * reason when it is aborted before, and with `HostBusy` when too many wait already.
   */
  take<T>(visit: HostVisit, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export interface HostVisit {
  /** The tenant whose turn it is. */
  tenant: string;
  host: string;
  /** Least pause since the last beginning there. */
  delayMs: number;
}

/** Too many wait for this host, or for all together. */
export class HostBusy extends Error {}

export interface HostTurnsOptions {
  atOnceMax: number;
  /** For one host; one tenant may have half. */
  waitingMax: number;
  /** Hosts with a request that runs or waits. */
  hostsMax: number;
  /** Monotonic. */
  nowMs(): number;
}

interface Host {
  running: Turns;
  /** One request of each tenant at a time waits for the end of the pause. */
  pausing: Turns;
  /** The last beginning by anybody. It is forgotten with an idle host. */
  last: Beginning;
  /** Tenants; the one served longest ago comes first. */
  lastOf: Map<string, number>;
}

interface Beginning {
  /** Monotonic. */
  atMs: number;
  delayMs: number;
}

/** Tenants remembered for one host. */
const tenantsRememberedMax = 100;

function newHost(places: number, waitingMax: number): Host {
  const shared = { name: 'Pages of a host', refusal: () => new HostBusy() };
  return {
    running: createTurns({ ...shared, places, waitingMax }),
    pausing: createTurns({
      ...shared,
      places: Number.POSITIVE_INFINITY,
      tenantPlaces: 1,
      // Pausing requests wait as well.
      waitingMax: waitingMax - 1,
      tenantWaitingMax: Math.ceil(waitingMax / 2) - 1,
    }),
    last: { atMs: Number.NEGATIVE_INFINITY, delayMs: 0 },
    lastOf: new Map(),
  };
}

export function createHostTurns({ atOnceMax, waitingMax, hostsMax, nowMs }: HostTurnsOptions): HostTurns {
  const hosts = new Map<string, Host>();

  function hostOf(host: string): Host {
    const known = hosts.get(host);
    if (known !== undefined) return known;
    if (hosts.size >= hostsMax) forgetIdle();
    if (hosts.size >= hostsMax) throw new HostBusy();
    const made = newHost(atOnceMax, waitingMax);
    hosts.set(host, made);
    return made;
  }

  function forgetIdle(): void {
    for (const [name, { running, pausing }] of hosts) if (running.idle() && pausing.idle()) hosts.delete(name);
  }

  /** A tenant's own pace holds among its own pages; among all pages the quicker of two paces, so that no slow one stops others. */
  function leftMs({ last, lastOf }: Host, { tenant, delayMs }: HostVisit): number {
    const tenantMs = (lastOf.get(tenant) ?? Number.NEGATIVE_INFINITY) + delayMs;
    return Math.max(tenantMs, last.atMs + Math.min(delayMs, last.delayMs)) - nowMs();
  }

  function begin(host: Host, { tenant, delayMs }: HostVisit): void {
    host.last = { atMs: nowMs(), delayMs };
    putNewest(host.lastOf, tenant, host.last.atMs, tenantsRememberedMax);
  }

  /** A place among those that run, taken when the pause is over. */
  async function beginning(host: Host, visit: HostVisit, signal: AbortSignal): Promise<Turn> {
    for (;;) {
      for (let waitMs = leftMs(host, visit); waitMs > 0; waitMs = leftMs(host, visit)) {
        await pause(Math.ceil(waitMs), undefined, { signal }).catch(() => signal.throwIfAborted());
      }
      const turn = await host.running.take(visit.tenant, signal);
      if (leftMs(host, visit) <= 0) {
        begin(host, visit);
        return turn;
      }
      // Another one began while this one waited for the place.
      turn.giveBack();
    }
  }

  return {
    async take(visit, signal, work) {
      const host = hostOf(visit.host);
      const turn = await host.pausing.run(visit.tenant, signal, () => beginning(host, visit, signal));
      try {
        return await work();
      } finally {
        turn.giveBack();
      }
    },
  };
}
