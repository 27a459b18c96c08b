import assert from 'node:assert/strict';
import { test } from 'node:test';
import { embeddingFacts, embeddingRank, type Gives, givesDimensions } from './embedding-models.ts';

const ofContractSize: readonly (readonly [model: string, gives: Gives])[] = [
  ['text-embedding-3-small', 'reduced'],
  ['text-embedding-3-large', 'reduced'],
  ['text-embedding-ada-002', 'never'],
  ['models/gemini-embedding-001', 'reduced'],
  ['mistral-embed', 'natively'],
  ['embed-v4.0', 'reduced'],
  ['embed-multilingual-v3.0', 'natively'],
  ['embed-english-light-v3.0', 'never'],
  ['jina-embeddings-v3', 'natively'],
  ['jina-embeddings-v2-base-de', 'never'],
  ['voyage-3.5-lite', 'natively'],
  ['voyage-3-lite', 'never'],
  ['nvidia/nv-embedqa-e5-v5', 'natively'],
  ['nvidia/llama-3.2-nv-embedqa-1b-v2', 'reduced'],
  ['BAAI/bge-m3', 'natively'],
  ['bge-m3:latest', 'natively'],
  ['BAAI/bge-base-en-v1.5', 'never'],
  ['Qwen/Qwen3-Embedding-0.6B', 'natively'],
  ['qwen3-embedding:8b', 'reduced'],
  ['nomic-embed-text:v1.5', 'never'],
  ['intfloat/multilingual-e5-large-instruct', 'natively'],
  ['my-own-embedding', 'unknown'],
];
for (const [model, gives] of ofContractSize) {
  test(`vectors of 1,024 numbers from ${model}: ${gives}`, () => assert.equal(givesDimensions(model, 1_024), gives));
}

test('a size that is neither the own one nor on the list is never given', () => {
  assert.equal(givesDimensions('voyage-3.5', 300), 'never');
  assert.equal(givesDimensions('gemini-embedding-001', 64), 'never');
  assert.equal(givesDimensions('text-embedding-3-small', 3_072), 'never');
  assert.equal(givesDimensions('text-embedding-3-small', 1), 'reduced');
});

test('what nobody documents is unknown, and ranks behind what is; models for code come last', () => {
  assert.equal(embeddingFacts('my-own-embedding'), null);
  const models = ['codestral-embed', 'my-own-embedding', 'mistral-embed', 'text-embedding-3-small'];
  assert.deepEqual(
    models.toSorted((one, other) => embeddingRank(one) - embeddingRank(other)),
    ['text-embedding-3-small', 'mistral-embed', 'my-own-embedding', 'codestral-embed'],
  );
});
