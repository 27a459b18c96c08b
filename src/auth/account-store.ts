import type { Operator } from './operator.ts';

/**
 * The port behind which accounts, keys, plans, providers and models that were set up at run time, and the audit trail
 * live; of keys only hashes, of credentials only what is sealed. Drivers: stores/sqlite, stores/postgres.
 */
export interface AccountStore {
  /** Everything that is not deleted; small enough to hold in memory. */
  load(): Promise<Stored>;
  /** Grows with every change by any process: the server polls it once a second and reloads when it moved. */
  version(): Promise<number>;
  /**
   * All of these changes and their audit row in one transaction, or none. `exists`: what is created is there already
   * (an account's id, a living key's account and name, a secret's hash, a kept row's name, a credential's id).
   * `absent`: what is changed is not there, is revoked, or is not what it `was`.
   */
  apply(changes: readonly Change[], audit: AuditEntry): Promise<'done' | 'exists' | 'absent'>;
  /** Newest first. */
  audit(query: AuditQuery): Promise<readonly AuditRow[]>;
  close(): Promise<void>;
}

/** Which rows of the audit trail; what is absent lets everything through. */
export interface AuditQuery {
  limit: number;
  /** Id of the last row seen. */
  before: number | null;
  actor?: string;
  /** `plan.update`, or `plan` for all that was done to plans. */
  action?: string;
  subject?: string;
  /** Wall-clock ms; `untilMs` itself is not in. */
  sinceMs?: number;
  untilMs?: number;
}

/** What a store holds. */
export interface Stored {
  accounts: readonly AccountRow[];
  keys: readonly KeyRow[];
  plans: readonly PlanRow[];
  /** In the order of kind and name. */
  kept: readonly KeptRow[];
  /** In the order of provider, time and id. */
  credentials: readonly CredentialRow[];
  /** In the order of their names. */
  operators: readonly OperatorRow[];
}

export const nothingStored: Stored = { accounts: [], keys: [], plans: [], kept: [], credentials: [], operators: [] };

export type Change =
  | { kind: 'create-account'; account: AccountRow }
  /** `was`: only where it holds just that; null: whatever it holds. */
  | { kind: 'update-account'; id: string; set: Partial<AccountFacts>; was: AccountFacts | null }
  | { kind: 'create-key'; key: KeyRow }
  /** Replaces all its secrets; only while it is not revoked. */
  | { kind: 'replace-secrets'; id: string; secrets: readonly KeySecret[] }
  | { kind: 'revoke-key'; id: string; atMs: number }
  /** `was`: only where it holds just that; null: whatever it holds, or where it is not there yet. */
  | { kind: 'put-plan'; plan: PlanRow; was: PlanRow['definition'] | null }
  | { kind: 'delete-plan'; name: string }
  | { kind: 'create-kept'; row: KeptRow }
  | { kind: 'replace-kept'; row: KeptRow; was: number }
  /** With its credentials. */
  | { kind: 'delete-kept'; of: KeptRow['kind']; name: string; was: number }
  | { kind: 'create-credential'; credential: CredentialRow }
  | { kind: 'delete-credential'; provider: string; id: string }
  /** Sealed anew, of the same plain text. */
  | { kind: 'reseal-credential'; provider: string; id: string; sealed: string }
  /** `exists`: its name, its key or whom it stands for is another's. */
  | { kind: 'create-operator'; operator: OperatorRow }
  | { kind: 'update-operator'; operator: OperatorRow }
  /** With its sessions. */
  | { kind: 'delete-operator'; id: string };

/** Of an account, what can be changed. */
export type AccountFacts = Pick<AccountRow, 'name' | 'plan' | 'status'>;

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

/** A provider or model that was set up while Culvert ran: a fragment of culvert.yaml. */
export interface KeptRow {
  kind: 'provider' | 'model';
  name: string;
  /** As under `providers.NAME` or `models.NAME`, checked by config's own schemas; without what is in `sealed`. */
  definition: Readonly<Record<string, unknown>>;
  /** Members of the definition that may hold secrets, as JSON under `storage.secret`, base64; null: it has none. */
  sealed: string | null;
  /** From 1; grows with every change of it and of its credentials. */
  version: number;
  createdMs: number;
  updatedMs: number;
  /** Who changed it last, as the audit trail names him. */
  updatedBy: string;
}

/** A credential of a kept provider. */
export interface CredentialRow {
  provider: string;
  id: string;
  /** The secret under `storage.secret`, base64. */
  sealed: string;
  /** What people know it by: its last characters. */
  hint: string;
  /** Share of requests beside the provider's other credentials. */
  weight: number;
  /** Requests a minute; null: any number. */
  rpm: number | null;
  createdMs: number;
  createdBy: string;
}

/** Who administers beside the holder of the admin key. */
export interface OperatorRow extends Operator {
  id: string;
  /** Of its key: what people may see, and SHA-256 of the whole, hex. Null: it has none. */
  prefix: string | null;
  hash: string | null;
  /** Whom it is to which OpenID provider; null: it logs in by its key. */
  issuer: string | null;
  subject: string | null;
  createdMs: number;
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
