import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { JsonSchema } from '../../formats/neutral/described-check.ts';
import { metadataSchema } from '../../inference/families/responses/conversation-fields.ts';
import type { OpenedVectorStores } from '../../inference/vector-stores/open-vector-stores.ts';
import type { Route } from '../exchange.ts';
import { type StoredPlace, storedRoute } from './stored-route.ts';
import type { VectorStoreCalls } from './vector-stores/calls.ts';

const place: StoredPlace = { endpoint: 'vector_stores', dialect: openAiChat };
const path = '/v1/vector_stores';
const one = `${path}/:id`;
const files = `${one}/files`;
const file = `${files}/:file`;
const batch = `${one}/file_batches/:batch`;

const text = { type: 'string' };
const attributes = {
  type: ['object', 'null'],
  maxProperties: 16,
  additionalProperties: { type: ['string', 'number', 'boolean'] },
};
const chunking = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { type: 'string', enum: ['auto', 'static'] },
    static: {
      type: 'object',
      properties: {
        max_chunk_size_tokens: { type: 'integer', minimum: 100, maximum: 4_096 },
        chunk_overlap_tokens: { type: 'integer', minimum: 0 },
      },
    },
  },
};
const expiry = {
  type: ['object', 'null'],
  properties: {
    anchor: { type: 'string', enum: ['last_active_at'] },
    days: { type: 'integer', minimum: 1, maximum: 365 },
  },
};
const fileIds = { type: 'array', items: text };
const attached = { file_id: text, attributes, chunking_strategy: chunking };
const changed = { name: { type: ['string', 'null'] }, metadata: metadataSchema, expires_after: expiry };

/**
 * `/v1/vector_stores`: OpenAI's vector stores over collections of the key. `model`: alias of the embedding model, where a
 * caller names none. What answers is loaded with the first call.
 */
export function vectorStoreRoutes(stores: OpenedVectorStores, model: () => string): Route[] {
  let loading: Promise<VectorStoreCalls> | null = null;
  const calls = () => {
    loading ??= Promise.all([import('./vector-stores/calls.ts'), stores.open()]).then(
      ([{ vectorStoreCalls }, opened]) => vectorStoreCalls({ ...opened, model }),
    );
    // A store that could not be opened is opened again by the next call.
    loading.catch(() => {
      loading = null;
    });
    return loading;
  };
  const route = (
    method: 'GET' | 'POST' | 'DELETE',
    at: string,
    summary: string,
    name: keyof VectorStoreCalls,
    properties: JsonSchema = {},
  ) => storedRoute(method, at, summary, async (call) => (await calls())[name](call), properties, place);
  return [
    route('POST', path, 'Make a vector store', 'create', {
      ...changed,
      description: text,
      file_ids: fileIds,
      chunking_strategy: chunking,
      embedding_model: {
        ...text,
        description: 'Alias of the model that embeds its files. Default: vectors.stores.embedding_model.',
      },
    }),
    route('GET', path, 'The vector stores of this key', 'list'),
    route('GET', one, 'A vector store', 'find'),
    route('POST', one, 'Change a vector store', 'change', changed),
    route('DELETE', one, 'Delete a vector store', 'remove'),
    route('POST', `${one}/search`, 'Search a vector store', 'search', {
      query: { anyOf: [text, { type: 'array', items: text }] },
      filters: { type: 'object' },
      max_num_results: { type: 'integer', minimum: 1, maximum: 50 },
      ranking_options: { type: 'object' },
      rewrite_query: { type: 'boolean' },
    }),
    route('POST', files, 'Add a file to a vector store', 'attach', attached),
    route('GET', files, 'The files of a vector store', 'listFiles'),
    route('GET', file, 'A file of a vector store', 'findFile'),
    route('POST', file, 'Change the attributes of a file of a vector store', 'changeFile', { attributes }),
    route('DELETE', file, 'Remove a file from a vector store', 'removeFile'),
    route('GET', `${file}/content`, 'The text of a file of a vector store', 'content'),
    route('POST', `${one}/file_batches`, 'Add several files to a vector store', 'attachBatch', {
      file_ids: fileIds,
      files: { type: 'array', items: { type: 'object', properties: attached } },
      attributes,
      chunking_strategy: chunking,
    }),
    route('GET', batch, 'A batch of files of a vector store', 'findBatch'),
    route('POST', `${batch}/cancel`, 'Stop a batch of files of a vector store', 'cancelBatch'),
    route('GET', `${batch}/files`, 'The files of a batch of a vector store', 'listBatchFiles'),
  ];
}
