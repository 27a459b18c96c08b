import type { AliasesChanged } from '../../vectors/registry.ts';
import type { AliasChange } from '../../vectors/vector-store.ts';

/** Outcome of a change of aliases: those to write (by alias, the generation) and to remove; or why none may be made. */
export type AliasPlan =
  | { kind: 'planned'; put: ReadonlyMap<string, string>; remove: readonly string[] }
  | Exclude<AliasesChanged, { kind: 'done' }>;

/** `collections` and `aliases`: generations by name, of one tenant. An alias may be made anew for another collection. */
export function planAliases(
  collections: ReadonlyMap<string, string>,
  aliases: ReadonlyMap<string, string>,
  changes: readonly AliasChange[],
  aliasesMax: number,
): AliasPlan {
  const next = new Map(aliases);
  for (const change of changes) {
    switch (change.kind) {
      case 'create': {
        const generation = collections.get(change.collection);
        if (generation === undefined) return { kind: 'no-collection', name: change.collection };
        if (collections.has(change.alias)) return { kind: 'is-collection', name: change.alias };
        next.set(change.alias, generation);
        break;
      }
      case 'delete':
        next.delete(change.alias);
        break;
      case 'rename': {
        const generation = next.get(change.from);
        if (generation === undefined) return { kind: 'no-alias', name: change.from };
        if (collections.has(change.to)) return { kind: 'is-collection', name: change.to };
        next.delete(change.from);
        next.set(change.to, generation);
        break;
      }
    }
  }
  if (next.size > Math.max(aliasesMax, aliases.size)) return { kind: 'full' };
  return {
    kind: 'planned',
    put: new Map([...next].filter(([alias, generation]) => aliases.get(alias) !== generation)),
    remove: [...aliases.keys()].filter((alias) => !next.has(alias)),
  };
}
