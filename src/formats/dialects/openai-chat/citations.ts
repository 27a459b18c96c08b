import { isObject, type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { Citation, Span } from '../../neutral/citation.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { openAiChatId } from './wire.ts';

/** Content of a message's `annotations`: pages of the web, and those of some providers alone, such as parsed files. */
export function readAnnotation(annotation: JsonObject, choice: number): NeutralEvent {
  const vendorBlock = { vendor: openAiChatId, block: annotation };
  // OpenAI's other format has the members in the annotation itself, and some servers mix the two.
  const cited = isObject(annotation.url_citation) ? annotation.url_citation : annotation;
  if (typeof cited.url !== 'string') return { type: 'vendor-part', choice, field: 'annotations', ...vendorBlock };
  const citation: Citation = {
    url: cited.url,
    title: stringOr(cited.title, ''),
    quote: stringOr(cited.content, ''),
    vendorPart: vendorBlock,
  };
  return { type: 'citation', choice, citation: { ...citation, ...spanOf(cited.start_index, cited.end_index) } };
}

/** OpenRouter tells 0 and 0 where it does not know. */
export function spanOf(
  start: JsonValue | undefined,
  end: JsonValue | undefined,
): { span: Span } | Record<never, never> {
  if (typeof start !== 'number' || typeof end !== 'number' || start < 0 || end < start || end === 0) return {};
  return { span: { start, end } };
}

/** Pages that an answer rests on, as Perplexity and xAI list them outside the choices. */
export function pagesBeside({ search_results: results, citations }: JsonObject): Citation[] {
  const listed = Array.isArray(results) && results.length > 0 ? results : citations;
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((one): Citation[] => {
    const page = typeof one === 'string' ? { url: one } : one;
    if (!isObject(page) || typeof page.url !== 'string') return [];
    return [{ url: page.url, title: stringOr(page.title, ''), quote: stringOr(page.snippet, '') }];
  });
}

/** Null for a citation of a file: the format has a word for pages alone, and clients refuse others. */
export function annotationOf(
  { url, title, span, vendorPart: vendorBlock }: Citation,
  textLength: number,
): JsonObject | null {
  if (vendorBlock?.vendor === openAiChatId) return vendorBlock.block;
  if (url === null) return null;
  const { start, end } = span ?? { start: textLength, end: textLength };
  return { type: 'url_citation', url_citation: { url, title, start_index: start, end_index: end } };
}
