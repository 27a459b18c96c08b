import { isObject, type JsonObject } from '../../../kernel/json.ts';

/**
 * A citation as Responses' flat annotations know it, or null when it cannot be said there. Where the citing text
 * begins is not known of other dialects' citations: both indexes are then `textLength`, the end of the text so far.
 */
export function annotationOf(citation: JsonObject, textLength: number): JsonObject | null {
  const inner = isObject(citation.url_citation) ? citation.url_citation : citation;
  if (typeof inner.url !== 'string') return null;
  return {
    type: 'url_citation',
    url: inner.url,
    title: typeof inner.title === 'string' ? inner.title : '',
    start_index: typeof inner.start_index === 'number' ? inner.start_index : textLength,
    end_index: typeof inner.end_index === 'number' ? inner.end_index : textLength,
  };
}

/** A flat annotation in chat's words, which are the neutral form's. Null for kinds that only the provider knows. */
export function citationOf(annotation: JsonObject): JsonObject | null {
  if (annotation.type !== 'url_citation' || typeof annotation.url !== 'string') return null;
  const { url, title, start_index, end_index } = annotation;
  return {
    type: 'url_citation',
    url_citation: { url, title: title ?? '', start_index: start_index ?? 0, end_index: end_index ?? 0 },
  };
}
