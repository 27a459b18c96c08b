import type { StoredAccount } from '../../config/declared.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Operator } from './operator.ts';

/**
 * The port of accounts, keys, plans, providers and models that were set up at run time, and of the audit log. Of keys
 * it holds only hashes, of credentials only sealed texts. Its store is in stores/accounts.
 */
export interface AccountStore {
  /** Everything that is not deleted; small enough to hold in memory. */
  load(): Promise<Stored>;
  /** Grows with every change by any process: the server polls it once a second and reloads when it moved. */
  version(): Promise<number>;
  /**
   * Makes all of these changes and their audit row in one transaction, or none. `exists`: the thing to create is there
   * already (an account's id, an active key's account and name, a secret's hash, a stored row's name, a credential's
   * id). `absent`: the thing to change is missing, is revoked, or is not what it `was`.
   */
  apply(changes: readonly Change[], audit: AuditEntry): Promise<'done' | 'exists' | 'absent'>;
  /** Users and groups that a directory provisioned by SCIM, oldest first. */
  scim(): Promise<readonly ScimRow[]>;
  /** Newest first. */
  audit(query: AuditQuery): Promise<readonly AuditRow[]>;
  /** Additions to the credit of an account, newest first. */
  topUps(account: string, limit: number): Promise<readonly TopUp[]>;
  /** Adds requests by key and address; the last `keyPlacesMax` addresses of each key stay. */
  usedFrom(counts: readonly PlaceCount[], atMs: number): Promise<void>;
  /** Addresses that a key was used from, the last one first. */
  places(keyId: string): Promise<readonly KeyPlace[]>;
  close(): Promise<void>;
}

/** Filter of audit rows. An absent member lets everything through. */
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

/** Contents of a store. */
export interface Stored {
  accounts: readonly AccountRow[];
  keys: readonly KeyRow[];
  plans: readonly PlanRow[];
  /** Ordered by kind and name. */
  entries: readonly EntryRow[];
  /** Ordered by provider, time and id. */
  credentials: readonly CredentialRow[];
  /** Ordered by name. */
  operators: readonly OperatorRow[];
  /** Ordered by time and id; those that have expired may still be there. */
  invitations: readonly InvitationRow[];
  /** Ordered by time and id; those that are over may still be there. */
  bodyRules: readonly BodyRuleRow[];
}

export const nothingStored: Stored = {
  accounts: [],
  keys: [],
  plans: [],
  entries: [],
  credentials: [],
  operators: [],
  invitations: [],
  bodyRules: [],
};

