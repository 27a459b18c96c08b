import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import { openToolsWorld } from './world.ts';

/* The same searches in Messages and chat completions, by the vendors' own clients. */

const { openai, anthropic, upstream, sent } = await openToolsWorld({ after: after as TestContext['after'] });
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/chat/completions' } as const;

const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 } as const;
const asked = (model: string): Anthropic.MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 500,
  messages: [{ role: 'user', content: 'Please call web_search' }],
  tools: [search],
});

for (const [model, path] of Object.entries(paths)) {
  test(`Messages: a search is two blocks, and the answer cites pages (${model})`, async () => {
    upstream.script(path, ['ok', 'text=Pandas are red【2】.']);
    const message = await anthropic.messages.create(asked(model));
    assert.deepEqual(
      message.content.map(({ type }) => type),
      ['server_tool_use', 'web_search_tool_result', 'text'],
    );
    const [call, result, text] = message.content;
    assert.ok(call?.type === 'server_tool_use' && result?.type === 'web_search_tool_result' && text?.type === 'text');
    assert.equal(result.tool_use_id, call.id);
    assert.ok('query' in (call.input as object));
    assert.ok(Array.isArray(result.content));
    assert.deepEqual(
      result.content.map(({ url }) => url),
      ['https://a.example/one', 'https://b.example/two'],
    );
    assert.equal(
      text.citations?.[0]?.type === 'web_search_result_location' && text.citations[0].url,
      'https://b.example/two',
    );
    assert.equal(message.stop_reason, 'end_turn');
    assert.equal(message.usage.server_tool_use?.web_search_requests, 1);
  });

  test(`Messages: streamed, the client puts the same message together (${model})`, async () => {
    upstream.script(path, ['ok', 'text=Pandas are red【2】.', 'ok', 'text=Pandas are red【2】.;chunks=7']);
    const whole = await anthropic.messages.create(asked(model));
    const streamed = await anthropic.messages.stream(asked(model)).finalMessage();
    const shape = ({ content }: Anthropic.Message) =>
      JSON.parse(JSON.stringify(content).replaceAll(/srvtoolu_cv_\w+/g, 'id')) as unknown;
    assert.deepEqual(shape(streamed), shape(whole));
    assert.equal(streamed.stop_reason, 'end_turn');
  });

  test(`Messages: the next turn gives the model what was found before (${model})`, async () => {
    upstream.script(path, ['ok', 'text=Red.']);
    const first = await anthropic.messages.create(asked(model));
    sent();
    const { messages, ...rest } = asked(model);
    await anthropic.messages.create({
      ...rest,
      messages: [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }],
    });
    const told = JSON.stringify(sent()[0]);
    assert.match(told, /Words of https:\/\/a\.example\/one/);
    assert.doesNotMatch(told, /server_tool_use|encrypted_content/);
  });

  test(`chat: web_search_options, whole and streamed (${model})`, async () => {
    const body = {
      model,
      messages: [{ role: 'user' as const, content: 'Please call web_search' }],
      web_search_options: { search_context_size: 'low' as const },
    };
    upstream.script(path, ['ok', 'text=Pandas are red【1】.', 'ok', 'text=Pandas are red【1】.;chunks=5']);
    const whole = await openai.chat.completions.create(body);
    const { message, finish_reason: reason } = whole.choices[0]!;
    assert.equal(message.content, 'Pandas are red ([a.example](https://a.example/one)).');
    assert.equal(message.annotations?.[0]?.url_citation.url, 'https://a.example/one');
    assert.deepEqual([reason, message.tool_calls], ['stop', undefined]);
    const streamed = await openai.chat.completions
      .stream({ ...body, stream: true, stream_options: { include_usage: true } })
      .finalChatCompletion();
    assert.equal(streamed.choices[0]!.message.content, message.content);
    assert.equal(streamed.usage?.total_tokens, whole.usage?.total_tokens);
  });
}

test('chat: the tool types of Responses work too', async () => {
  upstream.script('/v1/chat/completions', ['ok', 'text=Red【1】']);
  const tools = [{ type: 'web_search' }] as never;
  const answer = await openai.chat.completions.create({
    model: 'chat',
    messages: [{ role: 'user', content: 'Please call web_search' }],
    tools,
  });
  assert.match(answer.choices[0]!.message.content ?? '', /a\.example/);
});
