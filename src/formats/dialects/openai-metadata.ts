import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { described } from '../neutral/described-check.ts';
import type { Loss } from '../neutral/loss.ts';
import { mapOf, stringOf } from '../neutral/value-checks.ts';

const text = stringOf(0, 512);

/** OpenAI's `metadata`: texts. Clients of LiteLLM also send lists, such as `tags`. */
export const metadata = mapOf(
  described({}, (value) => (Array.isArray(value) ? null : text(value))),
  16,
  'strings',
);

/** Texts of `metadata`, for a provider that takes texts alone; null: it has none of them. */
export function textsOf(metadata: JsonValue | undefined, losses: Loss[]): JsonObject | null {
  const members = isObject(metadata) ? Object.entries(metadata) : [];
  const texts = members.filter(([, value]) => typeof value === 'string');
  for (const [name, value] of members) {
    if (typeof value !== 'string') losses.push({ field: `metadata.${name.slice(0, 64)}`, why: 'unsupported' });
  }
  return texts.length > 0 || members.length === 0 ? Object.fromEntries(texts) : null;
}
