import type { EncodingFacts } from '../dialects/embeddings/format.ts';
import { embeddingFormats } from '../dialects/embeddings/index.ts';
import {
  type AnswerForm,
  countOf,
  type EmbeddingInputs,
  type EmbeddingRequest,
  type VectorEncoding,
} from '../neutral/embedding.ts';
import { estimatedTokens } from '../neutral/token-count.ts';
import type { ConversationBody, EncodedBody, EncodeOrder } from './conversation-body.ts';
import { plainFacts } from './plain-request.ts';

/** What a request for embeddings says of itself beside what all requests do. */
export interface EmbeddingFactsOfBody {
  /** Tokens of each input: an estimate of texts, exact where tokens were sent. */
  tokensEach: readonly number[];
  encoding: VectorEncoding;
  answerForm: AnswerForm;
}

/** One call of an upstream, as plain data. */
export interface EmbeddingOrderOfBody {
  /** Which inputs, by their place. */
  inputs: readonly number[];
  /** To be told to the upstream; null = nothing is said. */
  dimensions: number | null;
  facts: EncodingFacts;
}

/** A request for embeddings as attempts use it; where it was made from texts of our own, too. */
export function embeddingBody(request: EmbeddingRequest): ConversationBody {
  const { inputs, dimensions, encoding, answerForm } = request;
  const tokensEach =
    inputs.kind === 'texts'
      ? inputs.texts.map((text) => estimatedTokens(Buffer.byteLength(text)))
      : inputs.tokens.map((tokens) => tokens.length);
  return {
    facts: {
      ...plainFacts(
        {
          model: request.model,
          user: request.user,
          stream: false,
          inputTokensEstimate: tokensEach.reduce((sum, tokens) => sum + tokens, 0),
        },
        { embedding: { inputs: inputs.kind, dimensions } },
      ),
      embedding: { tokensEach, encoding, answerForm },
    },
    encode: (order) => ({ ok: true, value: encodeCall(request, order) }),
    release() {},
  };
}

function encodeCall(request: EmbeddingRequest, { model, body, embedding }: EncodeOrder): EncodedBody {
  if (embedding === undefined) throw new Error('a request for embeddings was encoded as something else');
  const { dimensions, facts } = embedding;
  const encoded = embeddingFormats[facts.format].encode({
    model,
    inputs: someOf(request.inputs, embedding.inputs),
    dimensions,
    request,
    facts,
  });
  return {
    bytes: JSON.stringify({ ...encoded.body, ...body }),
    losses: encoded.losses,
    answer: 'converted',
    unwrapTool: undefined,
    streamed: false,
  };
}

function someOf(inputs: EmbeddingInputs, places: readonly number[]): EmbeddingInputs {
  if (places.length === countOf(inputs)) return inputs;
  return inputs.kind === 'texts'
    ? { kind: 'texts', texts: places.map((at) => inputs.texts[at]!) }
    : { kind: 'tokens', tokens: places.map((at) => inputs.tokens[at]!) };
}
