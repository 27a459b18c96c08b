/**
 * The port of objects at providers (responses, containers, files…): which tenant got which id, and from which
 * credential. It keeps ids as digests. Its store is in stores/accounts.
 */
export interface ProviderObjectStore {
  /**
   * Another process may be about to write the id that it has just given out, so a missing id is looked up again after
   * this time. Null when nobody else writes.
   */
  readonly lookAgainAfterMs: number | null;
  /** Remembers them, durably enough for a restart; what a tenant has already is renewed. */
  give(objects: readonly GivenObject[]): Promise<void>;
  /** All rows of these ids, whichever tenant got them, without those that expired before `nowMs`. */
  find(idHashes: readonly string[], nowMs: number): Promise<GivenObject[]>;
  /** Forgets the oldest of a tenant's beyond `keepMax`; resolves to how many. */
  trim(tenant: string, keepMax: number): Promise<number>;
  /** Forgets what expired; resolves to how many. */
  sweep(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

/** One id that a tenant was given. */
export interface GivenObject {
  /** First 16 bytes of the id's SHA-256, as base64url. */
  idHash: string;
  tenant: string;
  /** `provider/model` that gave it. */
  target: string;
  /** `provider#0`…: the credential that it lives under. */
  credential: string;
  expiresMs: number;
}
