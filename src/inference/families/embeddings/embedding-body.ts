import type { EncodingFacts } from '../../../formats/embeddings/format.ts';
import { embeddingFormats } from '../../../formats/embeddings/index.ts';
import { readAiSdkRequest } from '../../../formats/embeddings/read-ai-sdk-request.ts';
import { readBedrockRequest } from '../../../formats/embeddings/read-bedrock-request.ts';
import { readCohereRequest } from '../../../formats/embeddings/read-cohere-request.ts';
import { readGeminiRequest } from '../../../formats/embeddings/read-gemini-request.ts';
import { readOllamaRequest } from '../../../formats/embeddings/read-ollama-request.ts';
import { readEmbeddingRequest } from '../../../formats/embeddings/read-request.ts';
import { countOf, type EmbeddingInputs, type EmbeddingRequest } from '../../../formats/neutral/embedding.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { plainFacts, type RequestBody, type RequestFacts } from '../../spine/request-body.ts';

export interface EmbeddingFactsOfBody
  extends RequestFacts,
    Pick<EmbeddingRequest, 'encoding' | 'answerForm' | 'types' | 'emptyAt'> {
  /** Tokens of each input: an estimate of texts, exact where tokens were sent. */
  tokensEach: readonly number[];
  /** Vectors of bits are asked for, eight in a number, so that their length is another one. Absent: they are not. */
  packed?: true;
}

/** One call of an upstream, as plain data. */
export interface EmbeddingOrder {
  model: string;
  /** Fields that the operator adds. */
  body: Readonly<Record<string, unknown>>;
  /** Indexes of the inputs. */
  inputs: readonly number[];
  /** For the upstream; null: left out. */
  dimensions: number | null;
  facts: EncodingFacts;
}

export interface EncodedEmbeddings {
  bytes: Buffer | string;
  losses: readonly Loss[];
}

/** A checked request for embeddings. */
export interface EmbeddingBody extends RequestBody<EmbeddingFactsOfBody> {
  encode(order: EmbeddingOrder): EncodedEmbeddings | Failure | Promise<EncodedEmbeddings | Failure>;
}

/** Callers' formats. */
const readers = {
  embeddings: readEmbeddingRequest,
  'gemini-embeddings': readGeminiRequest,
  'ollama-embeddings': readOllamaRequest,
  'cohere-embeddings': readCohereRequest,
  'bedrock-embeddings': readBedrockRequest,
  'ai-sdk-embeddings': readAiSdkRequest,
} as const;

export type EmbeddingBodyKind = keyof typeof readers;

/** Parses and checks; the failure is a 400 in every case. */
export function readEmbeddings(raw: Buffer, kind: EmbeddingBodyKind): EmbeddingBody | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  const read = readers[kind](parsed.body);
  return isFailure(read) ? read : embeddingBody(read);
}

/** Types of a vector's numbers that hold eight bits each. */
const packedTypes: ReadonlySet<unknown> = new Set(['binary', 'ubinary']);

/** A request for embeddings as attempts use it; where it was made from texts of our own, too. */
export function embeddingBody(request: EmbeddingRequest): EmbeddingBody {
  const { inputs, dimensions, encoding, answerForm, model, user, extra } = request;
  const isPacked = packedTypes.has(extra.output_dtype) || packedTypes.has(extra.embedding_type);
  const tokensEach =
    inputs.kind === 'texts'
      ? inputs.texts.map((text) => estimatedTokens(Buffer.byteLength(text)))
      : inputs.tokens.map((tokens) => tokens.length);
  const inputTokensEstimate = tokensEach.reduce((sum, tokens) => sum + tokens, 0);
  const plain = { model, user, stream: false, inputTokensEstimate };
  return {
    facts: {
      ...plainFacts(plain, { embedding: { inputs: inputs.kind, dimensions } }),
      tokensEach,
      encoding,
      answerForm,
      ...(isPacked && { packed: true as const }),
      ...(request.types !== undefined && { types: request.types }),
      ...(request.emptyAt !== undefined && { emptyAt: request.emptyAt }),
    },
    encode: (order) => encodeCall(request, order),
    release() {},
  };
}

function encodeCall(
  request: EmbeddingRequest,
  { model, body, inputs, dimensions, facts }: EmbeddingOrder,
): EncodedEmbeddings {
  const some = someOf(request.inputs, inputs);
  const encoded = embeddingFormats[facts.format].encode({ model, inputs: some, dimensions, request, facts });
  return { bytes: JSON.stringify({ ...encoded.body, ...body }), losses: encoded.losses };
}

function someOf(inputs: EmbeddingInputs, places: readonly number[]): EmbeddingInputs {
  if (places.length === countOf(inputs)) return inputs;
  return inputs.kind === 'texts'
    ? { kind: 'texts', texts: places.flatMap((at) => inputs.texts[at] ?? []) }
    : { kind: 'tokens', tokens: places.map((at) => inputs.tokens[at] ?? []) };
}
