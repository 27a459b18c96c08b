import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from '@google/genai';
import { otherKey } from '../start-gateway.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's `caches` by its own SDK: beginnings kept here, and used over a provider of each dialect. */

const { upstream, gateway } = await openThreeProviders();
const options = { httpOptions: { baseUrl: gateway.url } };
const google = new GoogleGenAI({ apiKey: gateway.key, ...options });
const beta = new GoogleGenAI({ apiKey: gateway.key, apiVersion: 'v1beta', ...options });
const stranger = new GoogleGenAI({ apiKey: otherKey, ...options });
const sent = () => JSON.stringify(upstream.requests().findLast(({ method }) => method === 'POST')!.body);
const hasStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};
const contents = [
  { role: 'user', parts: [{ text: 'Here is the handbook of pandas.' }] },
  { role: 'model', parts: [{ text: 'I have read it.' }] },
];
const config = { contents, systemInstruction: 'You know the handbook.', displayName: 'handbook', ttl: '600s' };

for (const client of [google, beta]) {
  test(`a cache is made, found, listed, renewed and deleted (${client === google ? 'v1' : 'v1beta'})`, async () => {
    const cache = await client.caches.create({ model: 'chat', config });
    assert.match(cache.name!, /^cachedContents\/[0-9a-z]{25}$/);
    assert.deepEqual([cache.model, cache.displayName], ['models/chat', 'handbook']);
    assert.ok(cache.usageMetadata!.totalTokenCount! > 5);
    const endsIn = Date.parse(cache.expireTime!) - Date.parse(cache.createTime!);
    assert.ok(Math.abs(endsIn - 600_000) < 1_000);
    const found = await client.caches.get({ name: cache.name! });
    assert.deepEqual([found.name, found.expireTime], [cache.name, cache.expireTime]);
    const renewed = await client.caches.update({ name: cache.name!, config: { ttl: '7200s' } });
    assert.ok(Date.parse(renewed.expireTime!) > Date.parse(cache.expireTime!) + 3_600_000);
    const expireTime = new Date(Date.now() + 86_400_000).toISOString();
    assert.equal((await client.caches.update({ name: cache.name!, config: { expireTime } })).expireTime, expireTime);
    assert.equal((await client.caches.get({ name: cache.name! })).expireTime, expireTime);
    const names: string[] = [];
    for await (const one of await client.caches.list({ config: { pageSize: 1 } })) names.push(one.name!);
    assert.deepEqual(names, [cache.name]);
    await client.caches.delete({ name: cache.name! });
    await assert.rejects(client.caches.get({ name: cache.name! }), hasStatus(404, /There is no cache.*NOT_FOUND/s));
  });
}

for (const model of Object.keys(models)) {
  test(`${model}: a request goes on behind what its cache keeps`, async () => {
    const { name } = await google.caches.create({ model, config });
    const request = { model, contents: 'How tall are they?', config: { cachedContent: name! } };
    const answer = await google.models.generateContent(request);
    assert.ok(answer.text);
    const body = sent();
    const [system, question] = [body.indexOf('You know the handbook.'), body.indexOf('How tall are they?')];
    const [first, second] = [body.indexOf('handbook of pandas'), body.indexOf('I have read it.')];
    assert.ok(system >= 0 && first >= 0 && first < second && second < question, body);
    assert.ok(!body.includes('cachedContent'));
    let text = '';
    for await (const chunk of await google.models.generateContentStream(request)) text += chunk.text ?? '';
    assert.equal(text, answer.text);
    // It makes the prompt as long as if it had been sent whole.
    const alone = await google.models.generateContent({ model, contents: 'How tall are they?' });
    assert.ok(answer.usageMetadata!.promptTokenCount! > alone.usageMetadata!.promptTokenCount!);
    const counted = await gateway.fetch(`/v1beta/models/${model}:countTokens`, {
      json: { contents: [{ parts: [{ text: 'How tall are they?' }] }], cachedContent: name },
    });
    assert.ok(((await counted.json()) as { totalTokens: number }).totalTokens > 10);
  });

  test(`${model}: tools of a cache are offered`, async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: schema }] }];
    const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } };
    const { name } = await google.caches.create({ model, config: { contents, tools, toolConfig } });
    const answer = await google.models.generateContent({
      model,
      contents: 'call get_weather',
      config: { cachedContent: name!, maxOutputTokens: 4_000 },
    });
    assert.equal(answer.functionCalls?.[0]?.name, 'get_weather');
    assert.ok(sent().includes('get_weather'));
  });
}

