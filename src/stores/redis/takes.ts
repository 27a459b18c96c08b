import type { Held } from '../../books/metering/counters.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { Lease } from './headroom.ts';
import type { Turns } from './operation-turns.ts';
import type { Plans } from './plans.ts';

/** Takes that Redis did not confirm. Of further ones it may never learn: then the lease counts for them, their tokens nowhere. */
const unconfirmedMax = 10_000;

type Taken = Pick<Held, 'requestId' | 'account' | 'scopes' | 'costMilli'>;

/** Not confirmed yet. */
interface Unconfirmed {
  held: Taken;
  values: readonly string[];
  /** True once Redis has confirmed it; null: it must be reported again. */
  asking: Promise<boolean> | null;
}

/** Tells Redis which requests took their units from leases: from then on it knows each request. */
export type Takes = ReturnType<typeof createTakes>;

export function createTakes(turns: Turns, plans: Pick<Plans, 'settle'>) {
  const unconfirmed = new BriefMap<Unconfirmed>();

  async function report(one: Unconfirmed): Promise<boolean> {
    const { requestId, account, scopes } = one.held;
    const { answer } = await turns.ask('take', plans.settle(account, scopes), one.values);
    one.asking = null;
    const isConfirmed = typeof answer !== 'string';
    if (isConfirmed || unconfirmed.size > unconfirmedMax) unconfirmed.take(requestId);
    return isConfirmed;
  }

  return {
    take(held: Taken, { id, quotaMs, version }: Lease): void {
      const generation = version.slice(0, version.indexOf(':'));
      const values = [id, held.requestId, String(held.costMilli), String(quotaMs), generation];
      const one: Unconfirmed = { held, values, asking: null };
      unconfirmed.set(held.requestId, one);
      one.asking = report(one);
    },
    /**
     * Called before Redis learns of the end of this request: a promise when that must wait, false for another time. An
     * end that goes with a beginning which must be reported again would come twice.
     */
    reported(requestId: string): true | Promise<boolean> {
      const one = unconfirmed.get(requestId);
      if (one === undefined) return true;
      one.asking ??= report(one);
      return one.asking;
    },
    /** Its end is known. */
    forget(requestId: string): void {
      if (unconfirmed.size > 0) unconfirmed.take(requestId);
    },
    /** Resolves when all that is on its way now was answered, or given up. */
    settled: (): Promise<unknown> => Promise.all([...unconfirmed.values()].map(({ asking }) => asking)),
  };
}
