import type * as port from '../../books/auth/account-store.ts';
import { rowShape } from '../row-shape.ts';

export const topUpShape = rowShape<port.TopUp>()({
  text: ['account', 'id', 'note', 'actor'],
  number: ['usdNano', 'atMs'],
});

export const planShape = rowShape<port.PlanRow>()({ text: ['name'], json: ['definition'], number: ['updatedMs'] });

export const entryShape = rowShape<port.EntryRow>()({
  text: ['kind', 'name', 'updatedBy'],
  json: ['definition'],
  'text?': ['sealed'],
  number: ['version', 'createdMs', 'updatedMs'],
});

export const credentialShape = rowShape<port.CredentialRow>()({
  text: ['provider', 'id', 'sealed', 'hint', 'createdBy'],
  number: ['weight', 'createdMs'],
  'number?': ['rpm'],
});

export const operatorShape = rowShape<port.OperatorRow>()({
  text: ['id', 'name', 'role'],
  'json?': ['accounts'],
  'text?': ['prefix', 'hash', 'issuer', 'subject', 'origin'],
  number: ['createdMs'],
});

export const invitationShape = rowShape<port.InvitationRow>()({
  text: ['id', 'hash', 'role', 'createdBy'],
  'json?': ['accounts'],
  'text?': ['name', 'email'],
  number: ['createdMs', 'endsMs'],
});

export const bodyRuleShape = rowShape<port.BodyRuleRow>()(
  { text: ['id', 'of', 'name', 'reason', 'createdBy'], number: ['createdMs', 'untilMs'] },
  { of: 'kind' },
);

export const scimShape = rowShape<port.ScimRow>()({
  text: ['id', 'kind', 'name'],
  json: ['data'],
  number: ['createdMs', 'updatedMs'],
});

export const auditShape = rowShape<port.AuditEntry>()({
  number: ['atMs'],
  text: ['actor', 'action', 'subject'],
  'json?': ['before', 'after'],
});

/** A row of accounts. Times are wall-clock ms, here and below. */
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

/** Secrets by the id of their key, in the order of the rows. */
export function secretsByKey(rows: readonly SecretColumns[]): Map<string, port.KeySecret[]> {
  const secrets = new Map<string, port.KeySecret[]>();
  for (const { hash, key_id, until_ms } of rows) {
    const secret = { hash, untilMs: until_ms };
    const known = secrets.get(key_id);
    if (known === undefined) secrets.set(key_id, [secret]);
    else known.push(secret);
  }
  return secrets;
}

export function accountOf(row: AccountColumns): port.AccountRow {
  const { id, name, plan, status, created_ms: createdMs } = row;
  const extraBudget = fromJson(row.extra_budget ?? null) as port.AccountRow['extraBudget'];
  const budgets = fromJson(row.budgets ?? null) as port.AccountRow['budgets'];
  const data = fromJson(row.data ?? null) as port.AccountRow['data'];
  const creditNano = row.credit_nano == null ? null : Number(row.credit_nano);
  const optional = {
    ...(extraBudget && { extraBudget }),
    ...(budgets && { budgets }),
    ...(data && { data }),
    ...(creditNano !== null && { creditNano }),
  };
  return { id, name, plan, status, guards: namesIn(row.guards), ...optional, createdMs };
}

export function keyOf(row: KeyColumns, secrets: readonly port.KeySecret[]): port.KeyRow {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    tenant: row.tenant,
    prefix: row.prefix,
    secrets,
    kind: row.kind,
    expiresMs: row.expires_ms,
    models: fromJson(row.models) as port.KeyRow['models'],
    ips: fromJson(row.ips) as port.KeyRow['ips'],
    limits: fromJson(row.limits) as port.KeyRow['limits'],
    guards: namesIn(row.guards),
    ...(row.tags != null && { tags: namesIn(row.tags) }),
    createdMs: row.created_ms,
    revokedMs: row.revoked_ms,
  };
}

/**
 * The text after `WHERE` for a query of the audit log among the rows from id $8 on, with `auditValues`. Subjects of credentials
 * begin with their provider and a `#`.
 */
export const auditConditions = `(CAST($1 AS TEXT) IS NULL OR actor = $1)
  AND (CAST($3 AS TEXT) IS NULL OR subject = $3 OR substr(subject, 1, length($3) + 1) = $3 || '#')
  AND (CAST($2 AS TEXT) IS NULL OR action = $2 OR substr(action, 1, length($2) + 1) = $2 || '.')
  AND at_ms >= CAST($4 AS BIGINT) AND at_ms < CAST($5 AS BIGINT) AND id < CAST($6 AS BIGINT) AND id >= CAST($8 AS BIGINT)
  ORDER BY id DESC LIMIT CAST($7 AS BIGINT)`;

export function auditValues(query: port.AuditQuery & { before: number; from: number }): (string | number | null)[] {
  const { actor = null, action = null, subject = null, sinceMs = 0, untilMs, before, limit, from } = query;
  const until = Math.ceil(untilMs ?? Number.MAX_SAFE_INTEGER);
  return [actor, action, subject, Math.floor(sinceMs), until, before, limit, from];
}

export function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

export function namesColumn(names: readonly string[]): string | null {
  return names.length === 0 ? null : JSON.stringify(names);
}

/** One for all rows without names, of which there may be a million. */
const noNames: readonly string[] = [];

function namesIn(text: string | null): readonly string[] {
  return text === null ? noNames : (JSON.parse(text) as string[]);
}

function fromJson(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
