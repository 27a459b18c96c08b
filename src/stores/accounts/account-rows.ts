import type {
  AccountRow,
  AuditQuery,
  AuditRow,
  BodyRuleRow,
  CredentialRow,
  EntryRow,
  InvitationRow,
  KeyRow,
  KeySecret,
  OperatorRow,
  PlanRow,
  ScimRow,
  TopUp,
} from '../../books/auth/account-store.ts';

/**
 * Tables of accounts, keys, plans, stored providers and models and the audit log, as Kysely sees them; the same names
 * in every driver. Times are wall-clock ms, lists and objects JSON text.
 */
export interface AccountTables {
  account: AccountColumns;
  credit: CreditColumns;
  api_key: KeyColumns;
  api_key_secret: SecretColumns;
  plan: PlanColumns;
  kept: EntryColumns;
  credential: CredentialColumns;
  operator: OperatorColumns;
  invitation: InvitationColumns;
  body_rule: BodyRuleColumns;
  scim: ScimColumns;
  audit: AuditColumns;
  store_version: { one: number; version: number };
}

export interface AccountColumns {
  id: string;
  name: string;
  plan: string;
  status: 'active' | 'suspended';
  created_ms: number;
  /** Null: none. */
  guards: string | null;
  /** JSON; null: none. */
  extra_budget: string | null;
  /** JSON; null: none. */
  budgets: string | null;
  /** JSON; null: none. */
  data: string | null;
  /** Null: none. */
  credit_nano: number | null;
}

export interface CreditColumns {
  account: string;
  id: string;
  usd_nano: number;
  note: string;
  actor: string;
  at_ms: number;
}

export interface KeyColumns {
  id: string;
  account: string;
  name: string;
  tenant: string;
  prefix: string;
  kind: 'user' | 'admin';
  expires_ms: number | null;
  models: string | null;
  ips: string | null;
  limits: string | null;
  created_ms: number;
  revoked_ms: number | null;
  /** Null: none. */
  guards: string | null;
  /** Null: none. */
  tags: string | null;
}

export interface SecretColumns {
  hash: string;
  key_id: string;
  until_ms: number | null;
}

export interface PlanColumns {
  name: string;
  definition: string;
  updated_ms: number;
}

export interface EntryColumns {
  kind: EntryRow['kind'];
  name: string;
  definition: string;
  sealed: string | null;
  version: number;
  created_ms: number;
  updated_ms: number;
  updated_by: string;
}

export interface OperatorColumns {
  id: string;
  name: string;
  role: OperatorRow['role'];
  accounts: string | null;
  prefix: string | null;
  hash: string | null;
  issuer: string | null;
  subject: string | null;
  origin: OperatorRow['origin'];
  created_ms: number;
}

export type ScimColumns = {
  id: string;
  kind: ScimRow['kind'];
  name: string;
  data: string;
  created_ms: number;
  updated_ms: number;
};

export interface InvitationColumns {
  id: string;
  hash: string;
  role: InvitationRow['role'];
  accounts: string | null;
  name: string | null;
  email: string | null;
  created_ms: number;
  created_by: string;
  ends_ms: number;
}

export type BodyRuleColumns = {
  id: string;
  kind: BodyRuleRow['of'];
  name: string;
  reason: string;
  created_ms: number;
  created_by: string;
  until_ms: number;
};

export interface CredentialColumns {
  provider: string;
  id: string;
  sealed: string;
  hint: string;
  weight: number;
  rpm: number | null;
  created_ms: number;
  created_by: string;
}

/** `id` grows; absent in inserted rows. */
export type AuditColumns = {
  id?: number;
  at_ms: number;
  actor: string;
  action: string;
  subject: string;
  before: string | null;
  after: string | null;
};

/** Secrets by the id of their key, in the order of the rows. */
export function secretsByKey(rows: readonly SecretColumns[]): Map<string, KeySecret[]> {
  const secrets = new Map<string, KeySecret[]>();
  for (const { hash, key_id, until_ms } of rows) {
    const secret = { hash, untilMs: until_ms };
    const known = secrets.get(key_id);
    if (known === undefined) secrets.set(key_id, [secret]);
    else known.push(secret);
  }
  return secrets;
}

export function topUpOf({ usd_nano, at_ms, ...row }: CreditColumns): TopUp {
  return { ...row, usdNano: Number(usd_nano), atMs: Number(at_ms) };
}

