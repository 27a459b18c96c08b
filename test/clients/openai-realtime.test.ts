import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

const upstream = await startRealtime({ after });
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: { voice: { targets: [{ provider: 'up', model: 'gpt-realtime' }] } },
  },
);

/** The SDK knows `wss:` alone: what it sends inside is the same without TLS. */
function open(to: TestGateway, model = 'voice', apiKey = testKey): OpenAIRealtimeWS {
  const { hostname, port } = new URL(to.url);
  const createConnection = () => connect(Number(port), hostname);
  const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey });
  return new OpenAIRealtimeWS({ model, options: { createConnection } as never }, client);
}

test('the OpenAI SDK talks to a model: session, text, sound and usage, under the model name of the provider', async () => {
  const opening = upstream.next();
  const realtime = open(gateway);
  let text = '';
  realtime.on('response.output_text.delta', ({ delta }) => {
    text += delta;
  });
  const sound = new Promise<string>((resolve) =>
    realtime.on('response.output_audio.delta', ({ delta }) => resolve(delta)),
  );
  const updated = new Promise<void>((resolve) => realtime.on('session.updated', () => resolve()));
  const done = new Promise<{ response: { status?: string; usage?: { total_tokens?: number } } }>((resolve, reject) => {
    realtime.on('response.done', resolve as never);
    realtime.on('error', reject);
  });
  realtime.on('session.created', () => {
    realtime.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } });
    realtime.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    });
    realtime.send({ type: 'response.create' });
  });
  const { response } = await done;
  await updated;
  assert.equal(text, 'Hello.');
  assert.equal(Buffer.from(await sound, 'base64').length, 480);
  assert.equal(response.status, 'completed');
  assert.equal(response.usage?.total_tokens, 253);
  const session = await opening;
  assert.equal(session.path, '/v1/realtime?model=gpt-realtime');
  assert.equal(session.headers.authorization, 'Bearer upstream-secret-1');
  assert.ok(!JSON.stringify(session.headers).includes(testKey));
  realtime.close();
  assert.equal(await session.closed, 1000);
});

test('the OpenAI SDK gets the words of a refusal: a wrong key, and a model that is not there', async () => {
  for (const [model, key, words] of [
    ['voice', 'sk-cv-wrong', /401/],
    ['nobody', testKey, /404/],
  ] as const) {
    const realtime = open(gateway, model, key);
    const error = await new Promise<Error>((resolve) => realtime.on('error', resolve));
    assert.match(error.message, words);
  }
});
