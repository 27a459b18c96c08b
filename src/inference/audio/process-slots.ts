import { createTurns } from '../../kernel/sharing/turns.ts';
import { nextStart } from './process-starts.ts';

/** A place for one process. */
export interface Slot {
  /** Whether its tenant had no other process when it got this place. */
  readonly alone: boolean;
  /** Whether its process has work to do now; it is taken to have some when it starts. */
  setBusy(state: 'busy' | 'idle'): void;
  giveBack(): void;
}

/**
 * How many processes may run, and how many of them may be busy, when another is started: starting one holds up our own
 * loop until it gets its turn on the machine, which is soon only where the machine is not full. Who comes later waits;
 * places go round the tenants that wait. A tenant of whose processes none is busy does not wait for the busy ones of
 * others, which may be so for hours.
 */
export interface Slots {
  /** Rejects when too many wait, or with the signal's reason. */
  take(tenant: string, signal: AbortSignal): Promise<Slot>;
  /** Whether one more of this tenant would not be waiting. */
  hasRoom(tenant: string): boolean;
}

export interface SlotLimits {
  runningMax: number;
  /** Of one tenant. Where more than that are busy of all, a tenant gets a place only while none of its own is. */
  tenantBusyMax: number;
  /** Of one tenant half. */
  waitingMax: number;
}

export function createSlots({ runningMax, tenantBusyMax, waitingMax }: SlotLimits): Slots {
  /** Of those that run; of each tenant that has any. */
  let idle = 0;
  const idleOf = new Map<string, number>();
  const turns = createTurns({
    name: 'Audio to convert',
    places: runningMax,
    waitingMax,
    mayTake(tenant, held, heldByAll) {
      const busy = held - (idleOf.get(tenant) ?? 0);
      return busy === 0 || (busy < tenantBusyMax && heldByAll - idle <= tenantBusyMax);
    },
  });

  function addIdle(tenant: string, change: number): void {
    idle += change;
    const mine = (idleOf.get(tenant) ?? 0) + change;
    if (mine === 0) idleOf.delete(tenant);
    else idleOf.set(tenant, mine);
  }

  return {
    hasRoom: turns.hasPlace,
    async take(tenant, signal) {
      const turn = await turns.take(tenant, signal);
      let state: 'busy' | 'idle' | 'given-back' = 'busy';
      const move = (next: typeof state) => {
        if (state === 'given-back' || state === next) return;
        addIdle(tenant, Number(next === 'idle') - Number(state === 'idle'));
        state = next;
        if (next === 'given-back') turn.giveBack();
        else turns.look();
      };
      if (!turn.alone) await nextStart();
      return { alone: turn.alone, setBusy: move, giveBack: () => move('given-back') };
    },
  };
}