export type Change =
  | { kind: 'create-account'; account: AccountRow }
  /** `was`: only where it holds just that; null: whatever it holds. */
  | { kind: 'update-account'; id: string; set: Partial<AccountFacts>; was: AccountFacts | null }
  /** `exists`: this account has a top-up of this id. */
  | { kind: 'add-credit'; topUp: TopUp }
  | { kind: 'create-key'; key: KeyRow }
  /** Replaces all its secrets; only while it is not revoked, and this hash is that of its present one. */
  | { kind: 'replace-secrets'; id: string; was: string; secrets: readonly KeySecret[] }
  /** Only while it is not revoked, and where it holds just what it `was`. `exists`: another key has its new name. */
  | { kind: 'update-key'; id: string; set: Partial<KeySettings>; was: KeySettings }
  | { kind: 'revoke-key'; id: string; atMs: number }
  /** Only where it is revoked. */
  | { kind: 'delete-key'; id: string }
  /** `was`: only where it holds just that; null: whatever it holds, or where it is not there yet. */
  | { kind: 'put-plan'; plan: PlanRow; was: PlanRow['definition'] | null }
  | { kind: 'delete-plan'; name: string }
  | { kind: 'create-kept'; row: EntryRow }
  | { kind: 'replace-kept'; row: EntryRow; was: number }
  /** Removes its credentials, too. */
  | { kind: 'delete-kept'; of: EntryRow['kind']; name: string; was: number }
  | { kind: 'create-credential'; credential: CredentialRow }
  | { kind: 'delete-credential'; provider: string; id: string }
  /** The same plain text, sealed again; only while it is still sealed as it `was`. */
  | { kind: 'reseal-credential'; provider: string; id: string; was: string; sealed: string }
  /** `exists`: its name, its key or the person behind it is another's. */
  | { kind: 'create-operator'; operator: OperatorRow }
  /** `was`: only where it has just these accounts; absent: whatever it has. */
  | { kind: 'update-operator'; id: string; set: OperatorChange; was?: readonly string[] }
  /** Removes its sessions, too. */
  | { kind: 'delete-operator'; id: string; was?: readonly string[] }
  /** Drops those that have expired by then. */
  | { kind: 'create-invitation'; invitation: InvitationRow }
  /** Before it expires: of two who come at once one gets it. */
  | { kind: 'use-invitation'; id: string; atMs: number }
  | { kind: 'delete-invitation'; id: string }
  /** In the place of one of the same subject; drops those that are over by then. */
  | { kind: 'put-body-rule'; rule: BodyRuleRow }
  | { kind: 'delete-body-rule'; id: string }
  /** Only where nobody has changed anything since `version()` was this. */
  | { kind: 'only-at'; version: number }
  | { kind: 'create-scim'; row: ScimRow }
  | { kind: 'replace-scim'; row: ScimRow }
  | { kind: 'delete-scim'; id: string };

/** A change of some of them leaves the others as they are by then. */
export type OperatorChange = Partial<Pick<OperatorRow, 'name' | 'role' | 'accounts' | 'prefix' | 'hash'>>;

/** The members of an account that can be changed. */
export type AccountFacts = Pick<AccountRow, 'name' | 'plan' | 'status' | 'guards' | 'extraBudget' | 'budgets' | 'data'>;

/** The paying account. Times are wall-clock ms, here and below. */
export interface AccountRow extends StoredAccount {
  /** Nano-USD ever added to its credit. Absent or null: it has none, and its plan alone counts. */
  creditNano?: number | null;
  createdMs: number;
}

/** USD added to the credit of an account; below zero: taken from it. */
export interface TopUp {
  account: string;
  /** Its operator's, such as the number of an invoice. */
  id: string;
  usdNano: number;
  note: string;
  /** Operator that added it. */
  actor: string;
  atMs: number;
}

/** Requests with a key from an address that no store knows of yet. */
export interface PlaceCount {
  readonly keyId: string;
  readonly address: string;
  requests: number;
}

/** An address that a key was used from. */
export interface KeyPlace {
  address: string;
  requests: number;
  firstMs: number;
  lastMs: number;
}

/** One key; the secrets themselves are kept nowhere. */
export interface KeyRow {
  id: string;
  account: string;
  name: string;
  /** Owner of vector data: `account/name`, or another key's with `share_vectors_with`. Kept through rotation. */
  tenant: string;
  /** Public part: `sk-cv-` and the public id. */
  prefix: string;
  /** At least one; more while a rotation's overlap lasts. */
  secrets: readonly KeySecret[];
  kind: 'user' | 'admin';
  /** Null: never. */
  expiresMs: number | null;
  /** Globs; null: every model of the plan. */
  models: readonly string[] | null;
  /** Addresses and networks it may be used from; null = any. */
  ips: readonly string[] | null;
  /** Tighter limits than the plan's, as checked by config's `keyLimitsSchema`; null = the plan's alone. */
  limits: Readonly<Record<string, unknown>> | null;
  /** Names of guards, besides those of its account. */
  guards: readonly string[];
  /** Tags by which people find it. Absent: none. */
  tags?: readonly string[];
  createdMs: number;
  revokedMs: number | null;
}

/** The members of a key that can be changed. */
export type KeySettings = Pick<KeyRow, 'name' | 'expiresMs' | 'models' | 'ips' | 'limits' | 'guards' | 'tags'>;

