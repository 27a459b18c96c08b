/**
 * The port of what is known of objects that live at providers (responses, containers, files…): who was given which id,
 * and by which credential. Drivers: stores/sqlite (culvert.db), stores/postgres. Ids are kept as digests.
 */
export interface ProviderObjectStore {
  /**
   * Another process may be about to write what it has just given out: what is not found is worth another look after so
   * long. Null when nobody else writes.
   */
  readonly lookAgainAfterMs: number | null;
  /** Remembers them, durably enough for a restart; what a tenant has already is renewed. */
  give(objects: readonly GivenObject[]): Promise<void>;
  /** All that is known of these ids, whoever was given them, but for what expired before `nowMs`. */
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
