import type { Scope } from '../../books/metering/counters.ts';
import { placesKey } from './keys.ts';
import type { Link, Run } from './link.ts';
import { leaveScript, renewScript } from './lua-leases.ts';

const renewEveryMs = 10_000;

/** Places that could not be given back at once. Further ones expire after 30 s. */
const owedMax = 10_000;

/** Places in one command. */
const batchMax = 500;

interface Place {
  key: string;
  requestId: string;
}

/** The places that this process holds among running requests. */
export interface Leases {
  /** Taken by the enter script; held until `leave`, which is idempotent. */
  held(account: string, scopes: readonly Scope[], requestId: string): () => void;
  /** Perhaps taken: nobody knows. They are given back. */
  giveBack(account: string, scopes: readonly Scope[], requestId: string): void;
  /** All of ours, taken again: a new epoch knows none. */
  takeAgain(run: Run): Promise<void>;
  /** Tries again what could not be given back. */
  onReady(): void;
  close(): void;
}

export function createLeases(link: () => Link): Leases {
  const live = new Map<object, readonly Place[]>();
  let owed: Place[] = [];
  /** Given back: a renewal that was already on the way must not bring them back. */
  const gone = new WeakSet<Place>();

  const renewing = setInterval(() => void renew((...asked) => link().run(...asked)), renewEveryMs);
  renewing.unref();

  async function renew(run: Run): Promise<boolean> {
    const places = [...live.values()].flat();
    let all = true;
    for (let i = 0; i < places.length; i += batchMax) {
      const batch = places.slice(i, i + batchMax);
      const answer = await run(renewScript, keysOf(batch), idsOf(batch));
      all &&= typeof answer !== 'string';
    }
    // A place given back while its renewal was on the way would stay for 30 s more.
    giveBack(places.filter((place) => gone.has(place)));
    return all;
  }

  function giveBack(places: readonly Place[]): void {
    if (places.length === 0) return;
    void link()
      .run(leaveScript, keysOf(places), idsOf(places))
      .then((answer) => {
        if (typeof answer !== 'string') return;
        owed.push(...places);
        if (owed.length > owedMax) owed = owed.slice(-owedMax);
      });
  }

  return {
    held(account, scopes, requestId) {
      const places = scopes.map((scope) => ({ key: placesKey(account, scope), requestId }));
      const token = {};
      live.set(token, places);
      return () => {
        if (!live.delete(token)) return;
        for (const place of places) gone.add(place);
        giveBack(places);
      };
    },
    giveBack: (account, scopes, requestId) =>
      giveBack(scopes.map((scope) => ({ key: placesKey(account, scope), requestId }))),
    async takeAgain(run) {
      if (!(await renew(run))) throw new Error('the leases of running requests could not be renewed');
    },
    onReady() {
      const places = owed;
      owed = [];
      for (let i = 0; i < places.length; i += batchMax) giveBack(places.slice(i, i + batchMax));
    },
    close() {
      clearInterval(renewing);
    },
  };
}

const keysOf = (places: readonly Place[]) => places.map(({ key }) => key);
const idsOf = (places: readonly Place[]) => places.map(({ requestId }) => requestId);
