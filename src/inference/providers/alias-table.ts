import type { DiscoveredModel } from './provider.ts';

/** A model that callers can name without any configuration. */
export interface DiscoveredAlias {
  /** What callers write. */
  alias: string;
  /** The operator's name of the provider. */
  provider: string;
  model: DiscoveredModel;
}

/** Bound of the whole table; a qualified name is entered before a plain one, so plain names go first at the bound. */
const aliasesMax = 20_000;

/**
 * Aliases of a configuration without `models`: `provider/id` always, and plain `id` where exactly one provider has it
 * and no qualified name says the same. In the order of the providers and of their lists, qualified names first.
 */
export function aliasTable(
  byProvider: ReadonlyMap<string, readonly DiscoveredModel[]>,
): ReadonlyMap<string, DiscoveredAlias> {
  const table = new Map<string, DiscoveredAlias>();
  const owners = new Map<string, number>();
  for (const [provider, models] of byProvider) {
    for (const model of models) {
      const alias = `${provider}/${model.id}`;
      // Two providers `a` and `a/b` could say the same; the first configured keeps it.
      if (table.size < aliasesMax && !table.has(alias)) table.set(alias, { alias, provider, model });
      owners.set(model.id, (owners.get(model.id) ?? 0) + 1);
    }
  }
  for (const [provider, models] of byProvider) {
    for (const model of models) {
      if (table.size >= aliasesMax) return table;
      if (owners.get(model.id) === 1 && !table.has(model.id)) {
        table.set(model.id, { alias: model.id, provider, model });
      }
    }
  }
  return table;
}
