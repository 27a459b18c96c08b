import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { stringOr } from './wire.ts';

/** OpenAI's `url_citation` as Anthropic's word for a page found on the web; null for what has no place in this format. */
export function citationOf(citation: JsonObject): JsonObject | null {
  const said = citation.type === 'url_citation' && isObject(citation.url_citation) ? citation.url_citation : citation;
  const url: JsonValue | undefined = said.url;
  if (typeof url !== 'string' || url === '') return null;
  return {
    type: 'web_search_result_location',
    url,
    title: stringOr(said.title, null),
    cited_text: stringOr(said.cited_text, ''),
    encrypted_index: '',
  };
}
