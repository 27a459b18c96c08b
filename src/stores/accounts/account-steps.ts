import type {
  AccountFacts,
  AccountRow,
  AuditEntry,
  Change,
  KeyRow,
  KeySecret,
  KeySettings,
} from '../../books/auth/account-store.ts';
import {
  auditShape,
  bodyRuleShape,
  credentialShape,
  entryShape,
  invitationShape,
  namesColumn,
  operatorShape,
  planShape,
  scimShape,
  toJson,
  topUpShape,
} from './account-rows.ts';

/** One statement of a change. `must`: it has to touch a row. */
export interface AccountStep {
  sql: string;
  values: readonly unknown[];
  must: boolean;
}

type PersonChange = Extract<
  Change,
  { kind: `${string}-operator` | `${string}-invitation` | `${string}-scim` | `${string}-body-rule` | 'only-at' }
>;

/** Values by the names of columns, which are of this folder and never of a caller; an undefined one is left out. */
type Columns = Readonly<Record<string, unknown>>;

/** Writes the statements of `AccountStore.apply`, for every driver. */
export class AccountSteps {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * The version goes first: its one row is the lock on which writers wait for each other, before any of them has read
   * anything.
   */
  of(changes: readonly Change[], audit: AuditEntry): AccountStep[] {
    const version = `UPDATE ${this.#prefix}store_version SET version = version + 1`;
    const entry = this.#insert('audit', auditShape.record(audit));
    return [{ sql: version, values: [], must: false }, ...changes.flatMap((change) => this.#change(change)), entry];
  }

  #change(change: Change): AccountStep[] {
    switch (change.kind) {
      case 'create-account':
        return [this.#insert('account', newAccountColumns(change.account))];
      case 'update-account': {
        const { id, set, was } = change;
        // With the id there is always something to set.
        return [this.#update('account', { id, ...accountColumns(set) }, { id, ...accountColumns(was ?? {}) })];
      }
      case 'add-credit': {
        const { account, usdNano } = change.topUp;
        const sql = `UPDATE ${this.#prefix}account SET credit_nano = coalesce(credit_nano, 0) + $1 WHERE id = $2`;
        const added = { sql, values: [usdNano, account], must: true };
        return [this.#insert('credit', topUpShape.record(change.topUp)), added];
      }
      case 'create-key':
        return [
          this.#insert('api_key', newKeyColumns(change.key)),
          ...this.#secrets(change.key.id, change.key.secrets),
        ];
      case 'replace-secrets': {
        const { id, was, secrets } = change;
        return [
          this.#update('api_key', { id }, { id, revoked_ms: null }),
          this.#remove('api_key_secret', { key_id: id, hash: was, until_ms: null }),
          may(this.#remove('api_key_secret', { key_id: id })),
          ...this.#secrets(id, secrets),
        ];
      }
      case 'update-key': {
        const { id, set, was } = change;
        const held = { id, revoked_ms: null, ...settingColumns(was) };
        return [this.#update('api_key', settingColumns({ ...was, ...set }), held)];
      }
      case 'revoke-key':
        return [this.#update('api_key', { revoked_ms: change.atMs }, { id: change.id, revoked_ms: null })];
      case 'delete-key': {
        const sql = `DELETE FROM ${this.#prefix}api_key WHERE id = $1 AND revoked_ms IS NOT NULL`;
        return [may(this.#remove('api_key_secret', { key_id: change.id })), { sql, values: [change.id], must: true }];
      }
      case 'put-plan': {
        const { plan, was } = change;
        const put = { sql: planShape.put(`${this.#prefix}plan`, 'name'), values: planShape.cells(plan), must: false };
        const held = { name: plan.name, definition: JSON.stringify(was) };
        return [was === null ? put : this.#update('plan', planShape.record(plan), held)];
      }
      case 'delete-plan':
        return [this.#remove('plan', { name: change.name })];
      case 'create-kept':
        return [this.#insert('kept', entryShape.record(change.row))];
      case 'replace-kept': {
        const { row, was } = change;
        return [this.#update('kept', entryShape.record(row), { kind: row.kind, name: row.name, version: was })];
      }
      case 'delete-kept': {
        const { of: kind, name, was } = change;
        const removed = this.#remove('kept', { kind, name, version: was });
        return kind === 'provider' ? [removed, may(this.#remove('credential', { provider: name }))] : [removed];
      }
      case 'create-credential':
        return [this.#insert('credential', credentialShape.record(change.credential))];
      case 'delete-credential':
        return [this.#remove('credential', { provider: change.provider, id: change.id })];
      case 'reseal-credential': {
        const { provider, id, was, sealed } = change;
        return [this.#update('credential', { sealed }, { provider, id, sealed: was })];
      }
      default:
        return this.#personChange(change);
    }
  }

  /** Steps of operators, of how they came, and of whose bodies they keep. */
  #personChange(change: PersonChange): AccountStep[] {
    switch (change.kind) {
      case 'create-operator':
        return [this.#insert('operator', operatorShape.record(change.operator))];
      case 'update-operator': {
        const { id, set } = change;
        const { name, role, prefix, hash, accounts } = set;
        const columns = { name, role, prefix, hash, accounts: accounts && JSON.stringify(accounts) };
        return [this.#update('operator', { id, ...columns }, operatorAsIs(change))];
      }
      case 'delete-operator':
        return [this.#remove('operator', operatorAsIs(change))];
      case 'create-invitation': {
        const { invitation } = change;
        const expired = `DELETE FROM ${this.#prefix}invitation WHERE ends_ms <= $1`;
        return [
          { sql: expired, values: [invitation.createdMs], must: false },
          this.#insert('invitation', invitationShape.record(invitation)),
        ];
      }
      case 'use-invitation': {
        const sql = `DELETE FROM ${this.#prefix}invitation WHERE id = $1 AND ends_ms > $2`;
        return [{ sql, values: [change.id, change.atMs], must: true }];
      }
      case 'delete-invitation':
        return [this.#remove('invitation', { id: change.id })];
      case 'only-at': {
        // The version is one more already: it was raised first.
        const version = change.version + 1;
        return [this.#update('store_version', { version }, { version })];
      }
      case 'put-body-rule': {
        const { rule } = change;
        const before = `DELETE FROM ${this.#prefix}body_rule WHERE (kind = $1 AND name = $2) OR until_ms <= $3`;
        return [
          { sql: before, values: [rule.of, rule.name, rule.createdMs], must: false },
          this.#insert('body_rule', bodyRuleShape.record(rule)),
        ];
      }
      case 'delete-body-rule':
        return [this.#remove('body_rule', { id: change.id })];
      case 'create-scim':
        return [this.#insert('scim', scimShape.record(change.row))];
      case 'replace-scim':
        return [this.#update('scim', scimShape.record(change.row), { id: change.row.id })];
      case 'delete-scim':
        return [this.#remove('scim', { id: change.id })];
    }
  }

  #secrets(id: string, secrets: readonly KeySecret[]): AccountStep[] {
    return secrets.map(({ hash, untilMs }) => this.#insert('api_key_secret', { hash, key_id: id, until_ms: untilMs }));
  }

  #insert(table: string, columns: Columns): AccountStep {
    const cells = cellsOf(columns);
    const names = cells.map(([name]) => name).join(', ');
    const places = cells.map((_, at) => `$${at + 1}`).join(', ');
    const sql = `INSERT INTO ${this.#prefix}${table} (${names}) VALUES (${places})`;
    return { sql, values: cells.map(([, value]) => value), must: false };
  }

  #update(table: string, set: Columns, where: Columns): AccountStep {
    const values: unknown[] = [];
    const cells = cellsOf(set)
      .map(([name, value]) => `${name} = $${values.push(value)}`)
      .join(', ');
    const sql = `UPDATE ${this.#prefix}${table} SET ${cells} WHERE ${conditionOf(where, values)}`;
    return { sql, values, must: true };
  }

  #remove(table: string, where: Columns): AccountStep {
    const values: unknown[] = [];
    const sql = `DELETE FROM ${this.#prefix}${table} WHERE ${conditionOf(where, values)}`;
    return { sql, values, must: true };
  }
}

/** The condition of a row that has just these values, which go behind those of `values`. */
function conditionOf(columns: Columns, values: unknown[]): string {
  const cells = cellsOf(columns).map(([name, value]) =>
    value === null ? `${name} IS NULL` : `${name} = $${values.push(value)}`,
  );
  return cells.join(' AND ');
}

function cellsOf(columns: Columns): [name: string, value: unknown][] {
  return Object.entries(columns).filter(([, value]) => value !== undefined);
}

function may(step: AccountStep): AccountStep {
  return { ...step, must: false };
}

function newAccountColumns({ id, createdMs, creditNano: _, ...facts }: AccountRow): Columns {
  return { id, ...accountColumns(facts), created_ms: createdMs };
}

function newKeyColumns({ id, account, tenant, prefix, kind, createdMs, revokedMs, ...settings }: KeyRow): Columns {
  const columns = settingColumns(settings);
  return { id, account, tenant, prefix, kind, ...columns, created_ms: createdMs, revoked_ms: revokedMs };
}

/** Columns of the facts that are there. */
function accountColumns(facts: Partial<AccountFacts>): Columns {
  const { name, plan, status, guards, extraBudget, budgets, data } = facts;
  return {
    name,
    plan,
    status,
    guards: guards && namesColumn(guards),
    extra_budget: extraBudget && JSON.stringify(extraBudget),
    budgets: budgets && JSON.stringify(budgets),
    data: data && JSON.stringify(data),
  };
}

function settingColumns({ name, expiresMs, models, ips, limits, guards, tags = [] }: KeySettings): Columns {
  const lists = { models: toJson(models), ips: toJson(ips), guards: namesColumn(guards), tags: namesColumn(tags) };
  return { name, expires_ms: expiresMs, limits: toJson(limits), ...lists };
}

function operatorAsIs({ id, was }: { id: string; was?: readonly string[] }): Columns {
  return { id, accounts: was && JSON.stringify(was) };
}
