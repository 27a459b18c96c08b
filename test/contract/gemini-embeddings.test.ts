import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { assertNear, embedWorld } from './embed-world.ts';
import { asked } from './served.ts';

const { gateway, first } = await embedWorld(
  { after: after as TestContext['after'] },
  { models: { whole: { type: 'embedding', targets: ['one/mock/ok'] } } },
);
const ask = (path: string, json: unknown) => gateway.fetch(`/v1beta/models/${path}`, { json });
const content = (text: string) => ({ parts: [{ text }] });

test('§9 Gemini: embedContent answers `embedding.values`, whatever the body says of the model', async () => {
  const response = await ask('whole:embedContent', { model: 'models/other', content: content('alpha') });
  assert.equal(response.status, 200);
  const answer = (await response.json()) as { embedding: { values: number[] } };
  assertNear(answer.embedding.values, unitVector('alpha', 1_024));
  assert.equal(response.headers.get('x-culvert-cost'), '1');
});

test('§9 Gemini: batchEmbedContents answers one for each request, in order; its members may be in either spelling', async () => {
  first.clear();
  const response = await ask('whole:batchEmbedContents', {
    requests: ['alpha', 'beta'].map((text) => ({ content: content(text), output_dimensionality: 64 })),
  });
  assert.equal(response.status, 200);
  const { embeddings } = (await response.json()) as { embeddings: { values: number[] }[] };
  assert.equal(embeddings.length, 2);
  assertNear(embeddings[1]!.values, unitVector('beta', 64));
  assert.equal(asked(first).length, 1);
});

for (const [what, path, body, says] of [
  ['no content', 'whole:embedContent', {}, /'content'/],
  ['an empty text', 'whole:embedContent', { content: content('') }, /'content' is empty/],
  ['a picture', 'whole:embedContent', { content: { parts: [{ inlineData: {} }] } }, /content\.parts\[0\]/],
  ['no requests', 'whole:batchEmbedContents', { requests: [] }, /'requests'/],
  [
    'an empty text among requests',
    'whole:batchEmbedContents',
    { requests: [{ content: content('a') }, { content: content('') }] },
    /'requests\[1\]\.content' is empty/,
  ],
  [
    'requests that differ',
    'whole:batchEmbedContents',
    { requests: [{ content: content('a') }, { content: content('b'), outputDimensionality: 8 }] },
    /requests\[1\]\.outputDimensionality/,
  ],
  [
    'a size that is none',
    'whole:embedContent',
    { content: content('a'), outputDimensionality: 0 },
    /outputDimensionality/,
  ],
] as const) {
  test(`§9 Gemini: an embedding of ${what} is refused in Google’s words, naming the field`, async () => {
    const response = await ask(path, body);
    const { error } = (await response.json()) as { error: { code: number; status: string; message: string } };
    assert.equal(response.status, 400);
    assert.equal(error.status, 'INVALID_ARGUMENT');
    assert.match(error.message, says);
  });
}

test('§9 Gemini: an unknown model is 404 in Google’s words', async () => {
  const response = await ask('nothing:embedContent', { content: content('a') });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { status: string } };
  assert.equal(error.status, 'NOT_FOUND');
});
