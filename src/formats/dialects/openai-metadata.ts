import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { Loss } from '../neutral/loss.ts';

const textCharsMax = 512;
const textsMax = 16;

/**
 * Texts of `metadata`, for a provider that takes so many texts alone; null: it has none of them. Clients also send lists,
 * numbers and objects: for LiteLLM's tags, a tracing service, a voice platform.
 */
export function textsOf(metadata: JsonValue | undefined, losses: Loss[]): JsonObject | null {
  const members = isObject(metadata) ? Object.entries(metadata) : [];
  const texts = members
    .filter(([, value]) => typeof value === 'string' && value.length <= textCharsMax)
    .slice(0, textsMax);
  for (const member of members.slice(0, 64)) {
    if (!texts.includes(member)) losses.push({ field: `metadata.${member[0].slice(0, 64)}`, why: 'unsupported' });
  }
  return texts.length > 0 || members.length === 0 ? Object.fromEntries(texts) : null;
}