export function accountOf(row: AccountColumns): AccountRow {
  const { id, name, plan, status, created_ms: createdMs } = row;
  const extraBudget = fromJson(row.extra_budget ?? null) as AccountRow['extraBudget'];
  const budgets = fromJson(row.budgets ?? null) as AccountRow['budgets'];
  const data = fromJson(row.data ?? null) as AccountRow['data'];
  const creditNano = row.credit_nano == null ? null : Number(row.credit_nano);
  const optional = {
    ...(extraBudget && { extraBudget }),
    ...(budgets && { budgets }),
    ...(data && { data }),
    ...(creditNano !== null && { creditNano }),
  };
  return { id, name, plan, status, guards: namesIn(row.guards), ...optional, createdMs };
}

export function keyOf(row: KeyColumns, secrets: readonly KeySecret[]): KeyRow {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    tenant: row.tenant,
    prefix: row.prefix,
    secrets,
    kind: row.kind,
    expiresMs: row.expires_ms,
    models: fromJson(row.models) as KeyRow['models'],
    ips: fromJson(row.ips) as KeyRow['ips'],
    limits: fromJson(row.limits) as KeyRow['limits'],
    guards: namesIn(row.guards),
    ...(row.tags != null && { tags: namesIn(row.tags) }),
    createdMs: row.created_ms,
    revokedMs: row.revoked_ms,
  };
}

export function planOf(row: PlanColumns): PlanRow {
  return { name: row.name, definition: fromJson(row.definition) as PlanRow['definition'], updatedMs: row.updated_ms };
}

export function entryOf(row: EntryColumns): EntryRow {
  return {
    kind: row.kind,
    name: row.name,
    definition: fromJson(row.definition) as EntryRow['definition'],
    sealed: row.sealed,
    version: row.version,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    updatedBy: row.updated_by,
  };
}

export function credentialOf({ created_ms, created_by, ...row }: CredentialColumns): CredentialRow {
  return { ...row, createdMs: created_ms, createdBy: created_by };
}

export function operatorOf({ accounts, created_ms, ...row }: OperatorColumns): OperatorRow {
  return { ...row, accounts: fromJson(accounts) as OperatorRow['accounts'], createdMs: created_ms };
}

export function scimOf({ data, created_ms, updated_ms, ...row }: ScimColumns): ScimRow {
  return { ...row, data: fromJson(data) as ScimRow['data'], createdMs: created_ms, updatedMs: updated_ms };
}

export function invitationOf({ accounts, created_ms, created_by, ends_ms, ...row }: InvitationColumns): InvitationRow {
  const times = { createdMs: created_ms, createdBy: created_by, endsMs: ends_ms };
  return { ...row, accounts: fromJson(accounts) as InvitationRow['accounts'], ...times };
}

export function bodyRuleOf({ kind, created_ms, created_by, until_ms, ...row }: BodyRuleColumns): BodyRuleRow {
  return { ...row, of: kind, createdMs: created_ms, createdBy: created_by, untilMs: until_ms };
}

/** The text after `WHERE` for a query of the audit log among the rows from id $8 on, with `auditValues`. */
export const auditConditions = `(CAST($1 AS TEXT) IS NULL OR actor = $1) AND (CAST($3 AS TEXT) IS NULL OR subject = $3)
  AND (CAST($2 AS TEXT) IS NULL OR action = $2 OR substr(action, 1, length($2) + 1) = $2 || '.')
  AND at_ms >= CAST($4 AS BIGINT) AND at_ms < CAST($5 AS BIGINT) AND id < CAST($6 AS BIGINT) AND id >= CAST($8 AS BIGINT)
  ORDER BY id DESC LIMIT CAST($7 AS BIGINT)`;

export function auditValues(query: AuditQuery & { before: number; from: number }): (string | number | null)[] {
  const { actor = null, action = null, subject = null, sinceMs = 0, untilMs, before, limit, from } = query;
  const until = Math.ceil(untilMs ?? Number.MAX_SAFE_INTEGER);
  return [actor, action, subject, Math.floor(sinceMs), until, before, limit, from];
}

export function auditOf(row: AuditColumns & { id: number }): AuditRow {
  return {
    id: row.id,
    atMs: row.at_ms,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    before: fromJson(row.before),
    after: fromJson(row.after),
  };
}

export function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** A list of names as its column has it. */
export function namesColumn(names: readonly string[]): string | null {
  return names.length === 0 ? null : JSON.stringify(names);
}

function namesIn(text: string | null): readonly string[] {
  return text === null ? [] : (JSON.parse(text) as string[]);
}

function fromJson(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
