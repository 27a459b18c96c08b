import type { JsonObject } from '../../../kernel/json.ts';

/**
 * The format of Cohere's Chat v2 (types of cohere-ai 8.1.0, and https://docs.cohere.com/reference/chat), as far as we
 * write it. Messages are OpenAI's, but for thoughts and plans.
 */
export type CohereBody = JsonObject & { model: string; messages: JsonObject[]; documents?: JsonObject[] };

/** Names this dialect as the vendor of citations. */
export const vendor = 'cohere-chat';

/** Cohere's members that callers of OpenAI's format may add to a body; they are passed on unchanged. */
export const cohereOnlyFields = [
  'documents',
  'citation_options',
  'safety_mode',
  'strict_tools',
  'thinking',
  'priority',
] as const;

/** Id of the document with this index among those of the request, so that a citation tells it. */
export function documentId(index: number): string {
  return `document-${index}`;
}

/** The index in such an id; undefined for an id that the caller gave. */
export function documentIndex(id: string): number | undefined {
  const [, index] = /^document-(\d{1,6})$/.exec(id) ?? [];
  return index === undefined ? undefined : Number(index);
}
