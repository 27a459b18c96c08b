import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AzureOpenAI } from 'openai';
import { callAdmin } from '../call-admin.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a model whose name has spaces, as people write them, is called and listed in each format', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k', dialects: ['openai-chat'] } },
    models: { 'Local LLM (Qwen 3)': { targets: ['up/mock/ok'] } },
    plans: { some: { models: ['Local LLM (Qwen 3)'] } },
    default_plan: 'some',
  });
  const model = 'Local LLM (Qwen 3)';
  const messages = [{ role: 'user' as const, content: 'hello' }];
  for (const [path, json] of [
    ['/v1/chat/completions', { model, messages }],
    ['/v1/messages', { model, messages, max_tokens: 9 }],
    ['/v1/responses', { model, input: 'hello' }],
    ['/api/chat', { model, messages, stream: false }],
    [`/v1beta/models/${encodeURIComponent(model)}:generateContent`, { contents: [{ parts: [{ text: 'hello' }] }] }],
    [`/model/${encodeURIComponent(model)}/converse`, { messages: [{ role: 'user', content: [{ text: 'hello' }] }] }],
  ] as const) {
    const answer = await gateway.fetch(path, { json });
    assert.equal(answer.status, 200, `${path} ${await answer.text()}`);
  }
  const azure = new AzureOpenAI({ apiKey: gateway.key, endpoint: gateway.url, apiVersion: '2025-04-01-preview' });
  assert.ok((await azure.chat.completions.create({ model, messages })).choices.length > 0);
  const listed = await gateway.fetch(`/v1/models/${encodeURIComponent(model)}`);
  assert.equal(((await listed.json()) as { id: string }).id, model);
  const { status, body } = await callAdmin<{ name?: string }>(gateway, 'GET', `/models/${encodeURIComponent(model)}`);
  assert.equal(status, 200, JSON.stringify(body));
  const named = { id: 'Another One', targets: ['up/mock/ok'] };
  const made = await callAdmin(gateway, 'POST', '/models', named);
  assert.equal(made.status, 201, JSON.stringify(made.body));
});
