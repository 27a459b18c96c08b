import { aliasesMax, collectionExists, noAlias, noCollection, tooManyAliases } from '../refusals.ts';
import type { VectorRegistry } from '../registry.ts';
import type { AliasChange } from '../store.ts';

/** All or none; what the registry refuses in the words of `refusals`. */
export async function changeAliases(
  registry: VectorRegistry,
  tenant: string,
  changes: readonly AliasChange[],
): Promise<void> {
  const changed = await registry.changeAliases(tenant, changes, aliasesMax);
  switch (changed.kind) {
    case 'done':
      return;
    case 'no-collection':
      throw noCollection(changed.name);
    case 'no-alias':
      throw noAlias(changed.name);
    case 'is-collection':
      throw collectionExists(changed.name);
    case 'full':
      throw tooManyAliases();
  }
}
