import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startModel } from './start-model.ts';

/* A key whose name has what names of people and teams have, declared in the file, from its requests to its data. */

const upstream = await startModel(after);
const key = 'sk-cv-test-key-0003';
const name = 'Zoë/Büro 1 東京';
const collection = `dev/${name}/examples`;
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key, account: 'dev', name },
  ],
  guards: { examples: { check: 'topics', collection, threshold: 0.3, deadline: '20s', action: 'block' } },
  models: {
    embed: { type: 'embedding', targets: ['culvert/culvert-lexical-1024'] },
    chat: { targets: ['openai/m'], guards: ['examples'] },
    free: { targets: ['openai/m'] },
  },
});
const headers = { authorization: `Bearer ${key}` };
const ask = (model: string, content: string, more = headers) =>
  gateway.fetch('/v1/chat/completions', { headers: more, json: { model, messages: [{ role: 'user', content }] } });

test('a declared key with letters of any language, spaces and slashes in its name asks, and has records', async () => {
  upstream.says = () => 'Paris.';
  assert.equal((await ask('free', 'What is the capital of France?')).status, 200);
  const admin = { authorization: `Bearer ${adminKey}` };
  const listed = await gateway.fetch(`/admin/v1/keys?text=${encodeURIComponent('büro')}`, { headers: admin });
  const [found] = ((await listed.json()) as { data: { id: string; name: string }[] }).data;
  assert.equal(found?.name, name);
  const shown = await gateway.fetch(`/admin/v1/keys/${encodeURIComponent(found.id)}`, { headers: admin });
  assert.equal(((await shown.json()) as { name: string }).name, name);
  const made = await gateway.fetch('/v1/ephemeral-keys', { headers, json: { expires_after: { seconds: 60 } } });
  assert.ok(made.status < 500, await made.text());
});

test('a guard finds its collection, whatever slashes the name of the key has', async () => {
  const collections = '/v1/vectors/collections';
  const made = await gateway.fetch(collections, { headers, json: { name: 'examples', embedding_model: 'embed' } });
  assert.equal(made.status, 200, await made.text());
  const points = ['Which dose of this medicine may I take?', 'Does this medicine have side effects?'].map(
    (text, at) => ({
      id: at + 1,
      payload: { text, topic: 'medicine' },
    }),
  );
  const put = await gateway.fetch(`${collections}/examples/points?wait=true`, {
    method: 'PUT',
    headers,
    json: { points },
  });
  assert.equal(put.status, 200, await put.text());
  const owner = { authorization: `Bearer ${testKey}` };
  const blocked = await ask('chat', 'Which dose of this medicine should I take?', owner);
  assert.equal(blocked.status, 400, await blocked.text());
  assert.equal((await ask('chat', 'What is the capital of France?', owner)).status, 200);
});
