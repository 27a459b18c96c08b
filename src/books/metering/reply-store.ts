/**
 * The port of replies kept for `Idempotency-Key` (design §11): one row per (scope, key). Its store, over both
 * databases, is in stores/answers. Replies are encrypted before they come here.
 */
export interface ReplyStore {
  /**
   * Takes the key for a request, atomically. `taken`: run it. Otherwise what an earlier request of this key came to.
   * A row past `expiresMs`, or in flight under a boot that is over, is taken as if it were not there.
   */
  take(row: ReplyTake): Promise<ReplyTaken>;
  /** Keeps the reply; null `sealed`: it was too large to keep. */
  keep(
    scope: string,
    key: string,
    requestId: string,
    reply: { status: number; sealed: Uint8Array | null },
  ): Promise<void>;
  /** The request came to nothing worth keeping: the key is free again. */
  release(scope: string, key: string, requestId: string): Promise<void>;
  /** Removes rows that expired; resolves to how many. */
  sweep(nowMs: number): Promise<number>;
}

export interface ReplyTake {
  /** Tenant and endpoint. */
  scope: string;
  key: string;
  /** SHA-256 of the body, hex. */
  bodyHash: string;
  requestId: string;
  bootId: string;
  nowMs: number;
  expiresMs: number;
}

export type ReplyTaken =
  | { kind: 'taken' }
  | { kind: 'in-flight'; requestId: string }
  | { kind: 'other-body'; requestId: string }
  | { kind: 'kept'; requestId: string; status: number; sealed: Uint8Array | null };
