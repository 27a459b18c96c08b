import assert from 'node:assert/strict';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatPathOf, chatsOf, overBothFormats } from './formats.ts';

function modelOf({ baseURL }: ClientWorld, model = 'chat'): ChatOpenAI {
  return new ChatOpenAI({ model, apiKey: testKey, maxRetries: 0, configuration: { baseURL } });
}

const weather = tool(async ({ city }: { city: string }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'The weather',
  schema: z.object({ city: z.string() }),
});

overBothFormats('langchain: invoke', async (world) => {
  const answer = await modelOf(world).invoke('Hello there');
  assert.equal(answer.text, 'Mock answer to: Hello there');
  assert.equal(answer.response_metadata.finish_reason, 'stop');
  assert.ok(outputTokensOf(answer) > 0);
});

overBothFormats('langchain: stream', async (world) => {
  let text = '';
  let outputTokens = 0;
  for await (const chunk of await modelOf(world).stream('Hello there')) {
    text += chunk.text;
    outputTokens += outputTokensOf(chunk);
  }
  assert.equal(text, 'Mock answer to: Hello there');
  assert.ok(outputTokens > 0);
});

overBothFormats('langchain: bindTools, the call and its result', async (world) => {
  const model = modelOf(world).bindTools([weather]);
  const question = new HumanMessage('call get_weather');
  const asked = await model.invoke([question]);
  const call = asked.tool_calls?.[0];
  assert.equal(call?.name, 'get_weather');
  const result = (await weather.invoke(call as never)) as ToolMessage;
  assert.ok(result instanceof ToolMessage);
  const last = await model.invoke([question, asked, result]);
  assert.match(last.text, /Mock answer/);
});

overBothFormats('langchain: bindTools, streamed', async (world) => {
  let whole: Awaited<ReturnType<ChatOpenAI['invoke']>> | null = null;
  for await (const chunk of await modelOf(world).bindTools([weather]).stream('call get_weather')) {
    whole = whole === null ? chunk : whole.concat(chunk);
  }
  assert.equal(whole?.tool_calls?.[0]?.name, 'get_weather');
  assert.equal(typeof whole?.tool_calls?.[0]?.args.city, 'string');
});

for (const method of ['jsonSchema', 'functionCalling'] as const) {
  overBothFormats(`langchain: withStructuredOutput by ${method}`, async (world) => {
    const shape = z.object({ city: z.string(), degrees: z.number() });
    const answer = await modelOf(world).withStructuredOutput(shape, { name: 'weather', method }).invoke('The weather?');
    assert.ok(shape.safeParse(answer).success, JSON.stringify(answer));
  });
}

overBothFormats('langchain: an error in mid-stream throws, and leaves no short answer', async (world) => {
  world.upstream.script(chatPathOf(world), ['tokens=50;cut=12events']);
  await assert.rejects(async () => {
    for await (const _ of await modelOf(world).stream('Hello'));
  }, /premature end/);
});

overBothFormats('langchain: a refusal is tried once', async (world) => {
  await assert.rejects(modelOf(world, 'nothing-like-it').invoke('Hello'), /nothing-like-it/);
  assert.equal(chatsOf(world).length, 0);
});

/** The package's own types lose this member on the way to their callers. */
function outputTokensOf(message: { usage_metadata?: unknown }): number {
  return (message.usage_metadata as { output_tokens: number } | undefined)?.output_tokens ?? 0;
}
