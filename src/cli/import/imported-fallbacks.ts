import { aliasFor } from '../../config/alias-pattern.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { isModelName } from './litellm-deployment.ts';
import type { Settings } from './litellm-settings.ts';
import type { Notes, Path } from './notes.ts';

/** The schema's own. */
const fallbacksMax = 20;

/**
 * Adds `fallbacks` to the models. What our configuration refuses is left out and noted: models that are not there, ways
 * back to the model itself, other types, other vector spaces.
 */
export function addFallbacks(models: Models, { fallbacks }: Settings, notes: Notes): void {
  for (const { from, to, path } of fallbacks) {
    if (from === null) addToAll(models, to, path, notes);
    else if (!Object.hasOwn(models, from)) notes.add(path, `not carried over: there is no model ${from} here`);
    else for (const next of to) add(models, from, next, path, notes);
  }
}

type Models = Record<string, JsonObject>;

/** To every model that has none and is none of them. */
function addToAll(models: Models, to: readonly string[], path: Path, notes: Notes): void {
  const bare = Object.entries(models).filter(([alias, model]) => listOf(model).length === 0 && !to.includes(alias));
  for (const [alias, model] of bare)
    for (const next of to) if (refused(models, alias, model, next) === null) push(model, next);
  for (const next of to) {
    if (resolve(models, next) === null) notes.add(path, `not carried over: there is no model ${next} here`);
  }
}

function add(models: Models, alias: string, next: string, path: Path, notes: Notes): void {
  const model = models[alias] ?? {};
  const why = refused(models, alias, model, next);
  if (why !== null) notes.add(path, `the fallback to ${next} is not carried over: ${why}`);
  else push(model, next);
}

function push(model: JsonObject, next: string): void {
  const list = listOf(model);
  if (!list.includes(next)) model.fallbacks = [...list, next];
}

function refused(models: Models, alias: string, model: JsonObject, next: string): string | null {
  const found = resolve(models, next);
  if (found === null) return 'there is no such model here';
  if (found.alias === alias || reaches(models, found, alias)) return 'it leads back to the model itself';
  if ((found.model.type ?? 'chat') !== (model.type ?? 'chat')) return 'it is of another type';
  if (model.type === 'embedding') return 'its vectors are those of another model';
  if (next.includes('*') && !alias.includes('*')) return 'a pattern can only follow a pattern';
  return listOf(model).length >= fallbacksMax ? `a model has at most ${fallbacksMax}` : null;
}

function reaches(models: Models, from: Resolved, goal: string): boolean {
  const seen = new Map([[from.alias, from.model]]);
  // A map also visits what is added while it is walked.
  for (const model of seen.values()) {
    for (const fallback of listOf(model)) {
      const next = resolve(models, fallback);
      if (next?.alias === goal) return true;
      if (next !== null) seen.set(next.alias, next.model);
    }
  }
  return false;
}

type Resolved = NonNullable<ReturnType<typeof resolve>>;

function resolve(models: Models, name: string) {
  return isModelName(name) ? aliasFor(models, name) : null;
}

function listOf(model: JsonObject): string[] {
  return Array.isArray(model.fallbacks) ? (model.fallbacks as string[]) : [];
}
