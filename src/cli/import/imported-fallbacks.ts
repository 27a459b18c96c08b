import { aliasFor } from '../../config/alias-pattern.ts';
import type { Config } from '../../config/schema.ts';
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
export function addFallbacks(models: Record<string, JsonObject>, { fallbacks }: Settings, notes: Notes): void {
  for (const { from, to, path } of fallbacks) {
    if (from !== null) {
      if (Object.hasOwn(models, from)) for (const next of to) add(models, from, next, path, notes);
      else notes.add(path, `not carried over: there is no model ${from} here`);
      continue;
    }
    // Of every model without its own.
    const bare = Object.keys(models).filter((alias) => listOf(models[alias]!).length === 0 && !to.includes(alias));
    for (const alias of bare)
      for (const next of to) if (refused(models, alias, next) === null) push(models, alias, next);
    for (const next of to) {
      if (resolve(models, next) === null) notes.add(path, `not carried over: there is no model ${next} here`);
    }
  }
}

function add(models: Record<string, JsonObject>, alias: string, next: string, path: Path, notes: Notes): void {
  const why = refused(models, alias, next);
  if (why !== null) notes.add(path, `the fallback to ${next} is not carried over: ${why}`);
  else push(models, alias, next);
}

function push(models: Record<string, JsonObject>, alias: string, next: string): void {
  const list = listOf(models[alias]!);
  if (!list.includes(next)) models[alias]!.fallbacks = [...list, next];
}

function refused(models: Record<string, JsonObject>, alias: string, next: string): string | null {
  const found = resolve(models, next);
  if (found === null) return 'there is no such model here';
  if (found === alias || reaches(models, found, alias)) return 'it leads back to the model itself';
  if ((models[found]!.type ?? 'chat') !== (models[alias]!.type ?? 'chat')) return 'it is of another type';
  if (models[alias]!.type === 'embedding') return 'its vectors are those of another model';
  if (next.includes('*') && !alias.includes('*')) return 'a pattern can only follow a pattern';
  return listOf(models[alias]!).length >= fallbacksMax ? `a model has at most ${fallbacksMax}` : null;
}

function reaches(models: Record<string, JsonObject>, from: string, goal: string): boolean {
  const seen = new Set([from]);
  // A set also visits what is added while it is walked.
  for (const alias of seen) {
    for (const fallback of listOf(models[alias]!)) {
      const next = resolve(models, fallback);
      if (next === goal) return true;
      if (next !== null) seen.add(next);
    }
  }
  return false;
}

function resolve(models: Record<string, JsonObject>, name: string): string | null {
  if (!isModelName(name)) return null;
  return aliasFor(models as unknown as Config['models'], name)?.alias ?? null;
}

function listOf(model: JsonObject): string[] {
  return Array.isArray(model.fallbacks) ? (model.fallbacks as string[]) : [];
}
