import type { Held } from '../../books/metering/counters.ts';
import type { Lease } from './headroom.ts';
import type { Turns } from './operation-turns.ts';
import type { Plans } from './plans.ts';

/** Takes that Redis did not confirm. Of further ones it never learns: the lease counts for them, their tokens nowhere. */
const untoldMax = 10_000;

type Taken = Pick<Held, 'requestId' | 'account' | 'scopes' | 'costMilli'>;

/** Tells Redis which requests took their units from leases: from then on it knows each request. */
export interface Takes {
  take(held: Taken, lease: Lease): void;
  /** Called before Redis learns of the end of this request: a promise when that must wait, since Redis may not know its beginning. */
  reported(requestId: string): true | Promise<boolean>;
  /** Its end is known. */
  forget(requestId: string): void;
}

export function createTakes(turns: Turns, plans: Pick<Plans, 'settle'>): Takes {
  const untold = new Map<string, { held: Taken; values: readonly string[] }>();

  async function report(held: Taken, values: readonly string[]): Promise<boolean> {
    const { requestId, account, scopes } = held;
    const { answer } = await turns.ask('take', plans.settle(account, scopes), values);
    if (typeof answer !== 'string') {
      if (untold.size > 0) untold.delete(requestId);
      return true;
    }
    if (untold.size < untoldMax) untold.set(requestId, { held, values });
    return false;
  }

  return {
    take(held, { id, quotaMs, version }) {
      const generation = version.slice(0, version.indexOf(':'));
      void report(held, [id, held.requestId, String(held.costMilli), String(quotaMs), generation]);
    },
    reported(requestId) {
      const taken = untold.size === 0 ? undefined : untold.get(requestId);
      return taken === undefined || report(taken.held, taken.values);
    },
    forget(requestId) {
      if (untold.size > 0) untold.delete(requestId);
    },
  };
}
