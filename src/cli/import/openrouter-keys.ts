import type { JsonObject } from '../../kernel/json.ts';
import { budgetOf } from './litellm-limits.ts';
import { uniqueName } from './names.ts';
import type { Notes, Path } from './notes.ts';
import { textOr } from './plain-values.ts';

/** Whether it is an entry of `GET /api/v1/keys`. */
export function isKeyOfOpenRouter(value: JsonObject): boolean {
  return typeof value.hash === 'string' && value.label !== undefined && value.limit !== undefined;
}

/**
 * A key by the SHA-256 that OpenRouter tells of it, so that its callers go on with it, and with what it may spend. Null
 * with a note: it works no more, or another of `others` has its secret.
 */
export function keyOfOpenRouter(
  { hash, name, label, disabled, expires_at: expires, limit, limit_reset: reset }: JsonObject,
  path: Path,
  others: readonly JsonObject[],
  notes: Notes,
  nowMs: number,
): JsonObject | null {
  const called = textOr(name, textOr(label, 'key'));
  const endMs = typeof expires === 'string' ? Date.parse(expires) : null;
  const why =
    disabled === true
      ? 'it is disabled'
      : typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)
        ? 'its hash is not a SHA-256, so its caller needs a new one'
        : endMs !== null && !(endMs > nowMs)
          ? 'it has expired'
          : null;
  if (why !== null) notes.add(path, `the key ${called} is not carried over: ${why}`);
  if (why !== null || others.some(({ sha256 }) => sha256 === hash)) return null;
  const taken = Object.fromEntries(others.map((other) => [String(other.name), other]));
  const duration = typeof reset === 'string' ? reset : null;
  return {
    sha256: hash as string,
    account: 'openrouter',
    name: uniqueName(called, taken),
    ...(endMs !== null && { expires: new Date(endMs).toISOString() }),
    ...(typeof limit === 'number' &&
      limit >= 0 && { limits: { budget: budgetOf(limit, duration, [...path, 'limit'], notes) } }),
  };
}
