/**
 * The port behind which accounts, keys, plans and the audit trail live; of keys only hashes. Drivers: stores/sqlite,
 * stores/postgres.
 */
export interface AccountStore {
  /** Everything that is not deleted; small enough to hold in memory. */
  load(): Promise<Stored>;
  /** Grows with every change by any process: the server polls it once a second and reloads when it moved. */
  version(): Promise<number>;
  /**
   * All of these changes and their audit row in one transaction, or none. `exists`: what is created is there already
   * (an account's id, a living key's account and name, a secret's hash). `absent`: what is changed is not there, or is
   * revoked.
   */
  apply(changes: readonly Change[], audit: AuditEntry): Promise<'done' | 'exists' | 'absent'>;
  /** Newest first; `before` is the id of the last row seen. */
  audit(page: { limit: number; before: number | null }): Promise<readonly AuditRow[]>;
  close(): Promise<void>;
}

/** What a store holds. */
export interface Stored {
  accounts: readonly AccountRow[];
  keys: readonly KeyRow[];
  plans: readonly PlanRow[];
}

export type Change =
  | { kind: 'create-account'; account: AccountRow }
  | { kind: 'update-account'; id: string; set: Partial<Pick<AccountRow, 'name' | 'plan' | 'status'>> }
  | { kind: 'create-key'; key: KeyRow }
  /** Replaces all its secrets; only while it is not revoked. */
  | { kind: 'replace-secrets'; id: string; secrets: readonly KeySecret[] }
  | { kind: 'revoke-key'; id: string; atMs: number }
  | { kind: 'put-plan'; plan: PlanRow }
  | { kind: 'delete-plan'; name: string };

/** Who pays. Times in wall-clock ms, here and below. */
export interface AccountRow {
  id: string;
  name: string;
  plan: string;
  status: 'active' | 'suspended';
  createdMs: number;
}

/** One key; the secrets themselves are kept nowhere. */
export interface KeyRow {
  id: string;
  account: string;
  name: string;
  /** Owner of vector data: `account/name`, or another key's with `share_vectors_with`. Kept through rotation. */
  tenant: string;
  /** What people may see: `sk-cv-` and the public id. */
  prefix: string;
  /** At least one; more while a rotation's overlap lasts. */
  secrets: readonly KeySecret[];
  kind: 'user' | 'admin';
  expiresMs: number | null;
  /** Globs; null = every model of the plan. */
  models: readonly string[] | null;
  /** Addresses and networks it may be used from; null = any. */
  ips: readonly string[] | null;
  /** Tighter limits of its own, as checked by config's `keyLimitsSchema`; null = the plan's alone. */
  limits: Readonly<Record<string, unknown>> | null;
  createdMs: number;
  revokedMs: number | null;
}

export interface KeySecret {
  /** SHA-256 of the whole secret, hex. */
  hash: string;
  /** Works until then; null = as long as the key. */
  untilMs: number | null;
}

/** A plan made through the admin API; those of the configuration are not here. */
export interface PlanRow {
  name: string;
  /** As written, checked by config's `planSchema`. */
  definition: Readonly<Record<string, unknown>>;
  updatedMs: number;
}

export interface AuditEntry {
  atMs: number;
  /** Who: `admin`, `cli`, … */
  actor: string;
  /** What: `key.create`, `account.update`… */
  action: string;
  /** On what: its id. */
  subject: string;
  /** JSON values without secrets; null where there was or is nothing. */
  before: unknown;
  after: unknown;
}

export interface AuditRow extends AuditEntry {
  id: number;
}
