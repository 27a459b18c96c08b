import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatPath, hello, serve } from './served.ts';

const { gateway } = await serve({
  models: {
    emb: { type: 'embedding', targets: ['up1/emb'] },
    odd: { type: 'embedding', listed_as: 'chat', targets: ['up1/emb'] },
    'talks-too': { type: 'embedding', listed_as: 'embedding', targets: ['up1/mock/ok'] },
  },
});
const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string; model_type: string }[] };
const typeOf = (id: string) => data.find((entry) => entry.id === id)?.model_type;

test('§2.6 "Each entry has an id and a `model_type`"', () => {
  assert.ok(data.length >= 4);
  for (const entry of data) {
    assert.equal(typeof entry.id, 'string');
    assert.match(entry.model_type, /^(chat|embedding|speech|transcription|image|rerank)$/);
  }
});

test('§2.6 "Embedding models have `model_type` = `embedding`"', () => {
  assert.equal(typeOf('emb'), 'embedding');
});

test('§2.6 "Some embedding aliases show `model_type` = `chat` for historical routing reasons": listed_as', () => {
  assert.equal(typeOf('odd'), 'chat');
});

test('§2.6 the listed type never decides what an alias may be used for', async () => {
  const response = await gateway.fetch(chatPath, { json: { ...hello, model: 'talks-too' } });
  assert.equal(response.status, 200);
});
