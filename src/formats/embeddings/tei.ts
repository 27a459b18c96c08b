import type { JsonObject } from '../../kernel/json.ts';
import { errorInside } from '../dialects/forwarded/read-whole.ts';
import { type EmbeddingFormat, lossesOf } from './format.ts';
import { malformed, readRows } from './read-rows.ts';

/** https://huggingface.github.io/text-embeddings-inference, `/embed`: one model a server, an array of arrays back. */
export const teiEmbeddings: EmbeddingFormat = {
  id: 'tei',
  encode(order) {
    const { inputs, dimensions } = order;
    const body: JsonObject = {
      inputs: inputs.kind === 'texts' ? [...inputs.texts] : inputs.tokens.map((tokens) => [...tokens]),
    };
    if (dimensions !== null) body.dimensions = dimensions;
    return { body, losses: lossesOf(order) };
  },
  decode(body, count) {
    if (!Array.isArray(body)) return errorInside(body) ?? malformed('the answer is not an array');
    return readRows(body, count, null);
  },
};
