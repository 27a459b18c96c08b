import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreeProviders } from './three-providers.ts';

const { gateway } = await openThreeProviders();

test("Perplexity's and SambaNova's SDKs find the error of a broken stream by the name of its event", async () => {
  const json = { model: 'mock/error=1', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const lastFrame = async (agent: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    return (await answer.text()).trimEnd().split('\n\n').at(-1)!;
  };
  const agents = [
    'Perplexity/Python 0.46.1',
    'AsyncPerplexity/Python 0.46.1',
    'Perplexity/JS 0.38.5',
    'SambaNova/Python 1.13.0',
  ];
  for (const agent of agents)
    assert.match(await lastFrame(agent), /^event: error\ndata: \{"error":\{"message":".*premature end/);
  assert.match(await lastFrame('OpenAI/JS 7.55.0'), /^data: \{"error":/);
});
