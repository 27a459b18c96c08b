/**
 * The port of kept bodies: what callers sent and got, a row for each request. Texts are encrypted before they come here.
 * Its store, over both databases, is in stores/answers.
 */
export interface BodyStore {
  /** `signature`: sealed; null: the row has none, and a search opens it. */
  put(row: BodyRow, signature: Uint8Array | null): Promise<void>;
  find(requestId: string): Promise<BodyRow | null>;
  /** The newest first. */
  list(query: BodyQuery): Promise<BodyRow[]>;
  /** The signatures of the same rows. */
  signatures(query: BodyQuery): Promise<BodySignature[]>;
  /** Removes what meets the query, whatever its limit; resolves to how many rows. */
  remove(which: BodyFilter): Promise<number>;
  /** Removes rows of before `beforeMs`, and the oldest ones beyond `bytesMax` bytes; resolves to how many. */
  sweep(beforeMs: number, bytesMax: number): Promise<number>;
  close(): Promise<void>;
}

/** Times are wall-clock ms. */
export interface BodyRow {
  requestId: string;
  atMs: number;
  account: string;
  keyId: string;
  /** Null: the request was refused before it had one. */
  model: string | null;
  path: string;
  status: number;
  sealed: Uint8Array;
}

/** The sealed signature of a row's words; null: it has none. */
export interface BodySignature {
  requestId: string;
  sealed: Uint8Array | null;
}

/** An absent member lets everything through. */
export interface BodyFilter {
  /** Null: all. */
  accounts: readonly string[] | null;
  keyId?: string | undefined;
  model?: string | undefined;
  fromMs?: number | undefined;
  /** Not included. */
  toMs?: number | undefined;
}

export interface BodyQuery extends BodyFilter {
  /** Id of the request behind which the page begins; null: the newest. */
  before: string | null;
  limit: number;
}
