import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { assertBalanced, assertPublished } from '../conversion/responses-frames.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/* `capabilities.streaming: false`: a chat model that is asked whole, and whose callers stream nevertheless. */

async function open(t: TestContext, where: 'model' | 'target'): Promise<{ gateway: TestGateway; upstream: Upstream }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const capabilities = { streaming: false };
  const base_url = `${upstream.url}/v1`;
  const model = (provider: string) =>
    where === 'model'
      ? { capabilities, targets: [{ provider, model: 'mock/ok' }] }
      : { targets: [{ provider, model: 'mock/ok', capabilities }] };
  const gateway = await startGateway(t, {
    providers: {
      openai: { type: 'openai', base_url, api_key: 'k', dialects: ['openai-chat', 'openai-responses'] },
      claude: { type: 'anthropic', base_url, api_key: 'k' },
      gemini: { type: 'gemini', base_url: `${upstream.url}/v1beta`, api_key: 'k' },
    },
    models: {
      gpt: model('openai'),
      claude: model('claude'),
      gemini: model('gemini'),
      streams: { targets: [{ provider: 'openai', model: 'mock/ok' }] },
    },
  });
  return { gateway, upstream };
}

const sentBy = (upstream: Upstream) => upstream.requests().filter(({ method }) => method === 'POST');

const messages = [{ role: 'user', content: 'Hello there' }];

/** Every format's stream, with the words that end it. */
const callers: readonly [path: string, body: JsonObject, end: RegExp][] = [
  [
    '/v1/chat/completions',
    { messages, stream: true, stream_options: { include_usage: true } },
    /"usage":\{.*"total_tokens":[1-9].*\ndata: \[DONE\]\n\n$/s,
  ],
  ['/v1/messages', { messages, max_tokens: 64, stream: true }, /event: message_stop\n.*\n\n$/],
  ['/v1/responses', { input: 'Hello there', stream: true }, /event: response\.completed\n.*\n\n$/],
];

for (const where of ['model', 'target'] as const) {
  test(`a model that cannot stream (told of the ${where}) is asked whole in every format, and its caller's stream is whole too`, async (t) => {
    const { gateway, upstream } = await open(t, where);
    for (const model of ['gpt', 'claude', 'gemini']) {
      for (const [path, body, end] of callers) {
        upstream.clear();
        const answer = await gateway.fetch(path, { json: { ...body, model } });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.match(answer.headers.get('content-type')!, /^text\/event-stream/);
        assert.match(text, end, `${path} ${model}`);
        const [sent, ...more] = sentBy(upstream);
        assert.deepEqual(more, []);
        assert.notEqual((sent!.body as JsonObject).stream, true, `${path} ${model}`);
        assert.equal((sent!.body as JsonObject).stream_options, undefined);
        assert.doesNotMatch(sent!.path, /stream/);
        assert.equal(answer.headers.get('x-culvert-dropped'), null, `${path} ${model}`);
      }
    }
  });
}

test('a stream of Responses made from a whole answer is as OpenAI publishes it', async (t) => {
  const { gateway } = await open(t, 'model');
  const answer = await gateway.fetch('/v1/responses', { json: { model: 'gpt', input: 'Hi', stream: true } });
  const frames = await answer.text();
  assertPublished(frames);
  assertBalanced(frames, 'whole');
});

test('a Gemini caller’s stream is made from a whole answer, which Google is asked for by its path', async (t) => {
  const { gateway, upstream } = await open(t, 'model');
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const answer = await gateway.fetch('/v1beta/models/gemini:streamGenerateContent?alt=sse', { json: { contents } });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.match(text, /^data: \{.*"finishReason":"STOP"/s);
  const [sent] = sentBy(upstream);
  assert.match(sent!.path, /:generateContent$/);
  assert.deepEqual(sent!.body, { contents });
});

test('several choices are streamed of whole answers too, in one call or in one each', async (t) => {
  const { gateway, upstream } = await open(t, 'model');
  for (const [model, calls] of [
    ['gpt', 1],
    ['claude', 2],
  ] as const) {
    upstream.clear();
    const json = { model, messages, n: 2, stream: true };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.match(text, /data: \[DONE\]\n\n$/);
    for (const index of [0, 1]) assert.match(text, new RegExp(`"index":${index},.*"finish_reason":"stop"`), model);
    const sent = sentBy(upstream);
    assert.equal(sent.length, calls, model);
    for (const { body } of sent) assert.notEqual((body as JsonObject).stream, true);
  }
});

test('completions are forwarded as they come, so a stream of a model that cannot is 400, and a whole answer is not', async (t) => {
  const { gateway, upstream } = await open(t, 'target');
  const json = { model: 'gpt', prompt: 'Hi' };
  const refused = await gateway.fetch('/v1/completions', { json: { ...json, stream: true } });
  const { error } = (await refused.json()) as { error: JsonObject };
  assert.deepEqual([refused.status, error.param], [400, 'stream']);
  assert.match(error.message as string, /'gpt' cannot stream answers of \/v1\/completions\. Leave 'stream' out\./);
  assert.deepEqual(sentBy(upstream), []);
  assert.equal((await gateway.fetch('/v1/completions', { json })).status, 200);
});

test('what the model streams not, the list of models says', async (t) => {
  const { gateway } = await open(t, 'target');
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: JsonObject[] };
  const streaming = Object.fromEntries(
    data.map(({ id, capabilities }) => [id, (capabilities as JsonObject).streaming]),
  );
  assert.deepEqual([streaming.gpt, streaming.claude, streaming.streams], [false, false, true]);
});
