import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreeProviders } from './three-providers.ts';

const { gateway } = await openThreeProviders();

/** Headers of Voyage's SDK for Python, and of LangChain's, LlamaIndex's and Haystack's classes for Jina: their HTTP libraries'. */
const agents = ['python-requests/2.32.5', 'Python/3.11 aiohttp/3.13.2'];

for (const path of ['/v1/embeddings', '/v1/rerank']) {
  test(`Voyage's and Jina's clients find the words of an error in its detail: ${path}`, async () => {
    for (const agent of agents) {
      for (const [model, key, status] of [
        ['nobody-knows-it', gateway.key, 404],
        ['mock/status=429', gateway.key, 429],
        ['mock/ok', 'sk-cv-nobody', 401],
      ] as const) {
        const answer = await fetch(gateway.url + path, {
          method: 'POST',
          headers: { 'user-agent': agent, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, input: ['a'], query: 'a', documents: ['a'] }),
        });
        const { error, detail } = (await answer.json()) as { error: { message: string }; detail: string };
        assert.deepEqual([answer.status, detail], [status, error.message], model);
      }
    }
  });
}

test('errors of other clients have no detail', async () => {
  const json = { model: 'nobody-knows-it', input: 'a' };
  const answer = await gateway.fetch('/v1/embeddings', { json, headers: { 'user-agent': 'OpenAI/Python 2.54.0' } });
  assert.deepEqual(Object.keys((await answer.json()) as object), ['error']);
});
