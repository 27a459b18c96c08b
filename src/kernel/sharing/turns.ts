import { FailureError } from '../failure.ts';

/** A place at something that few can have at one time; given back once, later calls do nothing. */
export interface Turn {
  /** Whether its tenant held no other when it was given. */
  readonly alone: boolean;
  giveBack(): void;
}

/**
 * Bounded places for work of many tenants. A free place goes to the waiting tenant that holds the fewest, among those
 * to the one served longest ago, and within a tenant to who came first. A tenant that holds some gets no more than
 * its share, and never the last one, so that another finds one at once.
 */
export interface Turns {
  /**
   * A place. Rejects with the signal's reason when it is aborted before, and with what `refusal` makes when too many
   * wait. `bytes`: what is held in memory for it while it waits.
   */
  take(tenant: string, signal: AbortSignal | null, bytes?: number): Promise<Turn>;
  /** Runs `work` with a place. Rejects as `take` and `work` do. */
  run<T>(tenant: string, signal: AbortSignal | null, work: (turn: Turn) => Promise<T>): Promise<T>;
  /** To be called when `places` or `mayTake` say more than they did. */
  look(): void;
  /** Whether this tenant would get a place at once. */
  hasPlace(tenant: string): boolean;
  /** Nobody holds a place or waits for one. */
  idle(): boolean;
  /** Rejects all that wait. */
  refuseWaiting(reason: Error): void;
}

export interface TurnsOptions {
  /** Plural, the subject of refusals: `Pages to be read`. */
  name: string;
  /** How many may be held at one time, as things are. */
  places: number | (() => number);
  /** Of one tenant, whatever others hold. Default: its share. */
  tenantPlaces?: number;
  waitingMax: number;
  /** Of one tenant. Default: half of `waitingMax`. */
  tenantWaitingMax?: number;
  /** Of all that wait; of one tenant half. What is larger waits alone. Default: without bound. */
  waitingBytesMax?: number;
  /** What else must be so before this tenant, which holds `held`, gets another place. */
  mayTake?(tenant: string, held: number, heldByAll: number): boolean;
  /** Default: a FailureError `overloaded`. */
  refusal?(message: string): Error;
}

interface Waiter {
  bytes: number;
  begin(turn: Turn): void;
  refuse(reason: unknown): void;
}

interface Tenant {
  name: string;
  held: number;
  waiting: Waiter[];
  waitingBytes: number;
  /** Number of the last place that it was given; 0: none that is remembered. */
  servedAt: number;
}

/** Tenants that neither hold nor wait are remembered for their `servedAt`: without it who comes back would be the first. */
const rememberedMax = 1_000;

/**
 * Who holds some gets more only while that is less than so many times the free ones: alone three quarters of all, of n
 * tenants that take what they can each 3 / (3n + 1), which leaves 1 / (3n + 1) to who comes next.
 */
const shareOfFree = 3;

