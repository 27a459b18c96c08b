import { FailureError } from '../failure.ts';
import { type Line, type LineBounds, WaitingLines } from './waiting-lines.ts';

/** A place at something that only a few can have concurrently; given back once, later calls do nothing. */
export interface Turn {
  /** Whether its tenant held no other when it was given. */
  readonly alone: boolean;
  giveBack(): void;
}

/**
 * Bounded places for work of many tenants. A free place goes to the waiting tenant that holds the fewest, among those
 * to the one served longest ago, and within a tenant to who came first. A tenant that holds some gets no more than
 * its share, and never the last one, so that another finds one at once. docs/design/queues.md lists who uses them.
 */
export interface Turns {
  /**
   * A place. Rejects with the signal's reason when it is aborted before, and with the failure of `refusal` when too
   * many wait. `bytes`: memory that is held for it while it waits.
   */
  take(tenant: string, signal: AbortSignal | null, bytes?: number): Promise<Turn>;
  /** Runs `work` with a place. Rejects as `take` and `work` do. */
  run<T>(tenant: string, signal: AbortSignal | null, work: (turn: Turn) => Promise<T>): Promise<T>;
  /** Call this when `places` or `mayTake` allow more than before. */
  look(): void;
  /** Whether this tenant would get a place at once. */
  hasPlace(tenant: string): boolean;
  /** Nobody holds a place or waits for one. */
  idle(): boolean;
  /** Rejects all that wait. */
  refuseWaiting(reason: Error): void;
}

export interface TurnsOptions extends LineBounds {
  /** How many may be held concurrently, as things are. */
  places: number | (() => number);
  /** Places of one tenant, whatever others hold. Default: its share. */
  tenantPlaces?: number;
  /** A further condition for this tenant, which holds `held`, to get another place. */
  mayTake?(tenant: string, held: number, heldByAll: number): boolean;
  /** Default: a FailureError `overloaded`. */
  refusal?(message: string): Error;
}

interface Tenant extends Line<Turn> {
  name: string;
  /** Number of the last place that it was given; 0: none that is remembered. */
  servedAt: number;
}

/** Tenants that neither hold nor wait are remembered for their `servedAt`: without it who comes back would be the first. */
const rememberedMax = 1_000;

/**
 * A holder gets more only while it holds less than this many times the free ones. So one tenant alone gets three
 * quarters of all, and n tenants that take what they can get 3 / (3n + 1) each, which leaves 1 / (3n + 1) for the next
 * one.
 */
const shareOfFree = 3;

export function createTurns(options: TurnsOptions): Turns {
  const { mayTake, tenantPlaces, refusal = overloaded } = options;
  const places = () => (typeof options.places === 'number' ? options.places : options.places());
  const tenantOf = rememberTenants();
  const lines = new WaitingLines<Turn, Tenant>(options);
  let held = 0;
  let given = 0;

  function mayHoldMore(tenant: Tenant): boolean {
    const free = places() - held;
    const isInShare = tenant.held === 0 || (free > 1 && tenant.held < shareOfFree * free);
    const fits = tenantPlaces === undefined ? isInShare : tenant.held < tenantPlaces;
    return fits && (mayTake?.(tenant.name, tenant.held, held) ?? true);
  }

  function hasPlace(tenant: Tenant): boolean {
    return tenant.waiting.length === 0 && held < places() && mayHoldMore(tenant);
  }

  function give(tenant: Tenant): Turn {
    const alone = tenant.held === 0;
    held += 1;
    tenant.held += 1;
    tenant.servedAt = ++given;
    let isHeld = true;
    return {
      alone,
      giveBack() {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        tenant.held -= 1;
        if (lines.all.size > 0) look();
      },
    };
  }

  function look(): void {
    while (lines.all.size > 0 && held < places()) {
      const tenant = nextOf(lines.all, mayHoldMore);
      if (tenant === null) return;
      lines.first(tenant).begin(give(tenant));
    }
  }

  async function take(name: string, signal: AbortSignal | null, bytes = 0): Promise<Turn> {
    signal?.throwIfAborted();
    const tenant = tenantOf(name);
    if (hasPlace(tenant)) return give(tenant);
    const full = lines.whyFull(tenant, held, bytes);
    if (full !== null) throw refusal(full);
    return lines.wait(tenant, signal, bytes);
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
    idle: () => held === 0 && lines.all.size === 0,
    refuseWaiting: (reason) => lines.refuse(reason),
  };
}

/** Returns who is next: the one that holds least, and of equals the one that waited longest for a turn. */
function nextOf(tenants: Iterable<Tenant>, mayHoldMore: (tenant: Tenant) => boolean): Tenant | null {
  let next: Tenant | null = null;
  for (const tenant of tenants) {
    if (!mayHoldMore(tenant)) continue;
    if (next === null || tenant.held < next.held || (tenant.held === next.held && tenant.servedAt < next.servedAt))
      next = tenant;
  }
  return next;
}

/** Returns a tenant by its name: the remembered one, or a new one. The latest one is forgotten last. */
function rememberTenants(): (name: string) => Tenant {
  /** The one idle longest is first. */
  const tenants = new Map<string, Tenant>();

  /** Half of them, so that it is not done at every call. */
  function forgetIdle(): void {
    for (const tenant of tenants.values()) {
      if (tenants.size <= rememberedMax / 2) return;
      if (tenant.held === 0 && tenant.waiting.length === 0) tenants.delete(tenant.name);
    }
  }

  return (name) => {
    const known = tenants.get(name);
    if (known !== undefined) {
      tenants.delete(name);
      tenants.set(name, known);
      return known;
    }
    if (tenants.size >= rememberedMax) forgetIdle();
    const made: Tenant = { name, held: 0, waiting: [], waitingBytes: 0, servedAt: 0 };
    tenants.set(name, made);
    return made;
  };
}

function overloaded(message: string): Error {
  return new FailureError({ kind: 'overloaded', message });
}
