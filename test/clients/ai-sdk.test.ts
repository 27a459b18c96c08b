import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatPathOf, chatsOf, overBothFormats } from './formats.ts';

// It would praise its successors on every run.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const providers = {
  '@ai-sdk/openai .chat()': ({ baseURL }: ClientWorld, model: string): LanguageModel =>
    createOpenAI({ baseURL, apiKey: testKey }).chat(model),
  // Does not ask for usage in streams: the gateway does, for its books.
  '@ai-sdk/openai-compatible': ({ baseURL }: ClientWorld, model: string): LanguageModel =>
    createOpenAICompatible({ name: 'culvert', baseURL, apiKey: testKey, supportsStructuredOutputs: true })(model),
  // Asks for 128,000 tokens of a model that it does not know.
  '@ai-sdk/anthropic': ({ baseURL }: ClientWorld, model: string): LanguageModel =>
    createAnthropic({ baseURL, apiKey: testKey })(model),
};

const weather = {
  get_weather: tool({
    description: 'The weather',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};

for (const [name, modelOf] of Object.entries(providers)) {
  overBothFormats(`${name}: generateText`, async (world) => {
    const { text, finishReason, usage } = await generateText({ model: modelOf(world, 'chat'), prompt: 'Hello there' });
    assert.equal(text, 'Mock answer to: Hello there');
    assert.equal(finishReason, 'stop');
    assert.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0);
  });

  overBothFormats(`${name}: streamText, and its usage in the books`, async (world) => {
    const result = streamText({ model: modelOf(world, 'chat'), prompt: 'Hello there' });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    assert.equal(text, 'Mock answer to: Hello there');
    assert.equal(await result.finishReason, 'stop');
    const { headers } = await result.response;
    const id = headers?.['x-culvert-request-id'];
    const record = (await (await world.gateway.fetch(`/v1/requests/${id}`)).json()) as {
      usage: { output_tokens: number; source: string };
    };
    assert.equal(record.usage.source, 'upstream');
    const usage = await result.usage;
    if (name.endsWith('compatible')) assert.equal(usage.outputTokens, undefined);
    else assert.equal(usage.outputTokens, record.usage.output_tokens);
  });

  for (const form of ['generateText', 'streamText'] as const) {
    overBothFormats(`${name}: ${form} runs a tool and goes on`, async (world) => {
      const order = {
        model: modelOf(world, 'chat'),
        prompt: 'call get_weather',
        tools: weather,
        stopWhen: stepCountIs(3),
      };
      const result = form === 'generateText' ? await generateText(order) : streamText(order);
      const steps = await result.steps;
      assert.deepEqual(
        steps.map((step) => step.finishReason),
        ['tool-calls', 'stop'],
      );
      assert.match(String(steps[0]?.toolResults[0]?.output), /^sunny in /);
      assert.match(await result.text, /Mock answer/);
    });
  }

  overBothFormats(`${name}: generateObject`, async (world) => {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const { object, finishReason } = await generateObject({
      model: modelOf(world, 'chat'),
      schema,
      prompt: 'The weather in Ulm?',
    });
    assert.ok(schema.safeParse(object).success);
    assert.equal(finishReason, 'stop');
  });

  overBothFormats(`${name}: an error in mid-stream is an error part, never a finished answer`, async (world) => {
    world.upstream.script(chatPathOf(world), ['tokens=50;cut=12events']);
    const parts: string[] = [];
    const result = streamText({ model: modelOf(world, 'chat'), prompt: 'Hello', onError: () => undefined });
    for await (const part of result.fullStream) parts.push(part.type);
    assert.ok(parts.includes('text-delta') && parts.includes('error'), parts.join(' '));
    assert.equal(await result.finishReason, 'error');
  });

  overBothFormats(`${name}: aborting closes the upstream`, async (world) => {
    const controller = new AbortController();
    const result = streamText({
      model: modelOf(world, 'slow'),
      prompt: 'Hello',
      abortSignal: controller.signal,
    });
    let deltas = 0;
    for await (const part of result.fullStream) if (part.type === 'text-delta' && ++deltas === 3) controller.abort();
    const seen = await world.upstream.when((request) => request.method === 'POST' && request.ended_ms !== null);
    assert.equal(seen.aborted, true);
  });

  overBothFormats(`${name}: a refusal keeps its status and words`, async (world) => {
    await assert.rejects(
      generateText({ model: modelOf(world, 'nothing-like-it'), prompt: 'Hello' }),
      (error) => APICallError.isInstance(error) && error.statusCode === 404 && /nothing-like-it/.test(error.message),
    );
    assert.equal(chatsOf(world).length, 0);
  });
}
