/** The port behind which accounts and keys live. Drivers: stores/sqlite, later stores/postgres. */
export interface KeyStore {
  /** Everything that is not deleted; small enough to hold in memory. */
  load(): Promise<{ accounts: AccountRow[]; keys: KeyRow[] }>;
  /** Grows with every change by any process: the server polls it once a second and reloads when it moved. */
  version(): Promise<number>;
  createAccount(account: AccountRow): Promise<void>;
  createKey(key: KeyRow): Promise<void>;
  findAccount(id: string): Promise<AccountRow | null>;
  /** False when there is no such key or it is revoked already. */
  revokeKey(id: string, atMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** Who pays. Times in wall-clock ms, here and in `KeyRow`. */
export interface AccountRow {
  id: string;
  name: string;
  plan: string;
  status: 'active' | 'suspended';
  createdMs: number;
}

/** One key; the secret itself is kept nowhere. */
export interface KeyRow {
  id: string;
  account: string;
  name: string;
  /** What people may see: `sk-cv-` and the public id. */
  prefix: string;
  /** SHA-256 of the whole secret, hex. */
  hash: string;
  kind: 'user' | 'admin';
  expiresMs: number | null;
  /** Globs; null = every model of the plan. */
  models: readonly string[] | null;
  createdMs: number;
  revokedMs: number | null;
}
