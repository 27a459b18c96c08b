import type { Held } from '../../books/metering/counters.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { Lease } from './headroom.ts';
import type { Turns } from './operation-turns.ts';
import type { Plans } from './plans.ts';

/** Takes that Redis did not confirm. Of further ones it may never learn: then the lease counts for them, their tokens nowhere. */
const untoldMax = 10_000;

type Taken = Pick<Held, 'requestId' | 'account' | 'scopes' | 'costMilli'>;

/** Not confirmed yet. */
interface Untold {
  held: Taken;
  values: readonly string[];
  /** True once Redis has confirmed it; null: it must be told again. */
  telling: Promise<boolean> | null;
}

/** Tells Redis which requests took their units from leases: from then on it knows each request. */
export interface Takes {
  take(held: Taken, lease: Lease): void;
  /**
   * Called before Redis learns of the end of this request: a promise when that must wait, false for another time. An end
   * that goes with a beginning which must be told again would come twice.
   */
  reported(requestId: string): true | Promise<boolean>;
  /** Its end is known. */
  forget(requestId: string): void;
  /** Resolves when all that is on its way now was answered, or given up. */
  told(): Promise<unknown>;
}

export function createTakes(turns: Turns, plans: Pick<Plans, 'settle'>): Takes {
  const untold = new BriefMap<Untold>();

  async function tell(one: Untold): Promise<boolean> {
    const { requestId, account, scopes } = one.held;
    const { answer } = await turns.ask('take', plans.settle(account, scopes), one.values);
    one.telling = null;
    const isTold = typeof answer !== 'string';
    if (isTold || untold.size > untoldMax) untold.take(requestId);
    return isTold;
  }

  return {
    take(held, { id, quotaMs, version }) {
      const generation = version.slice(0, version.indexOf(':'));
      const values = [id, held.requestId, String(held.costMilli), String(quotaMs), generation];
      const one: Untold = { held, values, telling: null };
      untold.set(held.requestId, one);
      one.telling = tell(one);
    },
    reported(requestId) {
      const one = untold.get(requestId);
      if (one === undefined) return true;
      one.telling ??= tell(one);
      return one.telling;
    },
    forget(requestId) {
      if (untold.size > 0) untold.take(requestId);
    },
    told: () => Promise.all([...untold.values()].map(({ telling }) => telling)),
  };
}
