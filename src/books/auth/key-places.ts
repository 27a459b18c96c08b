import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { AccountStore, PlaceCount } from './account-store.ts';
import type { Principal } from './principal.ts';

/** Most pairs of a key and an address that a process counts; more stay uncounted until idle ones make room. */
const countedMax = 10_000;
/** Most of them of one key, so that a caller with many addresses leaves room for others. */
const ofKeyMax = 100;
/** Most of them that one statement takes. */
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
  readonly #byKey = new Map<string, Map<string, PlaceCount>>();
  #size = 0;
  /** No room was found, and none comes before the next write. */
  #full = false;
  #written = Promise.resolve();

  /** Counts a request with this key from this address; further ones may be added to the count. */
  count({ keyId, run }: Pick<Principal, 'keyId' | 'run'>, address: string | null): PlaceCount {
    const count = this.#of(run?.keyId ?? keyId, address);
    count.requests += 1;
    return count;
  }

  #of(keyId: string, address: string | null): PlaceCount {
    if (address === null) return { keyId, address: '', requests: 0 };
    const ofKey = this.#byKey.get(keyId) ?? new Map<string, PlaceCount>();
    const known = ofKey.get(address);
    if (known !== undefined) return known;
    const count = { keyId, address, requests: 0 };
    if (ofKey.size >= ofKeyMax) this.#dropIdle(ofKey);
    if (this.#size >= countedMax && !this.#full) {
      for (const each of this.#byKey.values()) this.#dropIdle(each);
      this.#full = this.#size >= countedMax;
    }
    if (ofKey.size >= ofKeyMax || this.#size >= countedMax) return count;
    this.#byKey.set(keyId, ofKey.set(address, count));
    this.#size += 1;
    return count;
  }

  /** A connection that is open still may hold one of them, and its requests are not counted until it ends. */
  #dropIdle(ofKey: Map<string, PlaceCount>): void {
    for (const [address, { keyId, requests }] of ofKey) {
      if (requests > 0) continue;
      ofKey.delete(address);
      this.#size -= 1;
      if (ofKey.size === 0) this.#byKey.delete(keyId);
    }
  }

  /** Changes that a fault of the store prevented are written later. A caller that asks meanwhile waits for both. */
  write(store: Pick<AccountStore, 'usedFrom'>, nowMs: number): Promise<void> {
    this.#written = this.#written.catch(() => undefined).then(() => this.#write(store, nowMs));
    return this.#written;
  }

  async #write(store: Pick<AccountStore, 'usedFrom'>, nowMs: number): Promise<void> {
    const used = [...this.#byKey.values()].flatMap((ofKey) =>
      [...ofKey.values()].filter((count) => count.requests > 0),
    );
    for (let at = 0; at < used.length; at += writtenMax) await this.#add(store, used.slice(at, at + writtenMax), nowMs);
  }

  async #add(store: Pick<AccountStore, 'usedFrom'>, used: readonly PlaceCount[], nowMs: number): Promise<void> {
    const counts = used.map((count) => ({ ...count }));
    for (const count of used) count.requests = 0;
    this.#full = false;
    try {
      await store.usedFrom(counts, nowMs);
    } catch (error) {
      for (const { keyId, address, requests } of counts) this.#of(keyId, address).requests += requests;
      throw error;
    }
  }
}

/** Writes the counts once a minute, a last time at `stop`, and whenever `write` is called. */
export function writePlaces(
  places: KeyPlaces,
  store: Pick<AccountStore, 'usedFrom'>,
  clock: Clock,
  onTrouble: (error: unknown) => void,
): { write(): Promise<void>; stop(): Promise<void> } {
  const write = () => places.write(store, clock.wallMs());
  const stopWriting = every(writeEveryMs, () => void write().catch(onTrouble));
  return {
    write,
    async stop() {
      stopWriting();
      await write().catch(onTrouble);
    },
  };
}
