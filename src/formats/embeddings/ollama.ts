import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { errorInside } from '../dialects/forwarded/read-whole.ts';
import { type EmbeddingFormat, lossesOf } from './format.ts';
import { malformed, readRows } from './read-rows.ts';

/** https://docs.ollama.com/api/embed */
export const ollamaEmbeddings: EmbeddingFormat = {
  id: 'ollama',
  encode(order) {
    const { model, inputs, dimensions } = order;
    const body: JsonObject = { model, input: inputs.kind === 'texts' ? [...inputs.texts] : [] };
    if (dimensions !== null) body.dimensions = dimensions;
    const { truncate } = order.request.extra;
    if (typeof truncate !== 'boolean') return { body, losses: lossesOf(order) };
    return { body: { ...body, truncate }, losses: lossesOf(order, ['truncate']) };
  },
  decode(body, count) {
    const { embeddings, prompt_eval_count: inputTokens } = objectIn(body);
    if (!Array.isArray(embeddings)) return errorInside(body) ?? malformed("the answer has no 'embeddings'");
    return readRows(embeddings, count, inputTokens);
  },
};
