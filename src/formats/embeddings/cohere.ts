import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import { errorInside } from '../dialects/forwarded/read-whole.ts';
import { type EmbeddingFormat, inputTypeFor, lossesOf } from './format.ts';
import { malformed, readRows } from './read-rows.ts';

/** https://docs.cohere.com/reference/embed, version 2: it will have `input_type` of every request. */
export const cohereEmbeddings: EmbeddingFormat = {
  id: 'cohere',
  encode(order) {
    const { model, inputs, dimensions } = order;
    const body: JsonObject = {
      model,
      texts: inputs.kind === 'texts' ? [...inputs.texts] : [],
      input_type: inputTypeFor(order) ?? 'search_query',
      embedding_types: ['float'],
    };
    if (dimensions !== null) body.output_dimension = dimensions;
    // How it cuts long texts.
    const { truncate, max_tokens } = order.request.extra;
    // Ollama's callers have a boolean.
    const cuts = { ...(typeof truncate === 'string' && { truncate }), ...(max_tokens !== undefined && { max_tokens }) };
    return { body: { ...body, ...cuts }, losses: lossesOf(order, Object.keys(cuts)) };
  },
  decode(body, count) {
    const { embeddings, meta } = objectIn(body);
    const vectors = isObject(embeddings) ? embeddings.float : embeddings;
    if (!Array.isArray(vectors)) return errorInside(body) ?? malformed("the answer has no 'embeddings.float'");
    return readRows(vectors, count, objectIn(objectIn(meta).billed_units).input_tokens);
  },
};
