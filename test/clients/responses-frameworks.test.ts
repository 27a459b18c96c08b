import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * The AI SDK's `openai(model)` and LangChain's `useResponsesApi` speak Responses; over a provider that does too, and
 * over those that do not.
 */

async function open(t: TestContext): Promise<string> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: {
      native: { type: 'openai', ...at, dialects: ['openai-responses'] },
      chat: { type: 'openai', ...at },
      claude: { type: 'anthropic', ...at },
    },
    models: Object.fromEntries(['native', 'chat', 'claude'].map((name) => [name, { targets: [`${name}/mock/ok`] }])),
  });
  return `${gateway.url}/v1`;
}

const get_weather = tool({
  description: 'Weather of a place.',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => 'rain',
});

for (const model of ['native', 'chat', 'claude']) {
  test(`ai sdk responses: a tool called and answered, whole and streamed (${model})`, async (t) => {
    const openai = createOpenAI({ baseURL: await open(t), apiKey: testKey });
    const ask = {
      model: openai(model),
      prompt: 'Please call get_weather',
      tools: { get_weather },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      // For models that it does not know it would not ask for reasoning.
      providerOptions: {
        openai: { forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto', store: false },
      },
    };
    const whole = await generateText(ask);
    assert.equal(whole.text, 'Mock answer to: Please call get_weather');
    assert.equal(whole.steps.length, 2);
    assert.equal(whole.finishReason, 'stop');
    assert.ok(whole.totalUsage.inputTokens! > 0);

    const streamed = streamText(ask);
    let text = '';
    for await (const part of streamed.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') text += part.text;
    }
    assert.equal(text, 'Mock answer to: Please call get_weather');
    assert.equal(await streamed.finishReason, 'stop');
    assert.equal((await streamed.steps).length, 2);
  });

  test(`langchain responses: whole and streamed (${model})`, async (t) => {
    const chat = new ChatOpenAI({
      model,
      apiKey: testKey,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL: await open(t) },
    });
    assert.equal((await chat.invoke('Hello there')).text, 'Mock answer to: Hello there');
    let text = '';
    for await (const chunk of await chat.stream('Hello there')) text += chunk.text;
    assert.equal(text, 'Mock answer to: Hello there');
  });
}