test('files that a cache names go along', async () => {
  const file = new Blob(['# Bamboo'], { type: 'text/markdown' });
  const { uri, mimeType } = await google.files.upload({ file, config: { mimeType: 'text/markdown' } });
  const parts = [{ fileData: { fileUri: uri!, mimeType: mimeType! } }];
  const { name } = await google.caches.create({ model: 'chat', config: { contents: [{ role: 'user', parts }] } });
  await google.models.generateContent({ model: 'claude', contents: 'What?', config: { cachedContent: name! } });
  assert.ok(sent().includes('# Bamboo'));
});

test('another key’s cache is unknown', async () => {
  const { name } = await google.caches.create({ model: 'chat', config });
  const request = { model: 'chat', contents: 'x', config: { cachedContent: name! } };
  await assert.rejects(stranger.models.generateContent(request), hasStatus(404, /There is no cache/));
  await assert.rejects(stranger.caches.get({ name: name! }), hasStatus(404, /There is no cache/));
  await assert.rejects(stranger.caches.update({ name: name!, config: { ttl: '9s' } }), hasStatus(404, /no cache/));
  await assert.rejects(stranger.caches.delete({ name: name! }), hasStatus(404, /no cache/));
  assert.equal((await stranger.caches.list()).page.length, 0);
  // A file is no cache, and a cache no file.
  await assert.rejects(google.files.get({ name: name!.replace('cachedContents', 'files') }), hasStatus(404, /no file/));
});

test('a request that repeats what its cache keeps is refused', async () => {
  const { name } = await google.caches.create({ model: 'chat', config });
  const again = { cachedContent: name!, systemInstruction: 'Be brief.' };
  const asked = google.models.generateContent({ model: 'chat', contents: 'x', config: again });
  await assert.rejects(asked, hasStatus(400, /'cachedContent' cannot have 'systemInstruction'/));
});

test('bad caches are refused, naming the field', async () => {
  const base = { model: 'models/chat', contents };
  for (const [json, status, field] of [
    [{ ...base, model: 1 }, 400, /'model'/],
    [{ ...base, model: 'models/nope' }, 404, /nope/],
    [{ ...base, ttl: '-1s' }, 400, /'ttl'/],
    [{ ...base, ttl: '99999999s' }, 400, /'ttl'/],
    [{ ...base, ttl: 300 }, 400, /'ttl'/],
    [{ ...base, expireTime: '2001-01-01T00:00:00Z' }, 400, /'expireTime'/],
    [{ model: 'chat' }, 400, /'contents'/],
    [{ ...base, contents: [{ parts: [{ text: 5 }] }] }, 400, /contents\[0\]\.parts\[0\]\.text/],
    [{ ...base, contents: 'x' }, 400, /'contents'/],
  ] as const) {
    const response = await gateway.fetch('/v1beta/cachedContents', { json });
    const text = await response.text();
    assert.equal(response.status, status, text);
    assert.match(text, field);
  }
  const { name } = await google.caches.create({ model: 'chat', config });
  const renewed = await gateway.fetch(`/v1beta/${name}`, {
    method: 'PATCH',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(renewed.status, 400);
});

test('a cache that is over is unknown', async () => {
  const { name } = await google.caches.create({ model: 'chat', config: { contents, ttl: '0.001s' } });
  // The answer may be here within that millisecond.
  await pause(10);
  await assert.rejects(google.caches.get({ name: name! }), hasStatus(404, /no cache/));
});
