import { matchesGlob } from '../../books/auth/model-glob.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Notes, Path } from './notes.ts';
import { listOfTexts } from './plain-values.ts';

/** Names no model, so that nothing is allowed. */
const none = 'no-default-models';

/** By the name of a group, the aliases in it. */
export type AccessGroups = ReadonlyMap<string, readonly string[]>;

/** `groupsOfModels`: aliases of the new file with the groups of each; `rows` are those of `LiteLLM_AccessGroupTable`. */
export function accessGroups(
  rows: readonly JsonObject[],
  groupsOfModels: ReadonlyMap<string, readonly string[]>,
): AccessGroups {
  const groups = new Map<string, string[]>();
  for (const [alias, names] of groupsOfModels) {
    for (const name of names) groups.set(name, [...(groups.get(name) ?? []), alias]);
  }
  for (const row of rows) {
    const models = listOfTexts(row.access_model_names);
    for (const name of [row.access_group_name, row.access_group_id]) {
      if (typeof name === 'string') groups.set(name, [...(groups.get(name) ?? []), ...models]);
    }
  }
  return groups;
}

/** Models that `models` and `access_group_ids` of a row allow, as globs; null: all that those above it may use. */
export function modelsOf(row: JsonObject, groups: AccessGroups, path: Path, notes: Notes): string[] | null {
  const named = [...listOfTexts(row.models), ...listOfTexts(row.access_group_ids)];
  if (named.length === 0 || named.some((name) => /^all-(proxy|team|org)-models$/.test(name))) return null;
  const models = [...new Set(named.flatMap((name) => groups.get(name) ?? [name]))];
  const fitting = models.filter((name) => name !== '' && name.length <= 256 && !name.includes('${')).slice(0, 1_000);
  if (fitting.length < models.length) notes.add([...path, 'models'], 'some names are not carried over');
  return fitting.length === 0 ? [none] : fitting;
}

/** Models that all of them allow; null allows everything. */
export function modelsInAll(lists: readonly (string[] | null)[]): string[] | null {
  return lists.reduce<string[] | null>((a, b) => {
    if (a === null || b === null) return a ?? b;
    const both = a.filter((one) => b.some((glob) => matchesGlob(glob, one)));
    const inner = b.filter((one) => !both.includes(one) && a.some((glob) => matchesGlob(glob, one)));
    return both.length + inner.length === 0 ? [none] : [...both, ...inner];
  }, null);
}
