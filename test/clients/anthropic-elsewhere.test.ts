import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { messageOfFrames } from '../conversion/message-of-frames.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { firstRequest, secondRequest } from './claude-code-body.ts';

/* The formats that chat completions and Messages are not: Google's, and OpenAI's Responses. */

const upstreams = {
  gemini: (url: string) => ({ type: 'gemini', base_url: url, api_key: 'k' }),
  responses: (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'k', dialects: ['openai-responses'] }),
};

for (const [format, providerAt] of Object.entries(upstreams)) {
  test(`anthropic: text, tools and thinking there and back (${format} upstream)`, async (t) => {
    const upstream = await startUpstream({ models: ['mock/ok'] });
    t.after(() => upstream.close());
    const gateway = await startGateway(t, {
      providers: { up: providerAt(upstream.url) },
      models: { chat: { targets: ['up/mock/ok'] }, thinks: { targets: ['up/mock/slow-reasoning=20ms'] } },
    });
    const client = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
    const hello = { model: 'chat', max_tokens: 2_000, messages: [{ role: 'user' as const, content: 'Hello there' }] };
    const whole = await client.messages.create(hello);
    assert.deepEqual(
      whole.content.map((block) => (block.type === 'text' ? block.text : block.type)),
      ['Mock answer to: Hello there'],
    );
    assert.equal(await client.messages.stream(hello).finalText(), 'Mock answer to: Hello there');

    const messages: MessageParam[] = [{ role: 'user', content: 'Please call get_weather and call get_time' }];
    const tools = ['get_weather', 'get_time'].map((name) => ({
      name,
      input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
    }));
    const asked = await client.messages.stream({ ...hello, messages, tools }).finalMessage();
    assert.equal(asked.stop_reason, 'tool_use');
    const calls = asked.content.filter((block): block is ToolUseBlock => block.type === 'tool_use');
    assert.equal(calls.length, 2);
    messages.push({ role: 'assistant', content: asked.content });
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'fine' })),
    });
    assert.equal((await client.messages.create({ ...hello, messages, tools })).stop_reason, 'end_turn');

    const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;
    const thought = await client.messages.create({ ...hello, model: 'thinks', thinking });
    assert.equal(thought.content.at(-1)?.type, 'text');
    if (thought.content.length > 1) assert.match(thought.content[0]!.type, /thinking/);
    const again = [...hello.messages, { role: 'assistant' as const, content: thought.content }, ...hello.messages];
    assert.equal((await client.messages.create({ ...hello, thinking, messages: again })).stop_reason, 'end_turn');

    upstream.script('*', ['status=400;message=that is odd']);
    await assert.rejects(client.messages.create(hello), /that is odd/);
    assert.equal(
      (await client.messages.countTokens({ model: 'chat', messages: hello.messages })).input_tokens > 2,
      true,
    );
  });

  test(`Claude Code: a tool turn there and back (${format} upstream)`, async (t) => {
    const upstream = await startUpstream({ models: ['mock/ok'] });
    t.after(() => upstream.close());
    const gateway = await startGateway(t, {
      providers: { up: providerAt(upstream.url) },
      models: { chat: { targets: ['up/mock/ok'] } },
    });
    const post = async (json: object) =>
      messageOfFrames(await (await gateway.fetch('/v1/messages?beta=true', { json })).text());
    const said = 'Please call Bash and call Grep';
    const first = await post(firstRequest(said));
    assert.equal(first.message.stop_reason, 'tool_use');
    const next = await post(secondRequest(said, first.message.content as { type: string; id?: string }[]));
    assert.equal(next.message.stop_reason, 'end_turn');
  });
}

test('Claude of OpenRouter is asked in the format of its caller, so that signed thoughts come back', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { router: { type: 'openrouter', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { claude: { targets: ['router/anthropic/claude-sonnet-4.5'] }, other: { targets: ['router/z-ai/glm-5'] } },
  });
  const client = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
  const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;
  const tools = [{ name: 'get_weather', input_schema: { type: 'object' as const, properties: {} } }];
  const first: MessageParam[] = [{ role: 'user', content: 'Please call get_weather' }];
  const hello = { model: 'claude', max_tokens: 2_000, thinking, tools };
  const asked = await client.messages.stream({ ...hello, messages: first }).finalMessage();
  const [thought, call] = asked.content;
  assert.ok(thought?.type === 'thinking' && thought.signature !== '' && call?.type === 'tool_use');
  const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'fine' };
  const next: MessageParam[] = [
    ...first,
    { role: 'assistant', content: asked.content },
    { role: 'user', content: [result] },
  ];
  const { usage } = await client.messages.create({ ...hello, messages: next });
  assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0);
  await client.messages.create({ ...hello, model: 'other', messages: first });
  assert.deepEqual(
    upstream.requests().flatMap(({ method, path }) => (method === 'POST' ? [path] : [])),
    ['/v1/messages', '/v1/messages', '/v1/chat/completions'],
  );
  const books = await gateway.fetch('/admin/v1/usage?group_by=model', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const text = await books.text();
  assert.match(text, /"input_tokens":[1-9]/, text);
});
