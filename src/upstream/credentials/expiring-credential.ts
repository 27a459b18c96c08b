import type { Clock } from '../../kernel/clock.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { NotAuthorized } from '../transport/upstream-call.ts';

/** A value that is good until a time on the wall clock; null: for ever. */
export interface Perishable<T> {
  value: T;
  expiresAtMs: number | null;
}

export interface Renewed<T> {
  /**
   * The held value while it is good, without a wait; else the next fetch's, which all who ask meanwhile share. Rejects
   * as that fetch does, or with `NotAuthorized` after 30 s, and the next call fetches again.
   */
  get(): T | Promise<T>;
}

/** It is fetched again so long before it expires, while the old one still serves. */
const renewAheadMs = 5 * 60_000;
/** Between two fetches ahead of time: the first may have failed, or given the same value again. */
const retryPauseMs = 5_000;
/** For a fetch: SDKs and programs of an operator may hang for good. Azure's CLI may take half of it. */
const fetchMaxMs = 30_000;

/** A credential that expires: fetched when a caller asks for it, and again in the background before it expires. */
export function createRenewed<T>(fetch: () => Promise<Perishable<T>>, clock: Clock): Renewed<T> {
  let held: Perishable<T> | null = null;
  let fetching: Promise<T> | null = null;
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  async function fetched(): Promise<Perishable<T>> {
    held = await fetch();
    return held;
  }

  function renew(): Promise<T> {
    fetching ??= withinMs(fetchMaxMs, fetched(), null)
      .then((next) => {
        if (next === null) throw new NotAuthorized(`no credential came within ${fetchMaxMs / 1_000} s`);
        return next.value;
      })
      .finally(() => {
        fetching = null;
        quietUntilMs = clock.monotonicMs() + retryPauseMs;
      });
    return fetching;
  }

  return {
    get() {
      if (held === null) return renew();
      if (held.expiresAtMs === null) return held.value;
      const leftMs = held.expiresAtMs - clock.wallMs();
      if (leftMs <= 0) return renew();
      // Who asks gets the old one: a failure shows once it has expired.
      if (leftMs <= renewAheadMs && clock.monotonicMs() >= quietUntilMs) renew().catch(() => {});
      return held.value;
    },
  };
}

/** Header of a token, at once where one is held. */
export function bearerOf(token: Renewed<string>): readonly string[] | Promise<readonly string[]> {
  const header = (held: string) => ['authorization', `Bearer ${held}`];
  const held = token.get();
  return held instanceof Promise ? held.then(header) : header(held);
}
