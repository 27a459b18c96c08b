import { type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { Citation, Span } from '../../neutral/citation.ts';
import { vendor } from './wire.ts';

/** A citation of a text block, all of which rests on it: `span` is the block's. */
export function readCitation(block: JsonObject, span: Span | null): Citation {
  const source = stringOr(block.url ?? block.source, '');
  const url = /^https?:/i.test(source) ? source : null;
  return {
    url,
    title: stringOr(block.title ?? block.document_title, url === null ? source : ''),
    quote: stringOr(block.cited_text, ''),
    ...(span !== null && { span }),
    ...(typeof block.file_id === 'string' && { fileId: block.file_id }),
    ...(typeof block.document_index === 'number' && { document: block.document_index }),
    vendorPart: { vendor, block },
  };
}

/** Mark of citations that were written here: Anthropic's have its encrypted place in the search result. */
const foreign = '';

/** Pages as a search of Anthropic's tells them, files and documents as documents of the request. */
export function citationBlock({ url, title, quote, fileId, document, vendorPart: fromVendor }: Citation): JsonObject {
  if (fromVendor?.vendor === vendor) return fromVendor.block;
  // A page that was fetched is a document, one of a search is not.
  if (url !== null && document === undefined) {
    const words = { cited_text: quote, encrypted_index: foreign };
    return { type: 'web_search_result_location', url, title: title === '' ? null : title, ...words };
  }
  return {
    type: 'char_location',
    cited_text: quote,
    document_index: document ?? 0,
    document_title: title === '' ? null : title,
    start_char_index: 0,
    end_char_index: quote.length,
    file_id: fileId ?? null,
    encrypted_index: foreign,
  };
}

/** Citations that Anthropic takes back, which are those it wrote; null if all are. */
export function vendorCitations(citations: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(citations)) return null;
  const fromVendor = citations.filter((one) => (one as JsonObject | null)?.encrypted_index !== foreign);
  return fromVendor.length === citations.length ? null : fromVendor;
}
