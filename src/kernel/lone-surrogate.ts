import { isObject, type JsonValue } from './json.ts';

/** Path of the first string or key with half of a surrogate pair, in OpenAI's spelling; null when there is none. */
export function loneSurrogateIn(value: JsonValue | undefined, path: string): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : path;
  if (Array.isArray(value)) {
    // Vectors are most of a body that has them.
    if (typeof value[0] === 'number' && value.every((item) => typeof item === 'number')) return null;
    for (const [i, item] of value.entries()) {
      const found = loneSurrogateIn(item, `${path}[${i}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(value)) return null;
  for (const name of Object.keys(value)) {
    if (!name.isWellFormed()) return path === '' ? 'body' : path;
    const found = loneSurrogateIn(value[name], path === '' ? name : `${path}.${name}`);
    if (found !== null) return found.slice(0, 256);
  }
  return null;
}