export function createTurns(options: TurnsOptions): Turns {
  const { name, waitingMax, waitingBytesMax = Number.POSITIVE_INFINITY, mayTake } = options;
  const tenantWaitingMax = options.tenantWaitingMax ?? Math.max(1, Math.floor(waitingMax / 2));
  const refusal = options.refusal ?? overloaded;
  const places = () => (typeof options.places === 'number' ? options.places : options.places());
  /** The one idle longest stands first. */
  const tenants = new Map<string, Tenant>();
  /** Those of `tenants` for whom somebody waits. */
  const lines = new Set<Tenant>();
  let held = 0;
  let waiting = 0;
  let waitingBytes = 0;
  let given = 0;

  function tenantOf(tenant: string): Tenant {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    if (tenants.size >= rememberedMax) forgetIdle();
    const made: Tenant = { name: tenant, held: 0, waiting: [], waitingBytes: 0, servedAt: 0 };
    tenants.set(tenant, made);
    return made;
  }

  /** Half of them, so that it is not done at every call. */
  function forgetIdle(): void {
    for (const tenant of tenants.values()) {
      if (tenants.size <= rememberedMax / 2) return;
      if (tenant.held === 0 && tenant.waiting.length === 0) tenants.delete(tenant.name);
    }
  }

  function mayHoldMore(tenant: Tenant): boolean {
    const fits = options.tenantPlaces === undefined ? isInShare(tenant) : tenant.held < options.tenantPlaces;
    return fits && (mayTake?.(tenant.name, tenant.held, held) ?? true);
  }

  function isInShare(tenant: Tenant): boolean {
    const free = places() - held;
    return tenant.held === 0 || (free > 1 && tenant.held < shareOfFree * free);
  }

  function hasPlace(tenant: Tenant): boolean {
    return tenant.waiting.length === 0 && held < places() && mayHoldMore(tenant);
  }

  function give(tenant: Tenant): Turn {
    const alone = tenant.held === 0;
    held += 1;
    tenant.held += 1;
    tenant.servedAt = ++given;
    // Last in the order of being forgotten.
    tenants.delete(tenant.name);
    tenants.set(tenant.name, tenant);
    let isHeld = true;
    return {
      alone,
      giveBack() {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        tenant.held -= 1;
        look();
      },
    };
  }

  function nextTenant(): Tenant | null {
    let next: Tenant | null = null;
    for (const tenant of lines) {
      if (!mayHoldMore(tenant)) continue;
      if (next === null || tenant.held < next.held || (tenant.held === next.held && tenant.servedAt < next.servedAt))
        next = tenant;
    }
    return next;
  }

  function look(): void {
    while (lines.size > 0 && held < places()) {
      const tenant = nextTenant();
      if (tenant === null) return;
      const [waiter] = tenant.waiting;
      leave(tenant, waiter!);
      waiter!.begin(give(tenant));
    }
  }

  function leave(tenant: Tenant, waiter: Waiter): void {
    tenant.waiting.splice(tenant.waiting.indexOf(waiter), 1);
    tenant.waitingBytes -= waiter.bytes;
    waitingBytes -= waiter.bytes;
    waiting -= 1;
    if (tenant.waiting.length === 0) lines.delete(tenant);
  }

  /** Null: one more may wait. */
  function whyFull(tenant: Tenant, bytes: number): string | null {
    const mine = tenant.waiting.length;
    if (mine >= tenantWaitingMax || (mine > 0 && tenant.waitingBytes + bytes > waitingBytesMax / 2))
      return `${name}: ${mine + tenant.held} of this key are under way or wait already, as many as one key may have. Retry shortly, or send fewer at once.`;
    if (waiting >= waitingMax || (waiting > 0 && waitingBytes + bytes > waitingBytesMax))
      return `${name}: ${waiting + held} of all callers are under way or wait already, as many as there may be. Retry shortly.`;
    return null;
  }

  async function take(name: string, signal: AbortSignal | null, bytes = 0): Promise<Turn> {
    signal?.throwIfAborted();
    const tenant = tenantOf(name);
    if (hasPlace(tenant)) return give(tenant);
    const full = whyFull(tenant, bytes);
    if (full !== null) throw refusal(full);
    return new Promise((resolve, reject) => {
      const gone = () => {
        leave(tenant, waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        bytes,
        begin(turn) {
          signal?.removeEventListener('abort', gone);
          resolve(turn);
        },
        refuse(reason) {
          signal?.removeEventListener('abort', gone);
          reject(reason);
        },
      };
      signal?.addEventListener('abort', gone, { once: true });
      tenant.waiting.push(waiter);
      tenant.waitingBytes += bytes;
      waitingBytes += bytes;
      waiting += 1;
      lines.add(tenant);
    });
  }

  return {
    take,
    async run(tenant, signal, work) {
      const turn = await take(tenant, signal);
      try {
        return await work(turn);
      } finally {
        turn.giveBack();
      }
    },
    look,
    hasPlace: (tenant) => hasPlace(tenantOf(tenant)),
    idle: () => held === 0 && waiting === 0,
    refuseWaiting(reason) {
      for (const tenant of [...lines]) {
        for (const waiter of [...tenant.waiting]) {
          leave(tenant, waiter);
          waiter.refuse(reason);
        }
      }
    },
  };
}

function overloaded(message: string): Error {
  return new FailureError({ kind: 'overloaded', message });
}
