import { isDeepStrictEqual } from 'node:util';
import {
  type AccountRow,
  type AccountStore,
  type AuditRow,
  type Change,
  type CredentialRow,
  type KeptRow,
  type KeyRow,
  nothingStored,
  type OperatorRow,
  type PlanRow,
  type Stored,
} from './account-store.ts';

/**
 * Behaves as a driver does, without a disk; other processes write to the same object. Set `fail`, and every call fails.
 */
export function memoryAccountStore(): AccountStore & { fail: Error | null } {
  let version = 1;
  let held = nothingStored;
  const trail: AuditRow[] = [];
  const store = {
    fail: null as Error | null,
    async load() {
      check();
      return structuredClone(held);
    },
    async version() {
      check();
      return version;
    },
    async apply(changes: readonly Change[], entry: Omit<AuditRow, 'id'>) {
      check();
      let next = held;
      for (const change of changes) {
        const after = applied(next, change);
        if (typeof after === 'string') return after;
        next = after;
      }
      held = structuredClone(next);
      version += 1;
      trail.push({ ...structuredClone(entry), id: trail.length + 1 });
      return 'done' as const;
    },
    async audit({ limit, before }: { limit: number; before: number | null }) {
      check();
      return trail
        .filter(({ id }) => before === null || id < before)
        .reverse()
        .slice(0, limit);
    },
    async close() {},
  };
  function check(): void {
    if (store.fail !== null) throw store.fail;
  }
  return store;
}

function applied(held: Stored, change: Change): Stored | 'exists' | 'absent' {
  switch (change.kind) {
    case 'create-account':
      if (held.accounts.some(({ id }) => id === change.account.id)) return 'exists';
      return { ...held, accounts: [...held.accounts, change.account] };
    case 'update-account':
      return replaced<AccountRow>(held, 'accounts', (row) => isHeld(row, { id: change.id, ...change.was }), change.set);
    case 'create-key':
      return keyTaken(held.keys, change.key) ? 'exists' : { ...held, keys: [...held.keys, change.key] };
    case 'replace-secrets':
      return replaced<KeyRow>(
        held,
        'keys',
        (row) => isLiving(change.id)(row) && row.secrets.some((one) => one.hash === change.was && one.untilMs === null),
        { secrets: change.secrets },
      );
    case 'revoke-key':
      return replaced<KeyRow>(held, 'keys', isLiving(change.id), { revokedMs: change.atMs });
    case 'put-plan': {
      const { plan, was } = change;
      if (was !== null && !held.plans.some((row) => isHeld(row, { name: plan.name, definition: was }))) return 'absent';
      return { ...held, plans: [...without(held.plans, plan.name), plan] };
    }
    case 'delete-plan':
      if (!held.plans.some(({ name }) => name === change.name)) return 'absent';
      return { ...held, plans: without(held.plans, change.name) };
    case 'create-kept':
      if (held.kept.some((row) => isOf(row, change.row))) return 'exists';
      return { ...held, kept: [...held.kept, change.row] };
    case 'replace-kept':
      return replaced<KeptRow>(held, 'kept', isAt(change.row, change.was), change.row);
    case 'delete-kept': {
      const which = isAt({ kind: change.of, name: change.name }, change.was);
      if (!held.kept.some(which)) return 'absent';
      const kept = held.kept.filter((row) => !which(row));
      if (change.of !== 'provider') return { ...held, kept };
      return { ...held, kept, credentials: held.credentials.filter(({ provider }) => provider !== change.name) };
    }
    case 'create-credential':
      if (held.credentials.some(isCredential(change.credential))) return 'exists';
      return { ...held, credentials: [...held.credentials, change.credential] };
    case 'delete-credential': {
      const credentials = held.credentials.filter((row) => !isCredential(change)(row));
      return credentials.length === held.credentials.length ? 'absent' : { ...held, credentials };
    }
    case 'create-operator':
      if (held.operators.some(({ name }) => name === change.operator.name)) return 'exists';
      return { ...held, operators: [...held.operators, change.operator] };
    case 'update-operator':
      return replaced<OperatorRow>(held, 'operators', ({ id }) => id === change.id, change.set);
    case 'delete-operator': {
      const operators = held.operators.filter(({ id }) => id !== change.id);
      return operators.length === held.operators.length ? 'absent' : { ...held, operators };
    }
    case 'reseal-credential':
      return replaced<CredentialRow>(
        held,
        'credentials',
        (row) => isCredential(change)(row) && row.sealed === change.was,
        { sealed: change.sealed },
      );
  }
}

/** Whether a row has exactly these values in these fields. */
function isHeld<Row extends object>(row: Row, fields: Partial<Row>): boolean {
  return isDeepStrictEqual({ ...row, ...fields }, row);
}

type Named = Pick<KeptRow, 'kind' | 'name'>;

function isOf(row: Named, { kind, name }: Named): boolean {
  return row.kind === kind && row.name === name;
}

function isAt(named: Named, version: number): (row: KeptRow) => boolean {
  return (row) => isOf(row, named) && row.version === version;
}

function isCredential({ provider, id }: Pick<CredentialRow, 'provider' | 'id'>): (row: CredentialRow) => boolean {
  return (row) => row.provider === provider && row.id === id;
}

function isLiving(id: string): (key: KeyRow) => boolean {
  return (key) => key.id === id && key.revokedMs === null;
}

function keyTaken(keys: readonly KeyRow[], { account, name, secrets }: KeyRow): boolean {
  return keys.some(
    (key) =>
      (key.account === account && key.name === name && key.revokedMs === null) ||
      key.secrets.some(({ hash }) => secrets.some((other) => other.hash === hash)),
  );
}

function without(plans: readonly PlanRow[], name: string): PlanRow[] {
  return plans.filter((plan) => plan.name !== name);
}

function replaced<Row extends AccountRow | KeyRow | KeptRow | CredentialRow | OperatorRow>(
  held: Stored,
  list: 'accounts' | 'keys' | 'kept' | 'credentials' | 'operators',
  which: (row: Row) => boolean,
  set: Partial<Row>,
): Stored | 'absent' {
  const rows = held[list] as unknown as readonly Row[];
  if (!rows.some(which)) return 'absent';
  return { ...held, [list]: rows.map((row) => (which(row) ? { ...row, ...set } : row)) };
}
