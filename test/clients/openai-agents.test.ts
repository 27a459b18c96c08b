import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { openWorld } from '../responses/world.ts';

/* OpenAI's Agents SDK with its own state, over providers that keep nothing. */

setTracingDisabled(true);
const { client, sent } = await openWorld({ after: after as TestContext['after'] });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }) });

const getWeather = tool({
  name: 'get_weather',
  description: 'Weather of a place.',
  parameters: z.object({}),
  execute: async () => 'Heavy rain.',
});

for (const model of ['chat', 'claude', 'both']) {
  test(`openai agents: tools, and turns that name the last response (${model})`, async () => {
    const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model, tools: [getWeather] });
    sent();
    const first = await runner.run(agent, 'My name is Ada. Please call get_weather');
    assert.ok(first.finalOutput);
    assert.match(JSON.stringify(sent().at(-1)), /Heavy rain\./);
    const second = await runner.run(agent, 'Who am I?', { previousResponseId: first.lastResponseId! });
    assert.ok(second.finalOutput);
    const told = JSON.stringify(sent().at(-1));
    for (const words of ['My name is Ada.', 'Heavy rain.', 'Who am I?']) assert.ok(told.includes(words), words);
  });

  test(`openai agents: a session, streamed (${model})`, async () => {
    const agent = new Agent({ name: 'Assistant', model, tools: [getWeather] });
    const session = new OpenAIConversationsSession({ client });
    await runner.run(agent, 'My name is Ada. Please call get_weather', { session });
    sent();
    const streamed = await runner.run(agent, 'Who am I?', { session, stream: true });
    for await (const _ of streamed);
    await streamed.completed;
    const told = JSON.stringify(sent().at(-1));
    for (const words of ['My name is Ada.', 'Heavy rain.', 'Who am I?']) assert.ok(told.includes(words), words);
    assert.ok((await session.getItems()).length >= 5);
    await session.clearSession();
  });

  test(`openai agents: a handoff, with a conversation of the server's (${model})`, async () => {
    const poet = new Agent({ name: 'Poet', model, instructions: 'You write poems.', handoffDescription: 'Writes.' });
    const desk = Agent.create({ name: 'Desk', model, instructions: 'You hand over.', handoffs: [poet] });
    const { id: conversationId } = await client.conversations.create();
    const result = await runner.run(desk, 'Please call transfer_to_Poet', { conversationId });
    assert.equal(result.lastAgent?.name, 'Poet');
    assert.ok(result.finalOutput);
    const { data } = await client.conversations.items.list(conversationId, { order: 'asc' });
    const types = data.map(({ type }) => type);
    assert.deepEqual(types, ['message', 'function_call', 'function_call_output', 'message']);
  });
}
