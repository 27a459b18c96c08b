import assert from 'node:assert/strict';
import { test } from 'node:test';
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