export interface KeySecret {
  /** SHA-256 of the whole secret, hex. */
  hash: string;
  /** Works until then; null = as long as the key. */
  untilMs: number | null;
}

/** A plan made through the admin API; those of the configuration are not here. */
export interface PlanRow {
  name: string;
  /** Text as written; config's `planSchema` checks it. */
  definition: Readonly<Record<string, unknown>>;
  updatedMs: number;
}

/** A provider, model, MCP server, prompt, guard or rule for routes that was set up while Culvert ran: a fragment of culvert.yaml. */
export interface EntryRow {
  kind: 'provider' | 'model' | 'mcp' | 'prompt' | 'guard' | 'route' | 'agent';
  name: string;
  /** Definition as under `providers.NAME`, `models.NAME`, `mcp.servers.NAME` or `agents.NAME`, without the values in `sealed`. Config's own schemas check it. */
  definition: Readonly<Record<string, unknown>>;
  /** Members of the definition that may hold secrets, as JSON under `storage.secret`, base64; null: it has none. */
  sealed: string | null;
  /** Begins at 1 and grows with every change of the row and of its credentials. */
  version: number;
  createdMs: number;
  updatedMs: number;
  /** Author of the last change, as the audit log names them. */
  updatedBy: string;
}

/** A credential of a kept provider. */
export interface CredentialRow {
  provider: string;
  id: string;
  /** The secret under `storage.secret`, base64. */
  sealed: string;
  /** Its last characters, by which people know it. */
  hint: string;
  /** Share of requests relative to the provider's other credentials. */
  weight: number;
  /** Requests a minute; null: any number. */
  rpm: number | null;
  createdMs: number;
  createdBy: string;
}

/** An operator in addition to the holder of the admin key. */
export interface OperatorRow extends Operator {
  id: string;
  /** Operator's key: the shown prefix, and SHA-256 of the whole in hex. Null: the operator has none. */
  prefix: string | null;
  hash: string | null;
  /** Whom it is to which OpenID provider; null: it logs in by its key. */
  issuer: string | null;
  subject: string | null;
  /** `invitation`: groups of OpenID Connect do not decide what it may. `scim`: those of a directory do. Null: it was made, or groups decide. */
  origin: 'invitation' | 'scim' | null;
  createdMs: number;
}

/** A link that makes one operator, once. */
export interface InvitationRow {
  /** Public: `inv_…`. */
  id: string;
  /** SHA-256 of the token in the link, hex. */
  hash: string;
  role: Operator['role'];
  /** Null: all. */
  accounts: Operator['accounts'];
  /** Null: the invited person chooses. */
  name: string | null;
  /** Verified address whose login by OpenID Connect uses it up, too; null: none. */
  email: string | null;
  createdMs: number;
  /** Name of an operator. */
  createdBy: string;
  endsMs: number;
}

/** Whose requests and answers are kept for a time, and why. Times are wall-clock ms. */
export interface BodyRuleRow {
  /** `br_…`. */
  id: string;
  of: 'key' | 'account' | 'model';
  /** Id of the key or account, or name of the model. */
  name: string;
  /** For people, as the audit log has it. */
  reason: string;
  createdMs: number;
  createdBy: string;
  untilMs: number;
}

/** A user or a group of a directory. */
export interface ScimRow {
  /** `usr_…` or `grp_…`. */
  id: string;
  kind: 'user' | 'group';
  /** User name or display name in lower case; unique among its kind. */
  name: string;
  /** Value as `auth/scim` reads it. */
  data: JsonObject;
  createdMs: number;
  updatedMs: number;
}

export interface AuditEntry {
  atMs: number;
  /** Author: `admin`, `cli`, … */
  actor: string;
  /** Action: `key.create`, `account.update`… */
  action: string;
  /** Id of the subject. */
  subject: string;
  /** JSON values without secrets; null where there was or is nothing. */
  before: unknown;
  after: unknown;
}

export interface AuditRow extends AuditEntry {
  id: number;
}
