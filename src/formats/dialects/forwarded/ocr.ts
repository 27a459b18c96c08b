import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { reportedCount, type Usage } from '../../neutral/usage.ts';
import { boolean, object } from '../../neutral/value-checks.ts';
import { objectNotFound } from '../named-objects.ts';
import { objects } from '../openai-chat/read-request.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

// Documents are no text: their URLs may hold megabytes of base64.
const readFields = readUnstreamed(() => 0);

/** The text of documents and pictures as markdown, page by page: Mistral's format. */
export const ocr: ForwardedEndpoint = {
  id: 'ocr',
  cost: 1,
  path: '/v1/ocr',
  summary: 'Read the text of a document or a picture',
  readRequest(raw, body, scan) {
    const [named] = objects.find(body);
    return named === undefined ? readFields(raw, body, scan) : objectNotFound(named.field);
  },
  requestSchema: () =>
    schemaBesideModel(
      { document: object, include_image_base64: boolean },
      { document: 'an object such as {"type":"document_url","document_url":"https://…"}' },
    ),
  readInPassing: () => readWholeInPassing((body) => faultInList(body, ['pages'], 0), usageOf),
};

/** Providers charge by the page, which counts as an image here. */
function usageOf({ usage_info: info }: JsonObject): Usage {
  const pages = reportedCount(objectIn(info).pages_processed);
  return { inputTokens: 0, outputTokens: 0, ...(pages !== null && { images: pages }) };
}
