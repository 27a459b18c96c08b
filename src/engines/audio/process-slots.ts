import { createTurns } from '../../kernel/sharing/turns.ts';
import { nextStart } from './process-starts.ts';

export interface Slot {
  /** Whether its tenant had no other process when it got this place. */
  readonly alone: boolean;
  /** Whether its process has work now. A starting one counts as busy. */
  setBusy(state: 'busy' | 'idle'): void;
  giveBack(): void;
}

/**
 * Bounds how many processes may run, and how many may be busy when another is started. Starting one holds up our own
 * loop until the process gets the processor, which is soon only while the machine is not full. Later ones wait; places
 * go round the waiting tenants. A tenant without a busy process does not wait for the busy ones of others, which may
 * last for hours.
 */
export type Slots = ReturnType<typeof createSlots>;

export interface SlotLimits {
  runningMax: number;
  /**
   * Busy processes of one tenant. When more than this are busy in all, a tenant gets a place only while it has no busy
   * process.
   */
  tenantBusyMax: number;
  /** Half of them for one tenant. */
  waitingMax: number;
}

export function createSlots({ runningMax, tenantBusyMax, waitingMax }: SlotLimits) {
  /** Running processes, in all and by tenant. */
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
    /** Whether one more of this tenant would start without waiting. */
    hasRoom: turns.hasPlace,
    /** Rejects when too many wait, or with the signal's reason. */
    async take(tenant: string, signal: AbortSignal): Promise<Slot> {
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
