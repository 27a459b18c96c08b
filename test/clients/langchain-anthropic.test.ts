import assert from 'node:assert/strict';
import { ChatAnthropic } from '@langchain/anthropic';
import { type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatsOf, overBothFormats } from './formats.ts';

function modelOf({ gateway }: ClientWorld, model = 'chat'): ChatAnthropic {
  return new ChatAnthropic({ model, apiKey: testKey, anthropicApiUrl: gateway.url, maxRetries: 0 });
}

const weather = tool(async ({ city }: { city: string }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'The weather',
  schema: z.object({ city: z.string() }),
});

overBothFormats('@langchain/anthropic: invoke', async (world) => {
  const answer = await modelOf(world).invoke('Hello there');
  assert.equal(answer.text, 'Mock answer to: Hello there');
  assert.equal(answer.response_metadata.stop_reason, 'end_turn');
  assert.ok(outputTokensOf(answer) > 0);
});

overBothFormats('@langchain/anthropic: stream', async (world) => {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await modelOf(world).stream('Hello there')) whole = whole?.concat(chunk) ?? chunk;
  assert.equal(whole?.text, 'Mock answer to: Hello there');
  assert.ok(outputTokensOf(whole) > 0);
});

overBothFormats('@langchain/anthropic: bindTools, the call and its result', async (world) => {
  const model = modelOf(world).bindTools([weather]);
  const question = new HumanMessage('call get_weather');
  const asked = await model.invoke([question]);
  const [call] = asked.tool_calls ?? [];
  assert.equal(call?.name, 'get_weather');
  const result = new ToolMessage({
    content: await weather.invoke(call!.args as { city: string }),
    tool_call_id: call!.id!,
  });
  const answer = await model.invoke([question, asked, result]);
  assert.match(answer.text, /Mock answer/);
  assert.equal(chatsOf(world).length, 2);
});

overBothFormats('@langchain/anthropic: a refusal keeps its words', async (world) => {
  await assert.rejects(modelOf(world, 'nothing-like-it').invoke('Hello'), /nothing-like-it/);
  assert.equal(chatsOf(world).length, 0);
});

function outputTokensOf(message: unknown): number {
  return (message as { usage_metadata?: { output_tokens: number } }).usage_metadata?.output_tokens ?? 0;
}
