import type { Clock } from '../clock.ts';

/** How long a thread works before it looks for new messages, and before another tenant gets its turn. */
const turnMs = 3;

/**
 * Turns at the time of one thread, for calls of many tenants. The next turn goes to the waiting tenant whose work took
 * the least time so far. Calls of one tenant begin in the order in which they came. While nobody waits, a call begins at
 * once.
 */
export interface WorkTurns {
  /** Begins a new call: null when it may work now, otherwise resolves when its turn has come. */
  begin(tenant: string): Promise<void> | null;
  /** The same for a call that has begun: null too while the turn is its tenant's and lasts. */
  goOn(tenant: string): Promise<void> | null;
  /** The turn that is running has lasted long enough: work in steps suspends, or yields. */
  isOver(): boolean;
  /** Resolves in the tenant's next turn. Until then no other call of the tenant begins. */
  suspend(tenant: string): Promise<void>;
  /** Resolves after calls of the tenant that wait, and those of others. */
  yield(tenant: string): Promise<void>;
  /** Whether a call of this tenant is suspended: what it reads must stay as it is. */
  isSuspended(tenant: string): boolean;
  /** Resolves when nobody waits. */
  drained(): Promise<void>;
}

interface Tenant {
  readonly name: string;
  /** Time of its work, counted from that of the tenant that had the last turn when it came. */
  spentMs: number;
  readonly waiting: (() => void)[];
  /** The first that waits is in the midst of its work. */
  isSuspended: boolean;
}

export function createWorkTurns(clock: Pick<Clock, 'monotonicMs'>): WorkTurns {
  /** Tenants that have waited or worked since the thread was idle. */
  const tenants = new Map<string, Tenant>();
  /** Tenants that wait. */
  const lines = new Set<Tenant>();
  let current: Tenant | null = null;
  let startedMs = 0;
  /** Null: the thread has not worked since it last looked for messages. */
  let endMs: number | null = null;
  /** Time of the tenant that had the last turn; a new one begins there. */
  let spentMs = 0;
  const whenDrained: (() => void)[] = [];

  function tenantOf(name: string): Tenant {
    const known = tenants.get(name);
    if (known !== undefined) return known;
    const made: Tenant = { name, spentMs, waiting: [], isSuspended: false };
    tenants.set(name, made);
    return made;
  }

  function openTurn(nowMs: number): void {
    endMs = nowMs + turnMs;
    setImmediate(closeTurn);
  }

  function charge(nowMs: number): void {
    if (current !== null) current.spentMs += nowMs - startedMs;
    startedMs = nowMs;
  }

  /** Messages were received since the last turn, and what was due was done. */
  function closeTurn(): void {
    const nowMs = clock.monotonicMs();
    charge(nowMs);
    current = null;
    endMs = null;
    if (lines.size > 0) {
      openTurn(nowMs);
      giveNext(nowMs);
      return;
    }
    tenants.clear();
    spentMs = 0;
  }

  function giveNext(nowMs: number): void {
    let next: Tenant | null = null;
    for (const tenant of lines) if (next === null || tenant.spentMs < next.spentMs) next = tenant;
    if (next === null) return;
    spentMs = Math.max(spentMs, next.spentMs);
    next.spentMs = spentMs;
    current = next;
    startedMs = nowMs;
    next.isSuspended = false;
    const begin = next.waiting.shift()!;
    if (next.waiting.length === 0) lines.delete(next);
    begin();
    // A tick that a microtask asks for comes after all microtasks: then the call works no more, or waits for something.
    queueMicrotask(() => process.nextTick(afterWork));
  }

  function afterWork(): void {
    const nowMs = clock.monotonicMs();
    charge(nowMs);
    current = null;
    if (lines.size === 0) {
      for (const drained of whenDrained.splice(0)) drained();
      return;
    }
    if (endMs !== null && nowMs < endMs) giveNext(nowMs);
  }

  function wait(tenant: Tenant, place: 'first' | 'last'): Promise<void> {
    if (endMs === null) openTurn(clock.monotonicMs());
    lines.add(tenant);
    return new Promise((resolve) => {
      if (place === 'first') tenant.waiting.unshift(resolve);
      else tenant.waiting.push(resolve);
    });
  }

  function begin(name: string): Promise<void> | null {
    const nowMs = clock.monotonicMs();
    const tenant = tenantOf(name);
    if (lines.size > 0 || (endMs !== null && nowMs >= endMs)) return wait(tenant, 'last');
    if (endMs === null) openTurn(nowMs);
    charge(nowMs);
    current = tenant;
    return null;
  }

  return {
    begin,
    goOn(name) {
      const isIts = current?.name === name && !current.isSuspended && endMs !== null && clock.monotonicMs() < endMs;
      return isIts ? null : begin(name);
    },
    isOver: () => endMs === null || clock.monotonicMs() >= endMs,
    suspend(name) {
      const tenant = tenantOf(name);
      tenant.isSuspended = true;
      return wait(tenant, 'first');
    },
    yield: (name) => wait(tenantOf(name), 'last'),
    isSuspended: (name) => tenants.get(name)?.isSuspended ?? false,
    drained() {
      if (lines.size === 0) return Promise.resolve();
      return new Promise((resolve) => whenDrained.push(resolve));
    },
  };
}
