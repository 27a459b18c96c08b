import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* OpenAI's newer models refuse tools in chat completions, and take them in responses. Callers need not know. */

const upstream = await startUpstream();
after(() => upstream.close());
const at = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      openai: { ...at, dialects: ['openai-chat', 'openai-responses'] },
      elsewhere: { ...at, dialects: ['openai-chat'] },
    },
    models: {
      new: { targets: ['openai/gpt-5.6'] },
      old: { targets: ['openai/gpt-5.1'] },
      'gpt-4o': { targets: ['openai/gpt-4o'] },
      elsewhere: { targets: ['elsewhere/gpt-5.6'] },
    },
  },
);
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
const anthropic = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null });

async function askedAt(call: Promise<unknown>): Promise<string[]> {
  upstream.clear();
  await call;
  return upstream.requests().flatMap(({ method, path }) => (method === 'POST' ? [path] : []));
}

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } };
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
const messages = [{ role: 'user' as const, content: 'Hello' }];
const chat = (model: string, more: object = {}) =>
  askedAt(openai.chat.completions.create({ model, messages, ...more }));
const byChat = ['/v1/chat/completions'];
const byResponses = ['/v1/responses'];

test('chats with tools go to responses where the model refuses them, streamed ones too', async () => {
  assert.deepEqual(await chat('new', { tools }), byResponses);
  assert.deepEqual(await chat('new', { tools, reasoning_effort: 'high' }), byResponses);
  const stream = openai.chat.completions.stream({ model: 'new', messages, tools });
  assert.deepEqual(await askedAt(stream.finalChatCompletion()), byResponses);
});

test("messages with tools do so too, such as Claude Code's", async () => {
  const weather = { name: 'weather', input_schema: parameters };
  const call = anthropic.messages.stream({ model: 'new', max_tokens: 64, messages, tools: [weather] }).finalMessage();
  assert.deepEqual(await askedAt(call), byResponses);
});

test('a stop text goes to responses where the model refuses it, and the answer ends before it', async () => {
  const stop = ['answer'];
  for (const model of ['new', 'old']) {
    assert.deepEqual(await chat(model, { stop }), byResponses);
    assert.deepEqual(await chat(model, { stop: [] }), byChat);
    assert.deepEqual(await chat(model, { stop: null }), byChat);
    const whole = await openai.chat.completions.create({ model, messages, stop });
    assert.deepEqual([whole.choices[0]!.message.content, whole.choices[0]!.finish_reason], ['Mock ', 'stop']);
  }
  assert.deepEqual(await chat('elsewhere', { stop }), byChat);
  assert.deepEqual(await chat('gpt-4o', { stop }), byChat);
  const streamed = openai.chat.completions.stream({ model: 'old', messages, stop: 'answer' });
  assert.equal((await streamed.finalChatCompletion()).choices[0]!.message.content, 'Mock ');
  const call = anthropic.messages.create({ model: 'old', max_tokens: 64, messages, stop_sequences: stop });
  assert.deepEqual(await askedAt(call), byResponses);
  assert.deepEqual([(await call).stop_reason, (await call).stop_sequence], ['stop_sequence', 'answer']);
  for (const [path, body] of otherCallers) {
    const response = await gateway.fetch(path, { json: body });
    assert.equal(response.status, 200, path);
    assert.match(await response.text(), /Mock (?!answer)/, path);
  }
});

/** Callers of further formats, each with a stop text. */
const otherCallers: [string, object][] = [
  [
    '/v1beta/models/old:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig: { stopSequences: ['answer'] } },
  ],
  [
    '/model/old/converse',
    { messages: [{ role: 'user', content: [{ text: 'Hello' }] }], inferenceConfig: { stopSequences: ['answer'] } },
  ],
];

test('chats without tools, other models and servers that have no responses are asked to chat', async () => {
  assert.deepEqual(await chat('new'), byChat);
  assert.deepEqual(await chat('old', { tools }), byChat);
  assert.deepEqual(await chat('elsewhere', { tools }), byChat);
});

test('what responses cannot say is asked of chat completions', async () => {
  assert.deepEqual(await chat('new', { tools, n: 2 }), byChat);
});
