import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { errorInside } from '../dialects/forwarded/read-whole.ts';
import { type EmbeddingFormat, type EmbeddingOrder, inputTypeFor, lossesOf } from './format.ts';
import { malformed, readRows } from './read-rows.ts';

/**
 * https://ai.google.dev/api/embeddings, `batchEmbedContents`: every input is a separate request that names the model
 * again. It gives no tokens, except for newer models.
 */
export const geminiEmbeddings: EmbeddingFormat = {
  id: 'gemini',
  encode(order) {
    const { model, inputs, dimensions } = order;
    const vendorFields = googleMembers(order);
    const taskType = inputTypeFor(order);
    const name = /^(models|tunedModels)\//.test(model) ? model : `models/${model}`;
    const texts = inputs.kind === 'texts' ? inputs.texts : [];
    const requests = texts.map((text) => {
      const request: JsonObject = { ...vendorFields, model: name, content: { parts: [{ text }] } };
      if (taskType !== null) request.taskType = taskType;
      if (dimensions !== null) request.outputDimensionality = dimensions;
      return request;
    });
    return { body: { requests }, losses: lossesOf(order, Object.keys(vendorFields)) };
  },
  decode(body, count) {
    const { embeddings, usageMetadata } = objectIn(body);
    if (!Array.isArray(embeddings)) return errorInside(body) ?? malformed("the answer has no 'embeddings'");
    const vectors = embeddings.map((one) => objectIn(one).values);
    return readRows(vectors, count, objectIn(usageMetadata).promptTokenCount);
  },
};

/** Further members of callers of Google's formats. Google refuses those of all others. */
export function googleMembers({ request: { answerForm, extra } }: EmbeddingOrder): JsonObject {
  return /^(?:gemini|vertex)/.test(answerForm) ? extra : {};
}
