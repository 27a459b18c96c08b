import type { ModelConfig } from './schema.ts';

/** The text that `*` of `pattern` matches in `text`; null: it does not match. '' never does: a name needs a rest. */
export function starOf(pattern: string, text: string): string | null {
  const at = pattern.indexOf('*');
  if (at === -1) return null;
  const [before, after] = [pattern.slice(0, at), pattern.slice(at + 1)];
  const fits = text.length > before.length + after.length && text.startsWith(before) && text.endsWith(after);
  return fits ? text.slice(before.length, text.length - after.length) : null;
}

/** `pattern` with the text for its `*`; without a `*`, or with null, unchanged. */
export function withStar(pattern: string, star: string | null): string {
  // A function, since callers choose the star and `$&` would mean something in a replacement text.
  return star === null ? pattern : pattern.replace('*', () => star);
}

/** The alias that answers to `name`: itself, or the first pattern that matches, with the text that its `*` matches. */
export function aliasFor<Model = ModelConfig>(
  models: Readonly<Record<string, Model>>,
  name: string,
): { alias: string; model: Model; star: string | null } | null {
  const named = Object.hasOwn(models, name) ? models[name] : undefined;
  if (named !== undefined) return { alias: name, model: named, star: null };
  for (const alias of patternsOf(models)) {
    const star = starOf(alias, name);
    if (star !== null) return { alias, model: models[alias] as Model, star };
  }
  return null;
}

const knownPatterns = new WeakMap<object, readonly string[]>();

/** Names with a `*`. Found once for each configuration: every name of 10,000 models is looked up among them. */
function patternsOf(models: object): readonly string[] {
  let patterns = knownPatterns.get(models);
  if (patterns === undefined) {
    patterns = Object.keys(models).filter((alias) => alias.includes('*'));
    knownPatterns.set(models, patterns);
  }
  return patterns;
}
