import { isShownWebhook, secretMark } from '../../config/redact.ts';
import { invalid } from '../../kernel/failure.ts';
import { isObject, listIn, objectIn } from '../../kernel/json.ts';
import { refuse } from '../operation.ts';

export type Members = Readonly<Record<string, unknown>>;

/**
 * A definition after a merge patch (RFC 7396): null takes a member out, objects are merged, the rest replaces. Where an
 * answer showed `(secret)` and it comes back, what stood there stays, and is refused where nothing did. List items are
 * found again by `provider` and `model`, and their secrets never go to another provider.
 */
export function patched(before: Members, patch: Members, at = ''): Record<string, unknown> {
  const result: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else if (isObject(value)) result[name] = patched(objectIn(result[name]), value, `${at}${name}.`);
    else result[name] = withSecrets(result[name], value, at + name);
  }
  return result;
}

/** Lists are replaced as a whole: only what was hidden in them is put back. `at` is the field, for the refusal. */
function withSecrets(before: unknown, value: unknown, at: string): unknown {
  if (value === secretMark) {
    if (before !== undefined) return before;
    return refuse(invalid(at, `${at}: there is no kept value for ${secretMark}; send the value itself`));
  }
  if (typeof value === 'string' && typeof before === 'string' && isShownWebhook(value, before)) return before;
  if (Array.isArray(value)) {
    const items = listIn(before);
    return value.map((item, index) => withSecrets(itemLike(items, item, index), item, `${at}[${index}]`));
  }
  if (!isObject(value)) return value;
  const known = objectIn(before);
  const entries = Object.entries(value).map(([name, child]) => [
    name,
    withSecrets(known[name], child, `${at}.${name}`),
  ]);
  return Object.fromEntries(entries);
}

function itemLike(items: readonly unknown[], item: unknown, index: number): unknown {
  const there = items[index];
  if (!isObject(item)) return there;
  const fits = (other: unknown, ...names: string[]) =>
    isObject(other) && names.every((name) => other[name] === item[name]);
  if (fits(there, 'provider', 'model')) return there;
  return items.find((other) => fits(other, 'provider', 'model')) ?? (fits(there, 'provider') ? there : undefined);
}
