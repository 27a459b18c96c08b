import type { Operator } from '../books/auth/operator.ts';
import { culvert } from '../kernel/command-form.ts';
import type { VectorOperator } from '../vectors/vector-operator.ts';
import type { Owner, TenantSummary } from '../vectors/vector-store.ts';
import type { Directory, Records } from './directory.ts';
import { refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';

/** Owners of vector data, as far as an operator may see them. */
export function createTenants(parts: AdminParts, records: Records) {
  const store = (): Promise<VectorOperator> => parts.vectors();

  /** Checks that the owner can be reached. Data of a tenant without a key would be out of everybody's sight. */
  async function ownerOf(tenant: string, field: string, { accounts }: Operator): Promise<Owner> {
    const key = keysOf(await records.current(accounts), tenant)[0];
    if (key !== undefined) return { tenant, account: key.account };
    const message = `${field}: no key owns '${tenant}'. Create the key first (${culvert} keys create)`;
    return refuse({ kind: 'invalid-request', param: field, message });
  }

  /**
   * Data of a tenant whose keys are gone still belongs to its account. If it belongs to two accounts, an operator of
   * only one of them does not see it.
   */
  async function tenantsOf({ accounts }: Operator): Promise<readonly TenantSummary[]> {
    const tenants = await (await store()).tenants();
    if (accounts === null) return tenants;
    const foreign = new Set(tenants.filter(({ account }) => !accounts.includes(account)).map(({ tenant }) => tenant));
    return tenants.filter(({ tenant }) => !foreign.has(tenant));
  }

  async function summaryOf(tenant: string, by: Operator): Promise<TenantSummary> {
    const found = (await tenantsOf(by)).find((one) => one.tenant === tenant);
    const message = `The tenant '${tenant}' has no collections. "culvert vectors list" shows those that have.`;
    return found ?? refuse({ kind: 'not-found', message });
  }

  async function audit(action: string, by: Operator, subject: string, before: unknown, after: unknown): Promise<void> {
    await records.apply([], { actor: by.name, action, subject, before, after });
  }

  return { store, ownerOf, tenantsOf, summaryOf, audit };
}

export function keysOf(directory: Directory, tenant: string) {
  return directory.keys.filter((key) => key.tenant === tenant && key.revokedMs === null);
}
