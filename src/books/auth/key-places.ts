import { every } from '../../kernel/by-time.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { AccountStore, PlaceCount } from './account-store.ts';
import type { Principal } from './principal.ts';

/** Most pairs of a key and an address that a process counts; more stay uncounted until idle ones make room. */
const countedMax = 10_000;
/** Most of them that one write takes. */
const writtenMax = 500;
/** So long they stay in memory alone. */
const writeEveryMs = 60_000;

/**
 * Counts from where keys are used. A connection holds its count, so that each further request on it only adds 1.
 * `write` adds the counts to the store once in a while, and times are as exact as that.
 */
export class KeyPlaces {
  /** Connections are proxies', which carry requests from many addresses: each request asks for its own count. */
  byRequest = false;
  readonly #counts = new Map<string, PlaceCount>();

  /** Counts a request with this key from this address; further ones may be added to the count. */
  count({ keyId, run }: Pick<Principal, 'keyId' | 'run'>, address: string | null): PlaceCount {
    const count = this.#of(run?.keyId ?? keyId, address);
    count.requests += 1;
    return count;
  }

  #of(keyId: string, address: string | null): PlaceCount {
    if (address === null) return { keyId, address: '', requests: 0 };
    const place = `${keyId} ${address}`;
    const known = this.#counts.get(place);
    if (known !== undefined) return known;
    const count = { keyId, address, requests: 0 };
    if (this.#counts.size >= countedMax) this.#dropIdle();
    if (this.#counts.size < countedMax) this.#counts.set(place, count);
    return count;
  }

  /** A connection that is open still may hold one of them, and its requests are not counted until it ends. */
  #dropIdle(): void {
    for (const [place, { requests }] of this.#counts) if (requests === 0) this.#counts.delete(place);
  }

  /** What is not written for a fault of the store is written later. */
  async write(store: Pick<AccountStore, 'usedFrom'>, nowMs: number): Promise<void> {
    const used = [...this.#counts.values()].filter(({ requests }) => requests > 0).slice(0, writtenMax);
    if (used.length === 0) return;
    const written = used.map((count) => ({ ...count }));
    for (const count of used) count.requests = 0;
    try {
      await store.usedFrom(written, nowMs);
    } catch (error) {
      for (const { keyId, address, requests } of written) this.#of(keyId, address).requests += requests;
      throw error;
    }
  }
}

/** Writes the counts once a minute, until `stop`, and whenever `write` is called. */
export function writePlaces(
  places: KeyPlaces,
  store: Pick<AccountStore, 'usedFrom'>,
  clock: Clock,
  onTrouble: (error: unknown) => void,
): { write(): Promise<void>; stop(): void } {
  const write = () => places.write(store, clock.wallMs());
  return { write, stop: every(writeEveryMs, () => void write().catch(onTrouble)) };
}
