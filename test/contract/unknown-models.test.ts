import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { asked } from './served.ts';

const forFile = { after: after as TestContext['after'] };
const keyless = await startGateway(forFile);
const upstream = await startUpstream();
after(() => upstream.close());

const messages = [{ role: 'user', content: 'Hello' }];
const conversations = {
  'chat completions': { path: '/v1/chat/completions', json: { model: 'gpt-5', messages } },
  messages: { path: '/v1/messages', json: { model: 'claude-sonnet-4-5', messages, max_tokens: 99 } },
  responses: { path: '/v1/responses', json: { model: 'gpt-5-codex', input: 'Hello' } },
};

for (const [what, { path, json }] of Object.entries(conversations)) {
  for (const stream of [false, true]) {
    test(`without any provider ${what} for ${json.model} are answered${stream ? ' in a stream' : ''}, and labelled`, async () => {
      const response = await keyless.fetch(path, { json: { ...json, stream } });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      // Claude Code looks for the name that it asked for.
      const shown = what === 'messages' ? json.model : 'sim/chat';
      assert.match(text, new RegExp(`"model": ?"${shown}"`));
      assert.equal(response.headers.get('x-culvert-unknown-model'), json.model);
      assert.equal(response.headers.get('x-culvert-model'), 'sim/chat');
      assert.equal(response.headers.get('x-culvert-simulated'), 'true');
    });
  }
}

test('so are Gemini’s, whose model stands in the path, and tokens are counted', async () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  const answer = await keyless.fetch('/v1beta/models/gemini-3-pro:generateContent', { json: { contents } });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-culvert-unknown-model'), 'gemini-3-pro');
  const count = await keyless.fetch('/v1/messages/count_tokens', { json: { model: 'claude-haiku-4-5', messages } });
  assert.equal(count.status, 200, await count.text());
});

test('a name that cannot stand in a header is labelled all the same', async () => {
  const json = { model: 'gpt-\r\nx: ü', messages };
  const response = await keyless.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-culvert-unknown-model'), 'gpt-%0D%0Ax%3A%20%C3%BC');
  // In a path it may be longer than the label, whose end cuts a character in two here.
  const long = `/v1beta/models/${encodeURIComponent(`${'x'.repeat(255)}😀`)}:generateContent`;
  const answer = await keyless.fetch(long, { json: { contents: [{ parts: [{ text: 'Hello' }] }] } });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-culvert-unknown-model'), `${'x'.repeat(255)}%EF%BF%BD`);
});

test('a model that is there has no such label', async () => {
  const response = await keyless.fetch('/v1/chat/completions', { json: { model: 'sim/chat', messages } });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-culvert-unknown-model'), null);
});

test('nothing but a conversation is answered by another model, and a look-up tells what is there', async () => {
  for (const [path, json] of [
    ['/v1/embeddings', { model: 'text-embedding-3-small', input: 'Hello' }],
    ['/v1/images/generations', { model: 'dall-e-9', prompt: 'a culvert' }],
    ['/v1/audio/speech', { model: 'gpt-voice', voice: 'alloy', input: 'Hello' }],
    ['/v1/models/gpt-5', undefined],
  ] as const) {
    const response = await keyless.fetch(path, json === undefined ? {} : { json });
    assert.equal(response.status, 404, `${path}: ${await response.text()}`);
  }
});

const keysFor = (models: readonly string[]) => ({ keys: [{ key: testKey, account: 'dev', name: 'test', models }] });
const ask = async (gateway: TestGateway) => {
  await gateway.modelsKnown;
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'gpt-5', messages } });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
};

test('a key that may use no model that chats gets 404, as it does for the model itself 403', async (t) => {
  const gateway = await startGateway(t, keysFor(['sim/embedding']));
  assert.equal((await ask(gateway)).status, 404);
  const named = await gateway.fetch('/v1/chat/completions', { json: { model: 'sim/chat', messages } });
  assert.equal(named.status, 403, await named.text());
});

test('with a provider the default is 404, which lists the models; `nearest` takes the first that the key may use', async (t) => {
  const world = { ...overUpstreams(upstream.url), ...keysFor(['second', 'third']) };
  const targets = { targets: ['up1/mock/ok'] };
  const models = { first: targets, vectors: { ...targets, type: 'embedding' }, second: targets, third: targets };
  const strict = await ask(await startGateway(t, { ...world, models }));
  assert.deepEqual([strict.status, /Allowed models: second, third\./.test(strict.text)], [404, true], strict.text);
  const gateway = await startGateway(t, { ...world, models, server: { unknown_models: 'nearest' } });
  const before = asked(upstream).length;
  const { status, text, headers } = await ask(gateway);
  assert.deepEqual([status, headers.get('x-culvert-unknown-model')], [200, 'gpt-5'], text);
  const told = await gateway.fetch(`/v1/requests/${headers.get('x-culvert-request-id')}`);
  const record = (await told.json()) as { model: string };
  assert.equal(record.model, 'second', 'it is charged as what answered');
  assert.equal(asked(upstream).length, before + 1);
});

test('`refuse` makes a start without any provider strict', async (t) => {
  const strict = await startGateway(t, { server: { unknown_models: 'refuse' } });
  assert.equal((await ask(strict)).status, 404);
});

test('the guards of the model that answers for an unknown one read its requests', async (t) => {
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    guards: { strict: { check: 'words', words: ['hello'], action: 'block' } },
    models: { only: { targets: ['up1/mock/ok'], guards: ['strict'] } },
    server: { unknown_models: 'nearest' },
  });
  const before = asked(upstream).length;
  const { status, text } = await ask(gateway);
  assert.equal(status, 400, text);
  assert.match(text, /strict/);
  assert.equal(asked(upstream).length, before);
});
