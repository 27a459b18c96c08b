import { secretMark } from '../config/redact.ts';

export type Members = Readonly<Record<string, unknown>>;

/**
 * A definition after a merge patch (RFC 7396): null takes a member out, objects are merged, the rest replaces. Where an
 * answer showed `(secret)` and it comes back, what stood there stays; list items are found again by `provider` and `model`.
 */
export function patched(before: Members, patch: Members): Record<string, unknown> {
  const result: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

function merged(before: unknown, value: unknown): unknown {
  if (isMembers(value)) return patched(isMembers(before) ? before : {}, value);
  return withSecrets(before, value);
}

/** Lists are replaced as a whole: only what was hidden in them is put back. */
function withSecrets(before: unknown, value: unknown): unknown {
  if (value === secretMark) return before;
  if (Array.isArray(value)) {
    const items = Array.isArray(before) ? before : [];
    return value.map((item, index) => withSecrets(itemLike(items, item, index), item));
  }
  if (!isMembers(value)) return value;
  const known = isMembers(before) ? before : {};
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, withSecrets(known[name], child)]));
}

function itemLike(items: readonly unknown[], item: unknown, index: number): unknown {
  if (!isMembers(item)) return items[index];
  const like = (other: unknown) => isMembers(other) && other.provider === item.provider && other.model === item.model;
  return items.find(like) ?? items[index];
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
