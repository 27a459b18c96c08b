import { isObject } from '../../../kernel/json.ts';
import { openAiLike } from '../openai-like.ts';
import type { DiscoveredModel, Provider } from '../provider.ts';

/**
 * https://huggingface.github.io/text-embeddings-inference: one model a server, whatever it is called. Its API is at the
 * root; its `/v1/embeddings` knows less.
 */
export const tei: Provider = {
  ...openAiLike({
    id: 'tei',
    title: 'Text Embeddings Inference',
    baseUrl: 'http://127.0.0.1:8080',
    baseSuffixes: ['/v1/embeddings', '/embed', '/rerank', '/v1'],
    local: true,
    paths: { chat: null, models: '/info' },
    forwards: { rerank: '/rerank' },
    // It refuses long texts unless it may cut them, and gives every rank.
    forwardBodies: {
      rerank: () => ({
        without: ['model', 'top_n', 'top_k', 'truncation'],
        with: { truncate: true },
        omit: [],
        rename: { documents: 'texts' },
      }),
    },
    embeds: { format: 'tei', path: '/embed', batch: 32, takesTokens: true, dimensions: 'asked' },
    errors: [{ status: 424, class: 'transient' }],
  }),
  listModels,
};

/** `{model_id, model_type: {embedding: {…}}, max_input_length}` */
function listModels(body: unknown): DiscoveredModel[] {
  if (!isObject(body) || typeof body.model_id !== 'string') return [];
  const id = body.model_id;
  if (!/^[A-Za-z0-9][\w./:-]{0,199}$/.test(id)) return [];
  return [{ id, type: isObject(body.model_type) && 'reranker' in body.model_type ? 'rerank' : 'embedding' }];
}
