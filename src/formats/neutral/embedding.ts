import type { JsonObject } from '../../kernel/json.ts';

/** Input for vectors: texts, or tokens of the model's own vocabulary. */
export type EmbeddingInputs =
  | { kind: 'texts'; texts: readonly string[] }
  | { kind: 'tokens'; tokens: readonly (readonly number[])[] };

/** Form of vectors in an answer: as numbers, or as little-endian float32 in base64. */
export type VectorEncoding = 'float' | 'base64';

/** Types of vectors that Cohere's callers may have side by side. */
export const vectorTypes = ['float', 'int8', 'uint8', 'binary', 'ubinary', 'base64'] as const;
export type VectorType = (typeof vectorTypes)[number];

/**
 * OpenAI's answer, Google's to `embedContent`, `batchEmbedContents` and Vertex AI's `predict`, Ollama's to `/api/embed` and `/api/embeddings`,
 * Cohere's to `/v2/embed`, to Bedrock's InvokeModel those of Cohere, of Amazon Titan and of Amazon Nova, or that to the AI SDK.
 */
export type AnswerForm =
  | 'openai'
  | 'gemini-one'
  | 'gemini-batch'
  | 'vertex'
  | 'ollama'
  | 'ollama-one'
  | 'cohere'
  | 'cohere-floats'
  | 'titan'
  | 'nova'
  | 'ai-sdk';

/** A checked request for embeddings, between the callers' formats and the upstreams'. */
export interface EmbeddingRequest {
  /** The alias as the caller wrote it. */
  model: string;
  inputs: EmbeddingInputs;
  /** Field of the first empty text, which only services of OpenAI's format may judge; absent: there is none. */
  emptyAt?: string;
  /** Length of vector asked for; null = the model's own. */
  dimensions: number | null;
  /** Purpose of the inputs: an `InputType`, or a vendor's own word; null = left open. */
  inputType: string | null;
  /** The same as callers of OpenAI's format wrote it; null: they did not. */
  inputTypeWord: string | null;
  /** Default input type for asymmetric models. */
  purpose: 'query' | 'document';
  encoding: VectorEncoding;
  /** Types in Cohere's answer, each once; absent: `encoding` alone. */
  types?: readonly VectorType[];
  /** The format that the caller wants the answer in. */
  answerForm: AnswerForm;
  /** End-user id for ledger and log. */
  user: string | null;
  /** Unknown members, for upstreams of OpenAI's format. */
  extra: JsonObject;
}

/** The words that all vendors have in some spelling; asymmetric models embed each otherwise. */
export type InputType = 'query' | 'document' | 'classification' | 'clustering' | 'similarity';

const spellings: Readonly<Record<InputType, readonly string[]>> = {
  query: ['query', 'search_query', 'retrieval.query', 'retrieval_query'],
  document: ['document', 'passage', 'search_document', 'retrieval.passage', 'retrieval_document'],
  classification: ['classification'],
  clustering: ['clustering', 'separation'],
  similarity: ['similarity', 'semantic_similarity', 'text-matching'],
};

const bySpelling = new Map(Object.entries(spellings).flatMap(([type, words]) => words.map((word) => [word, type])));

/** Whether it is a word that all vendors have in some spelling, and not one vendor's alone. */
export function isInputType(word: string): word is InputType {
  return Object.hasOwn(spellings, word);
}

/** Any vendor's spelling of an input type as the one word used here; unknown ones stay unchanged. */
export function inputTypeOf(word: string): string {
  return bySpelling.get(word.toLowerCase()) ?? word;
}

export function countOf(inputs: EmbeddingInputs): number {
  return inputs.kind === 'texts' ? inputs.texts.length : inputs.tokens.length;
}
