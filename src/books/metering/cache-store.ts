/**
 * The port of answers kept for equal requests (design §20): one entry per (scope, digest). Its drivers bound the bytes
 * of each scope, drop the oldest entries first, and seal the bodies.
 */
export interface CacheStore {
  /** Null: there is none, or its time is over. It may throw, reject or be slow: the caller takes all for a miss. */
  get(scope: string, digest: string): CacheEntry | null | Promise<CacheEntry | null>;
  /** Replaces an older entry, and is found from now on. One that is larger than a scope may be is not kept. */
  put(scope: string, digest: string, entry: CacheEntry): Promise<void>;
  /**
   * Same as `put`, if the entry there is still the one with `atMs` of `over`; null: if there is none. Resolves to
   * whether it was. The new entry needs a later `atMs`. Absent: no other process writes.
   */
  swap?(scope: string, digest: string, entry: CacheEntry, over: number | null): Promise<boolean>;
  /** Removes the entries that meet all the fields given; resolves to how many. Without fields: all entries. */
  clear(which: CacheSelection): Promise<number>;
  stats(): Promise<readonly CacheScopeStats[]>;
  close(): Promise<void>;
}

/** Store of entries that other processes may write, too. */
export type SharedCacheStore = CacheStore & Required<Pick<CacheStore, 'swap'>>;

export interface CacheEntry {
  /** Time when the answer was complete. */
  atMs: number;
  expiresAtMs: number;
  /** The key whose request was asked. */
  keyId: string;
  /** The id of the alias that answered. */
  model: string;
  /** The tag of the request that was asked. */
  tag: string | null;
  /** Opaque; the store seals it. */
  body: Buffer;
}

export interface CacheSelection {
  scope?: string;
  keyId?: string;
  model?: string;
  tag?: string;
}

/** Answers of one alias in one scope. */
export interface CacheScopeStats {
  scope: string;
  model: string;
  entries: number;
  bytes: number;
  /** `atMs` of its oldest entry. */
  oldestMs: number;
}

export interface CacheBounds {
  scopeBytes: number;
  /** Bytes of all scopes together. */
  totalBytes: number;
}
