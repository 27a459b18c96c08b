import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import { cohereEmbeddings } from './cohere.ts';
import { type EmbeddingFormat, type EmbeddingOrder, inputTypeFor, lossesOf, purposeLoss } from './format.ts';
import { readRows } from './read-rows.ts';

/** True for Cohere's models: they take many texts a call and get their purpose. */
export function isCohere(model: string): boolean {
  return /cohere\.embed/.test(model);
}

/**
 * Bodies of Bedrock's InvokeModel, which differ by vendor; the path names the model.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html (Cohere),
 * …/titan-embedding-models.html, https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html
 */
export const bedrockEmbeddings: EmbeddingFormat = {
  id: 'bedrock',
  encode(order) {
    const { model, request } = order;
    if (isCohere(model)) {
      const { body, losses } = cohereEmbeddings.encode(order);
      const { model: _, ...withoutModel } = body;
      return { body: withoutModel, losses };
    }
    const losses = lossesOf(order);
    if (/nova.*embed/.test(model)) return { body: novaBody(order), losses };
    // Titan embeds everything alike.
    if (request.inputType !== null) losses.push(purposeLoss(request));
    return { body: titanBody(order), losses };
  },
  decode(body, count) {
    const { embedding, embeddings, inputTextTokenCount } = objectIn(body);
    if (Array.isArray(embedding)) return readRows([embedding], count, inputTextTokenCount);
    if (!Array.isArray(embeddings) || !embeddings.every(isObject)) return cohereEmbeddings.decode(body, count);
    const vectors = embeddings.map((one) => one.embedding);
    return readRows(vectors, count, null);
  },
};

function textOf({ inputs }: EmbeddingOrder): string {
  return inputs.kind === 'texts' ? (inputs.texts[0] ?? '') : '';
}

function titanBody(order: EmbeddingOrder): JsonObject {
  const { model, dimensions } = order;
  const body: JsonObject = { inputText: textOf(order) };
  if (dimensions === null) return body;
  return model.includes('embed-image')
    ? { ...body, embeddingConfig: { outputEmbeddingLength: dimensions } }
    : { ...body, dimensions };
}

/** Cohere's words for a purpose, as Nova says them: its indexes hold everything, and here they are searched for text. */
const novaPurposes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    search_document: 'GENERIC_INDEX',
    search_query: 'TEXT_RETRIEVAL',
    classification: 'CLASSIFICATION',
    clustering: 'CLUSTERING',
  }),
);

function novaBody(order: EmbeddingOrder): JsonObject {
  const inputType = inputTypeFor(order) ?? 'search_query';
  const singleEmbeddingParams: JsonObject = {
    embeddingPurpose: novaPurposes.get(inputType) ?? inputType,
    text: { truncationMode: 'NONE', value: textOf(order) },
  };
  if (order.dimensions !== null) singleEmbeddingParams.embeddingDimension = order.dimensions;
  return { taskType: 'SINGLE_EMBEDDING', singleEmbeddingParams };
}
