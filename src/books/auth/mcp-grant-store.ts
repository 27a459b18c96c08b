/**
 * The port behind which lie the authorizations that operators gave Culvert at MCP servers, and the logins that have
 * begun. Of their secrets it holds sealed texts and hashes alone. Its store is in stores/accounts.
 */
export interface McpGrantStore {
  find(server: string): Promise<McpGrantRow | null>;
  /** Ordered by server. */
  list(): Promise<readonly McpGrantRow[]>;
  /**
   * Written when it resolves. `was`: replaces the row of this version alone; null: whatever is there, or nothing. False:
   * the row has another version, or is gone.
   */
  put(row: McpGrantRow, was: number | null): Promise<boolean>;
  /** False when there was none. */
  remove(server: string): Promise<boolean>;
  /** True for one of all who want to renew the tokens of this version. Others may try again after `untilMs`. */
  lease(server: string, version: number, nowMs: number, untilMs: number): Promise<boolean>;
  /** Expired ones are dropped along with it. */
  begin(login: McpLoginRow, nowMs: number): Promise<void>;
  /** Ends it: of two who come at once one gets it. Null when there is none, or it is over. */
  redeem(hash: string, nowMs: number): Promise<McpLoginRow | null>;
  close(): Promise<void>;
}

/** Times are wall-clock ms. */
export interface McpGrantRow {
  server: string;
  /** JSON under `storage.secret`, base64. */
  sealed: string;
  /** Why the tokens are of no more use; null: they are. */
  ended: string | null;
  /** Grows with every change, also over a removal. */
  version: number;
  /** Until then one process renews the tokens; 0: nobody does. */
  leaseMs: number;
  loginMs: number;
  /** Operator who began the login, as the audit log names them. */
  loginBy: string;
}

/** A login that waits for the browser to come back. */
export interface McpLoginRow {
  /** SHA-256 of its `state`, hex. */
  hash: string;
  /** JSON under `storage.secret`, base64. */
  sealed: string;
  endsMs: number;
}
