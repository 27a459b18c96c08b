import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, listIn, objectIn, objectsIn } from '../../../kernel/json.ts';

/** Words of AWS's Rerank for members of `/v1/rerank`. */
export const rerankWords = { model: 'modelArn', query: 'queries', documents: 'sources', top_n: 'numberOfResults' };

/** The same request for `/v1/rerank`. Documents of JSON are ranked as their text, unless `rank_fields` names some. */
export function readRerankBody(request: JsonObject): { body: JsonObject } | Failure {
  const { queries, sources, nextToken } = request;
  const { modelConfiguration, numberOfResults } = objectIn(
    objectIn(request.rerankingConfiguration).bedrockRerankingConfiguration,
  );
  const { modelArn, additionalModelRequestFields } = objectIn(modelConfiguration);
  const fields = objectIn(additionalModelRequestFields);
  if (typeof modelArn !== 'string') return invalid('modelArn', "'modelArn' must be the name or the ARN of a model.");
  const [query, ...others] = objectsIn(queries).map(({ textQuery }) => objectIn(textQuery).text);
  if (typeof query !== 'string' || others.length > 0) return invalid('queries', "'queries' must have one 'textQuery'.");
  if ((nextToken ?? null) !== null) return invalid('nextToken', "'nextToken': all results come at once. Leave it out.");
  const documents = listIn(sources).map((source) => {
    const { textDocument, jsonDocument } = objectIn(objectIn(source).inlineDocumentSource);
    if (!isObject(jsonDocument)) return objectIn(textDocument).text ?? null;
    return fields.rank_fields === undefined ? JSON.stringify(jsonDocument) : jsonDocument;
  });
  if (documents.length === 0 || documents.includes(null))
    return invalid('sources', "'sources' must have a 'textDocument' or 'jsonDocument' each.");
  const top = (numberOfResults ?? null) === null ? {} : { top_n: numberOfResults };
  return { body: { ...fields, model: modelArn, query, documents, ...top } as JsonObject };
}

/** An answer of `/v1/rerank` as AWS's. */
export function rerankResults({ results }: JsonObject): JsonObject {
  const ranks = objectsIn(results).map(({ index, relevance_score: relevanceScore }) => ({ index, relevanceScore }));
  return { results: ranks } as JsonObject;
}
