import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { openThreeProviders } from './three-providers.ts';

const { gateway } = await openThreeProviders();

const json = { model: 'mock/error=1', stream: true, messages: [{ role: 'user', content: 'Hello' }] };

/** The last frame of a stream that breaks. */
async function lastFrame(agent: string): Promise<string> {
  const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
  return (await answer.text()).trimEnd().split('\n\n').at(-1)!;
}

test("Perplexity's and SambaNova's SDKs find the error of a broken stream by the name of its event", async () => {
  for (const agent of ['Perplexity/Python 0.46.1', 'AsyncPerplexity/Python 0.46.1', 'SambaNova/Python 1.13.0'])
    assert.match(await lastFrame(agent), /^event: error\ndata: \{"error":\{"message":".*premature end/);
  assert.match(await lastFrame('OpenAI/JS 7.55.0'), /^data: \{"error":\{"message":/);
});

test("LangChain's class for NVIDIA finds the error of a broken stream by its member 'object'", async () => {
  const frame = await lastFrame('langchain-nvidia-ai-endpoints');
  assert.match(frame, /^data: \{"error":\{"object":"error","message":".*premature end/);
});

/** The body of an error before any answer. */
async function refusal(agent: string, { path = 'chat/completions', model = 'nobody' } = {}): Promise<JsonObject> {
  const of = path === 'responses' ? { input: 'Hello' } : { messages: json.messages };
  const headers = { 'user-agent': agent };
  return (await gateway.fetch(`/v1/${path}`, { json: { model, ...of }, headers })).json() as Promise<JsonObject>;
}

const wholeAgent = 'ai/7.0.173 ai-sdk-provider-utils/5.0.51 node.js/26';

test("the AI SDK's providers for Mistral and Cerebras find the message of an error beside it", async () => {
  for (const agent of [wholeAgent, 'ai-sdk-mistral/4.0.87', 'ai-sdk-cerebras/3.0.59', 'ai-sdk/cerebras/1.0']) {
    const { error, ...flat } = await refusal(agent);
    const { message, type } = error as JsonObject;
    assert.match(message as string, /^The model 'nobody' does not exist/);
    // Both demand a string in `code`; Cerebras's demands one in `param`, Mistral's the word in `object`.
    assert.deepEqual(flat, { object: 'error', message, type, param: 'model', code: '404' });
  }
  assert.deepEqual(Object.keys(await refusal('OpenAI/JS 7.55.0')), ['error']);
  // Beside it in a stream, Cerebras's would take it for a chunk, and break.
  const frame = await lastFrame('ai-sdk-cerebras/3.0.59');
  assert.deepEqual(Object.keys(JSON.parse(frame.slice('data: '.length))), ['error']);
});

test("the AI SDK's providers for Moonshot and Alibaba get no number in 'code', its others the status", async () => {
  for (const [agent, code] of [
    ['ai-sdk-moonshotai/3.0.60', null],
    ['ai-sdk-alibaba/2.0.58', null],
    // Perplexity's demands a number, and whole answers name no provider.
    ['ai-sdk/perplexity/4.0.49', 404],
    [wholeAgent, 404],
  ] as const)
    assert.equal(((await refusal(agent)).error as { code: unknown }).code, code);
});

test("the AI SDK's provider for Open Responses gets a text in 'param' of an error", async () => {
  for (const [agent, param] of [
    ['ai-sdk/open-responses/2.0.36', ''],
    [wholeAgent, ''],
    ['OpenAI/JS 7.55.0', null],
  ] as const) {
    const { error } = await refusal(agent, { path: 'responses', model: 'mock/status=400' });
    assert.equal((error as { param: unknown }).param, param);
  }
});
