import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { answerKept } from '../start-gateway.ts';
import { openThreeProviders } from './three-providers.ts';

/** A server of OpenAI's format that gives no `system_fingerprint`, as many do not. */
const plain = await listening(
  { after: after as TestContext['after'] },
  createServer((request, response) => {
    request.resume();
    const message = { role: 'assistant', content: 'Hi', refusal: null };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'chatcmpl-plain', object: 'chat.completion', created: 1, model: 'm', choices }));
  }),
);
const { gateway } = await openThreeProviders(
  { plain: { targets: ['plain/m'] }, kept: { targets: ['plain/m'], cache: { ttl: '1h' } } },
  () => ({
    plain: { type: 'openai', base_url: plain, api_key: 'p', dialects: ['openai-chat'] },
  }),
);

/** Headers of OpenRouter's SDKs for TypeScript and Python. */
const agents = [
  'speakeasy-sdk/typescript 1.3.19 2.914.0 1.0.0 @openrouter/sdk',
  'speakeasy-sdk/python 1.3.84 2.914.0 1.0.0 openrouter',
];

const words = [{ role: 'user', content: 'Hello' }];
const bodies: readonly (readonly [string, (model: string) => object])[] = [
  ['/v1/responses', (model) => ({ model, input: 'Hello' })],
  ['/v1/chat/completions', (model) => ({ model, messages: words })],
  ['/v1/embeddings', (model) => ({ model, input: 'Hello' })],
];

for (const [path, bodyOf] of bodies) {
  test(`OpenRouter's SDKs read a number alone in the code of an error: ${path}`, async () => {
    for (const agent of agents) {
      for (const [model, status] of [
        ['nobody-knows-it', 404],
        ['mock/status=400;code=context_length_exceeded', 400],
        ['mock/status=400;code=odd_word', 400],
      ] as const) {
        const answer = await gateway.fetch(path, { json: bodyOf(model), headers: { 'user-agent': agent } });
        const { error } = (await answer.json()) as { error: { code: unknown; message: string } };
        assert.deepEqual([answer.status, error.code, typeof error.message], [status, status, 'string'], model);
      }
      const headers = { 'user-agent': agent, authorization: 'Bearer sk-cv-nobody', 'content-type': 'application/json' };
      const body = JSON.stringify(bodyOf('chat'));
      const wrong = await fetch(gateway.url + path, { method: 'POST', headers, body });
      assert.equal(((await wrong.json()) as { error: { code: unknown } }).error.code, 401);
    }
  });
}

test("the error of a broken stream is a chunk for OpenRouter's SDKs, which read nothing else", async () => {
  const json = { model: 'mock/cut=900', stream: true, messages: words };
  const lastOf = async (agent: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    return JSON.parse((await answer.text()).trimEnd().split('\n\n').at(-1)!.slice('data: '.length));
  };
  for (const agent of agents) {
    const { id, object, created, model, choices, error } = await lastOf(agent);
    assert.deepEqual([typeof id, object, typeof created, model], ['string', 'chat.completion.chunk', 'number', '']);
    assert.deepEqual(choices, [{ index: 0, delta: { content: '' }, finish_reason: 'error' }]);
    assert.equal(error.code, 502);
    assert.match(error.message, /premature end/);
  }
  // The AI SDK's provider reads a frame as a chunk first, and would lose its error.
  for (const agent of ['ai-sdk/openrouter/2.1.0', 'OpenAI/JS 7.55.0'])
    assert.deepEqual(Object.keys(await lastOf(agent)), ['error']);
});

test("a whole answer has the fingerprint that OpenRouter's SDKs demand, whatever the provider gives", async () => {
  const answerTo = async (agent: string) => {
    const json = { model: 'plain', messages: words };
    const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    return (await answer.json()) as { system_fingerprint?: unknown; choices: { message: { content: string } }[] };
  };
  for (const agent of agents) {
    const { system_fingerprint: print, choices } = await answerTo(agent);
    assert.deepEqual([print, choices[0]!.message.content], ['', 'Hi']);
  }
  assert.equal((await answerTo('OpenAI/JS 7.55.0')).system_fingerprint, undefined);
});

test("a kept answer that another client asked for has the fingerprint for OpenRouter's SDKs, too", async () => {
  const answerTo = async (agent: string) => {
    const json = { model: 'kept', messages: words };
    const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    const { system_fingerprint: print } = (await answer.json()) as { system_fingerprint?: unknown };
    return [answer.headers.get('x-culvert-cache')?.split(';')[0], print];
  };
  const sinceMs = Date.now();
  assert.deepEqual(await answerTo('OpenAI/JS 7.55.0'), ['miss', undefined]);
  await answerKept(gateway, sinceMs);
  for (const agent of agents) assert.deepEqual(await answerTo(agent), ['hit', '']);
  assert.deepEqual(await answerTo('OpenAI/JS 7.55.0'), ['hit', undefined]);
});
