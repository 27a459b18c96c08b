import { isObject, type JsonObject } from '../../kernel/json.ts';

/**
 * Documents as plain texts, which every service takes, where some came as objects as in version 1 of Cohere's API: of
 * `rank_fields`, by default `text`. Null: they can stay, or are not texts, such as pictures for Jina.
 */
export function plainDocuments({ documents, rank_fields: named }: JsonObject): string[] | null {
  if (!Array.isArray(documents) || !documents.some(isObject)) return null;
  const fields = Array.isArray(named) && named.length > 0 ? named.filter((name) => typeof name === 'string') : ['text'];
  const texts = documents.map((document) => {
    if (!isObject(document)) return document;
    const lines = fields.flatMap((name) => {
      const value = Object.hasOwn(document, name) ? document[name] : undefined;
      return typeof value === 'string' ? [fields.length === 1 ? value : `${name}: ${value}`] : [];
    });
    return lines.length === 0 ? null : lines.join('\n');
  });
  return texts.every((text) => typeof text === 'string') ? texts : null;
}
