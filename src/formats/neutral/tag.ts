import { isObject, type JsonValue } from '../../kernel/json.ts';

/** Longer tags are cut. */
const tagCharsMax = 64;

/** A caller's tag for sums of usage, as the ledger keeps it; null when nothing is left of it. */
export function cleanTag(text: JsonValue | undefined): string | null {
  if (typeof text !== 'string') return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim();
  return clean === '' ? null : clean.slice(0, tagCharsMax).toWellFormed();
}

/**
 * The tag in OpenAI's `metadata`: its `tag`, else the first of its `tags`, which clients of LiteLLM send as a list. Null:
 * it has none.
 */
export function tagInMetadata(metadata: JsonValue | undefined): string | null {
  if (!isObject(metadata)) return null;
  const { tag, tags } = metadata;
  return cleanTag(tag) ?? cleanTag(Array.isArray(tags) ? tags[0] : tags);
}
