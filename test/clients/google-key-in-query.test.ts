import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, testKey } from '../start-gateway.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's REST API takes the key as `?key=`, as its older examples and rig for Rust send it. */

const { gateway, upstream } = await openThreeProviders();
const hello = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };

async function ask(path: string, { json, headers = {} }: { json?: object; headers?: Record<string, string> } = {}) {
  const answer = await fetch(gateway.url + path, {
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
    headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
  });
  return { status: answer.status, text: await answer.text() };
}

test('a key in the query opens the paths of Google’s API, and goes no further', async () => {
  upstream.clear();
  for (const model of Object.keys(models)) {
    const whole = await ask(`/v1beta/models/${model}:generateContent?key=${testKey}`, { json: hello });
    assert.equal(whole.status, 200, whole.text);
    assert.match(whole.text, /Mock answer to: Hello/);
    const stream = await ask(`/v1beta/models/${model}:streamGenerateContent?alt=sse&key=${testKey}`, { json: hello });
    assert.match(stream.text, /^data: \{.*"finishReason":"STOP"/s);
    const counted = await ask(`/v1/models/${model}:countTokens?key=${testKey}`, { json: hello });
    assert.match(counted.text, /"totalTokens"/);
  }
  assert.match((await ask(`/v1beta/models?pageSize=2&key=${testKey}`)).text, /"models"/);
  assert.equal((await ask(`/v1beta/files?key=${testKey}`)).status, 200);
  assert.ok(!JSON.stringify(upstream.requests()).includes('test-key'));
});

test('a key in the query is one key among those of headers', async () => {
  const path = (key: string) => `/v1beta/models/chat:generateContent?key=${key}`;
  const statusOf = async (key: string, headers: Record<string, string>) =>
    (await ask(path(key), { json: hello, headers })).status;
  assert.equal(await statusOf('sk-cv-nobody', {}), 401);
  assert.equal(await statusOf('', {}), 401);
  assert.equal(await statusOf(otherKey, { authorization: `Bearer ${testKey}` }), 401);
  assert.equal(await statusOf('AIza-stray', { authorization: `Bearer ${testKey}` }), 200);
  assert.equal(await statusOf('AIza-stray', { 'x-goog-api-key': testKey }), 200);
});

test('no other path takes a key in the query', async () => {
  for (const [path, json] of [
    ['/v1/chat/completions', { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }],
    ['/v1/messages', { model: 'chat', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] }],
    ['/v1/models', undefined],
    ['/v1/usage', undefined],
  ] as const)
    assert.equal((await ask(`${path}?key=${testKey}`, json === undefined ? {} : { json })).status, 401, path);
});
