import type { JsonObject } from '../../../kernel/json.ts';

/**
 * A citation as OpenAI's `annotations` know it, or null when it cannot be said there. Where the citing text begins
 * is not known of other dialects' citations: both indexes are then `textLength`, the end of the text so far.
 */
export function annotationOf(citation: JsonObject, textLength: number): JsonObject | null {
  if (citation.type === 'url_citation') return citation;
  if (typeof citation.url !== 'string') return null;
  const title = typeof citation.title === 'string' ? citation.title : '';
  return {
    type: 'url_citation',
    url_citation: { url: citation.url, title, start_index: textLength, end_index: textLength },
  };
}
