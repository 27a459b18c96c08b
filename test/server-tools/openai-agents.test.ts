import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  Agent,
  fileSearchTool,
  hostedMcpTool,
  OpenAIConversationsSession,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
  webSearchTool,
} from '@openai/agents';
import { z } from 'zod';
import { startMcpServer } from '../start-mcp-server.ts';
import { openToolsWorld } from './world.ts';

/* OpenAI's Agents SDK with OpenAI's own hosted tools, over providers that run none. */

setTracingDisabled(true);
const t = { after: after as TestContext['after'] };
const server = await startMcpServer(t);
const { openai, gateway, upstream, sent } = await openToolsWorld(t, { fetch: { allow_private: [server.place] } });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openai, useResponses: true }) });
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/responses' } as const;

for (const json of [
  { path: '', body: { name: 'docs', embedding_model: 'culvert-lexical-1024' } },
  { path: '/docs/points', body: { points: [{ id: 1, payload: { text: 'A mock bakes bread.', filename: 'a.txt' } }] } },
]) {
  assert.ok((await gateway.fetch(`/v1/vectors/collections${json.path}`, { json: json.body })).ok);
}

const getWeather = tool({
  name: 'get_weather',
  description: 'Weather of a place.',
  parameters: z.object({}),
  execute: async () => 'Heavy rain.',
});
const sums = (approval: 'never' | 'always') => {
  const named = { serverLabel: 'sums', serverUrl: server.url };
  return approval === 'never' ? hostedMcpTool(named) : hostedMcpTool({ ...named, requireApproval: 'always' });
};

for (const [model, path] of Object.entries(paths)) {
  test(`openai agents: web search, file search and MCP beside an own tool (${model})`, async () => {
    const tools = [webSearchTool({ searchContextSize: 'low' }), fileSearchTool(['docs']), sums('never'), getWeather];
    const agent = new Agent({ name: 'Assistant', model, tools });
    for (const [name, told] of [
      ['web_search', /Words of https:\/\/a\.example/],
      ['file_search', /A mock bakes bread/],
      ['sums__add', /"1"/],
      ['get_weather', /Heavy rain\./],
    ] as const) {
      sent();
      upstream.script(path, ['ok', 'text=Done.']);
      const result = await runner.run(agent, `Please call ${name}`);
      assert.equal(result.finalOutput, 'Done.');
      assert.match(JSON.stringify(sent().at(-1)), told);
    }
  });

  test(`openai agents: a session, streamed, keeps what the tools did (${model})`, async () => {
    const session = new OpenAIConversationsSession({ client: openai });
    const agent = new Agent({ name: 'Assistant', model, tools: [webSearchTool(), sums('never')] });
    upstream.script(path, ['ok', 'text=Red【1】.']);
    const streamed = await runner.run(agent, 'My name is Ada. Please call web_search', { session, stream: true });
    for await (const _ of streamed);
    await streamed.completed;
    assert.equal(streamed.finalOutput, 'Red ([a.example](https://a.example/one)).');
    sent();
    await runner.run(agent, 'Who am I?', { session });
    const told = JSON.stringify(sent().at(-1));
    for (const words of ['My name is Ada.', 'Red ([a.example]', 'Who am I?']) assert.ok(told.includes(words), words);
  });

  test(`openai agents: a call waits for approval, and is made then (${model})`, async () => {
    const agent = new Agent({ name: 'Assistant', model, tools: [sums('always')] });
    const asked = await runner.run(agent, 'Please call sums__add');
    assert.equal(asked.interruptions.length, 1);
    const [question] = asked.interruptions;
    asked.state.approve(question!);
    sent();
    upstream.script(path, ['text=Done.']);
    const result = await runner.run(agent, asked.state);
    assert.equal(result.finalOutput, 'Done.');
    assert.match(JSON.stringify(sent().at(-1)), /"1"/);
  });

  test(`openai agents: a handoff to an agent that searches, in one conversation (${model})`, async () => {
    const tools = [webSearchTool({ searchContextSize: 'low' })];
    const searcher = new Agent({ name: 'Searcher', model, tools });
    const desk = Agent.create({ name: 'Desk', model, handoffs: [searcher] });
    const { id: conversationId } = await openai.conversations.create();
    const handed = await runner.run(desk, 'Please call transfer_to_Searcher', { conversationId });
    assert.equal(handed.lastAgent?.name, 'Searcher');
    upstream.script(path, ['ok', 'text=Red.']);
    const result = await runner.run(searcher, 'Please call web_search', { conversationId });
    assert.equal(result.finalOutput, 'Red.');
    const { data } = await openai.conversations.items.list(conversationId, { order: 'asc' });
    assert.deepEqual(
      data.map(({ type }) => type),
      ['message', 'function_call', 'function_call_output', 'message', 'message', 'web_search_call', 'message'],
    );
  });
}
