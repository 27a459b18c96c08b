import { refuseNamesake } from '../../vector-refusals.ts';
import type { Owner, TenantSummary } from '../../vector-store.ts';
import type { ShardState } from './shard-state.ts';

/** Owners of the collections of a shard, for the operator. */
export function shardTenants(state: ShardState) {
  const { collections, opened, damage } = state;
  const { onStoredBytes } = state.options;
  const namesOf = (tenant: string) => [
    ...collections.list(tenant).map(({ spec }) => spec.name),
    ...collections.aliases(tenant, null).map(({ alias }) => alias),
  ];
  return {
    /** Bytes of all its collections, by account. */
    storedBytes: () => collections.storedBytes(),

    tenants: (): TenantSummary[] => damage.guardTable(() => collections.tenants()),

    /** Within this shard alone. `from`: the accounts that had them. */
    adopt(from: string, to: Owner): Promise<{ collections: number; from: TenantSummary[] }> {
      const moved: { account: string; bytes: number }[] = [];
      const reportMoved = () => {
        for (const { account, bytes } of moved) {
          onStoredBytes(account, -bytes);
          onStoredBytes(to.account, bytes);
        }
      };
      return state.change(
        from,
        () => {
          const rows = collections.list(from);
          const before = collections.tenants().filter(({ tenant }) => tenant === from);
          refuseNamesake(namesOf(from), namesOf(to.tenant));
          for (const row of rows) {
            moved.push({ account: row.account, bytes: collections.bytes(row.cid) });
            collections.setOwner(row, to);
          }
          collections.moveAliases(from, to.tenant);
          return { collections: rows.length, from: before };
        },
        reportMoved,
      );
    },

    /** The accounts that had them, one for each collection. */
    purge(tenant: string): Promise<string[]> {
      let rows: { cid: number; account: string; bytes: number }[] = [];
      return state.change(
        tenant,
        () => {
          rows = collections.list(tenant).map(({ cid, account }) => ({ cid, account, bytes: collections.bytes(cid) }));
          for (const { cid } of rows) collections.drop(cid);
          return rows.map(({ account }) => account);
        },
        () => {
          for (const { cid, account, bytes } of rows) {
            opened.close(cid);
            onStoredBytes(account, -bytes);
          }
        },
      );
    },
  };
}
