import { BriefSet, type Placed } from '../../kernel/brief.ts';
import { every } from '../../kernel/every.ts';
import type { Run } from './link.ts';
import { renewScript } from './lua-leases.ts';
import type { OperationPlan, Turns } from './operation-turns.ts';
import { createOwed } from './owed.ts';

const renewEveryMs = 10_000;

/** Places in one command. */
const batchMax = 500;

/** One request's places, in each of these sets. */
export interface Taken {
  sets: OperationPlan;
  requestId: string;
}

/** The places that this process holds among running requests. */
export type Leases = ReturnType<typeof createLeases>;

export function createLeases(link: { run: Run; ask: Turns['ask']; ready(): boolean }) {
  const live = new BriefSet<Taken & Placed>();
  // What is not given back counts for 30 s: until nobody has renewed it for so long.
  const owed = createOwed(link, 'leave', ['unsent', 'unknown']);

  const stopRenewing = every(renewEveryMs, () => void renew(link.run, live.values()));

  async function renew(run: Run, taken: readonly (Taken & Placed)[]): Promise<boolean> {
    const places = taken.flatMap(({ sets, requestId }) => sets.keys.map((key) => ({ key, requestId })));
    let all = true;
    for (let i = 0; i < places.length; i += batchMax) {
      const batch = places.slice(i, i + batchMax);
      const ids = batch.map(({ requestId }) => requestId);
      const answer = await run(
        renewScript,
        batch.map(({ key }) => key),
        ids,
      );
      all &&= typeof answer !== 'string';
    }
    // Places given back while their renewal was on the way would stay for 30 s more.
    for (const one of taken) if (one.place < 0) giveBack(one);
    return all;
  }

  function giveBack({ sets, requestId }: Taken): void {
    owed.send(sets, [requestId]);
  }

  function hold(sets: OperationPlan, requestId: string): Taken & Placed {
    const one = { sets, requestId, place: -1 };
    live.add(one);
    return one;
  }

  function leave(one: Taken & Placed): void {
    if (live.delete(one)) giveBack(one);
  }

  return {
    /** Taken by the operation `enter`; held until `leave`, which is idempotent. */
    held(sets: OperationPlan, requestId: string): () => void {
      const one = hold(sets, requestId);
      return () => leave(one);
    },
    /**
     * Takes those of requests that run already, even if there are fewer. `leaves` has one function for each of them.
     */
    taken(running: readonly Taken[]): { leaves: (() => void)[]; done: Promise<void> } {
      const held = running.map(({ sets, requestId }) => hold(sets, requestId));
      // One that Redis did not take now is taken by the next renewal.
      return { leaves: held.map((one) => () => leave(one)), done: renew(link.run, held).then(() => undefined) };
    },
    /** Perhaps taken: nobody knows. They are given back. */
    giveBack: (sets: OperationPlan, requestId: string): void => giveBack({ sets, requestId }),
    /** All of ours, taken again: a new epoch knows none. */
    async takeAgain(run: Run): Promise<void> {
      if (!(await renew(run, live.values()))) throw new Error('the leases of running requests could not be renewed');
    },
    /** Tries again what could not be given back. */
    onReady: owed.retry,
    close(): void {
      stopRenewing();
      owed.close();
    },
  };
}
