import { type JsonObject, stringOr } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import { spanOf } from '../openai-chat/citations.ts';
import { openAiResponsesId } from './wire.ts';

/** An annotation of a part whose text begins at `partStart` of the answer's; null for an unknown kind. */
export function citationOf(annotation: JsonObject, partStart: number): Citation | null {
  const { type, url, title, filename, file_id: file } = annotation;
  const vendorBlock = { vendor: openAiResponsesId, block: annotation };
  const { start_index: start, end_index: end } = annotation;
  const range = spanOf(
    typeof start === 'number' ? start + partStart : null,
    typeof end === 'number' ? end + partStart : null,
  );
  if (typeof url === 'string') return { url, title: stringOr(title, ''), quote: '', ...range, vendorPart: vendorBlock };
  if (type !== 'file_citation' && type !== 'container_file_citation' && type !== 'file_path') return null;
  return {
    url: null,
    title: stringOr(filename, ''),
    quote: '',
    ...range,
    ...(typeof file === 'string' && { fileId: file }),
    vendorPart: vendorBlock,
  };
}

/** `partStart` as above; `partLength` of the part so far. */
export function annotationOf(citation: Citation, partStart: number, partLength: number): JsonObject {
  const { url, title, span, fileId, vendorPart: vendorBlock } = citation;
  const start = span === undefined ? partLength : Math.max(0, span.start - partStart);
  const end = span === undefined ? partLength : Math.max(0, span.end - partStart);
  if (vendorBlock?.vendor === openAiResponsesId) {
    const { block } = vendorBlock;
    return span === undefined ? block : { ...block, start_index: start, end_index: end };
  }
  if (url === null) return { type: 'file_citation', file_id: fileId ?? '', filename: title, index: partLength };
  return { type: 'url_citation', url, title, start_index: start, end_index: end };
}
