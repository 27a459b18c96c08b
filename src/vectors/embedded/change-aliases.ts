import { aliasesMax, collectionExists, noAlias, noCollection, tooManyAliases } from '../vector-refusals.ts';
import type { AliasChange } from '../vector-store.ts';
import type { CollectionTable } from './collection-table.ts';

/** In order, inside a transaction. An alias names one collection; giving it again moves it, as in Qdrant. */
export function changeAliases(collections: CollectionTable, tenant: string, changes: readonly AliasChange[]): void {
  const names = () => new Map(collections.list(tenant).map((row) => [row.spec.name, row.cid]));

  function add(alias: string, collection: string): void {
    const known = names();
    const cid = known.get(collection);
    if (cid === undefined) throw noCollection(collection);
    if (known.has(alias)) throw collectionExists(alias);
    collections.addAlias(tenant, alias, cid);
  }

  function collectionOf(alias: string): string {
    const found = collections.aliases(tenant, null).find((one) => one.alias === alias);
    if (found === undefined) throw noAlias(alias);
    return found.collection;
  }

  for (const change of changes) {
    switch (change.kind) {
      case 'create':
        add(change.alias, change.collection);
        break;
      case 'delete':
        collections.removeAlias(tenant, change.alias);
        break;
      case 'rename': {
        const collection = collectionOf(change.from);
        collections.removeAlias(tenant, change.from);
        add(change.to, collection);
        break;
      }
    }
  }
  if (collections.aliases(tenant, null).length > aliasesMax) throw tooManyAliases();
}
