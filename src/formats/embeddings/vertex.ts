import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { errorInside } from '../dialects/forwarded/read-whole.ts';
import { reportedCount } from '../neutral/usage.ts';
import { type EmbeddingFormat, inputTypeFor, lossesOf } from './format.ts';
import { googleMembers } from './gemini.ts';
import { malformed, readRows } from './read-rows.ts';

/** True for models that Vertex asks by `embedContent`, one text a call, as Google's SDK does; others by `predict`. */
export function usesContentMethod(model: string): boolean {
  return (model.includes('gemini') && !/gemini-embedding-001$/.test(model)) || model.includes('maas');
}

/**
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api: `predict` has a
 * separate form, and newer models have `embedContent`, with its parameters in `embedContentConfig`.
 */
export const vertexEmbeddings: EmbeddingFormat = {
  id: 'vertex',
  encode(order) {
    const { model, inputs, dimensions } = order;
    const extra = googleMembers(order);
    const taskType = inputTypeFor(order);
    const texts = inputs.kind === 'texts' ? inputs.texts : [];
    const size: JsonObject = dimensions === null ? {} : { outputDimensionality: dimensions };
    const losses = lossesOf(order, Object.keys(extra));
    if (usesContentMethod(model)) {
      const config: JsonObject = { ...extra, ...(taskType !== null && { taskType }), ...size };
      const content = { role: 'user', parts: texts.map((text) => ({ text })) };
      return { body: { content, ...(Object.keys(config).length > 0 && { embedContentConfig: config }) }, losses };
    }
    const instances = texts.map((content) => ({ content, ...(taskType !== null && { task_type: taskType }) }));
    const parameters: JsonObject = { ...extra, ...size };
    return { body: { instances, ...(Object.keys(parameters).length > 0 && { parameters }) }, losses };
  },
  decode(body, count) {
    if (!isObject(body)) return malformed('the answer is not a JSON object');
    if (isObject(body.embedding)) {
      return readRows([body.embedding.values], count, objectIn(body.usageMetadata).promptTokenCount);
    }
    if (!Array.isArray(body.predictions)) return errorInside(body) ?? malformed("the answer has no 'predictions'");
    const embeddings = body.predictions.map((one) => objectIn(objectIn(one).embeddings));
    const vectors = embeddings.map(({ values }) => values);
    return readRows(vectors, count, tokensOf(embeddings));
  },
};

/** Null unless each text was counted. */
function tokensOf(embeddings: readonly Record<string, JsonValue | undefined>[]): number | null {
  const counts = embeddings.map(({ statistics }) => reportedCount(objectIn(statistics).token_count));
  return counts.reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
}
