import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { png } from '../contract/image-world.ts';

/* Models of Bedrock that do not chat, as the user guide of Bedrock and Nova's have their bodies. */

/** Its answer; a text is why AWS refuses the body; null: not one of these models. */
export function invoked(model: string, body: JsonObject): JsonObject | string | null {
  const known = models.find(({ pattern }) => pattern.test(model));
  if (known === undefined) return null;
  for (const name of known.needs) {
    if (body[name] === undefined) return malformed(`required key [${name}] not found`);
  }
  for (const name in body) {
    if (!known.needs.includes(name) && !known.takes.includes(name)) {
      return malformed(`extraneous key [${name}] is not permitted`);
    }
  }
  return known.answer(body);
}

interface Model {
  pattern: RegExp;
  needs: readonly string[];
  takes: readonly string[];
  answer(body: JsonObject): JsonObject | string;
}

const picture = png().toString('base64');

const models: readonly Model[] = [
  {
    pattern: /titan-embed-text-v2/,
    needs: ['inputText'],
    takes: ['dimensions', 'normalize', 'embeddingTypes'],
    answer: ({ inputText, dimensions = 1_024 }) => {
      const embedding = vector(String(inputText), Number(dimensions));
      return { embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: tokensOf(inputText) };
    },
  },
  {
    pattern: /titan-embed-image/,
    needs: [],
    takes: ['inputText', 'inputImage', 'embeddingConfig'],
    answer: ({ inputText, embeddingConfig }) => {
      const size = isObject(embeddingConfig) ? Number(embeddingConfig.outputEmbeddingLength) : 1_024;
      return { embedding: vector(String(inputText), size), inputTextTokenCount: tokensOf(inputText), message: null };
    },
  },
  {
    pattern: /nova-2-multimodal-embeddings/,
    needs: ['taskType', 'singleEmbeddingParams'],
    takes: ['schemaVersion'],
    answer({ singleEmbeddingParams: params }) {
      if (!isObject(params) || !isObject(params.text)) return malformed('#/singleEmbeddingParams: no text');
      const { embeddingDimension = 3_072, embeddingPurpose } = params;
      if (!/^(GENERIC_INDEX|TEXT_RETRIEVAL|CLASSIFICATION|CLUSTERING)$/.test(String(embeddingPurpose))) {
        return malformed(`#/singleEmbeddingParams/embeddingPurpose: ${embeddingPurpose} is not a valid enum value`);
      }
      const embedding = vector(String(params.text.value), Number(embeddingDimension));
      return { embeddings: [{ embeddingType: 'TEXT', embedding }] };
    },
  },
  {
    pattern: /cohere\.embed/,
    needs: ['input_type', 'texts'],
    takes: ['embedding_types', 'output_dimension', 'truncate', 'max_tokens'],
    answer({ texts, embedding_types: types, output_dimension: size = 1_024 }) {
      const list = texts as string[];
      if (list.length > 96) return malformed('#/texts: expected maximum item count: 96');
      const vectors = list.map((text) => vector(text, Number(size)));
      const byType = Array.isArray(types);
      return {
        id: 'b1',
        texts: list,
        response_type: byType ? 'embeddings_by_type' : 'embeddings_floats',
        embeddings: byType ? { float: vectors } : vectors,
      };
    },
  },
  {
    pattern: /nova-canvas|titan-image-generator/,
    needs: ['taskType'],
    takes: [
      'textToImageParams',
      'imageVariationParams',
      'inPaintingParams',
      'outPaintingParams',
      'imageGenerationConfig',
    ],
    answer({ imageGenerationConfig: config }) {
      const count = isObject(config) ? Number(config.numberOfImages) : 1;
      if (!(count >= 1 && count <= 5)) return malformed('#/imageGenerationConfig/numberOfImages: 1 to 5');
      return { images: Array.from({ length: count }, () => picture) };
    },
  },
  {
    pattern: /stability\./,
    needs: ['prompt'],
    takes: ['aspect_ratio', 'mode', 'output_format', 'seed', 'negative_prompt', 'image', 'strength'],
    answer: ({ prompt }) =>
      prompt === 'forbidden'
        ? { finish_reasons: ['Filter reason: prompt'] }
        : { seeds: [2_130_420_379], finish_reasons: [null], images: [picture] },
  },
  {
    pattern: /cohere\.rerank/,
    needs: ['query', 'documents', 'api_version'],
    takes: ['top_n', 'max_tokens_per_doc'],
    answer: ranked,
  },
  { pattern: /amazon\.rerank/, needs: ['query', 'documents'], takes: ['top_n'], answer: ranked },
];

function malformed(what: string): string {
  return `Malformed input request: ${what}, please reformat your input and try again.`;
}

/** Of numbers that its text alone decides. */
function vector(text: string, size: number): number[] {
  return Array.from({ length: size }, (_, i) => ((text.charCodeAt(i % text.length) % 10) + 1) / 100);
}

function tokensOf(text: unknown): number {
  return String(text).split(' ').length;
}

/** By how many words of the query a document has. */
function ranked({ query, documents, top_n: count }: JsonObject): JsonObject {
  const words = String(query).toLowerCase().split(' ');
  const results = (documents as string[])
    .map((text, index) => ({
      index,
      relevance_score: words.filter((word) => text.toLowerCase().includes(word)).length / words.length,
    }))
    .sort((a, b) => b.relevance_score - a.relevance_score);
  return { results: results.slice(0, count === undefined ? undefined : Number(count)) };
}
