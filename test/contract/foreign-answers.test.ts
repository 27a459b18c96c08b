import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';

/* Answers of servers that speak a format almost as its owner does. Users of gateways report each of these. */

/** A gateway over a server that streams `frames`, by both formats. */
async function over(t: TestContext, frames: readonly object[], end = ''): Promise<TestGateway> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const named = (frame: object) => ('type' in frame ? `event: ${frame.type}\n` : '');
    response.end(frames.map((frame) => `${named(frame)}data: ${JSON.stringify(frame)}\n\n`).join('') + end);
  });
  const base = { base_url: `${await listening(t, server)}/v1`, api_key: 'k' };
  const price = { input: 1_000, output: 2_000 };
  return startGateway(t, {
    providers: {
      chat: { type: 'openai', dialects: ['openai-chat'], ...base },
      messages: { type: 'anthropic', ...base },
      gemini: { type: 'gemini', ...base },
    },
    models: Object.fromEntries(
      ['chat', 'messages', 'gemini'].map((provider) => [provider, { targets: [{ provider, model: 'm', price }] }]),
    ),
  });
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});
const done = 'data: [DONE]\n\n';
const ask = { max_tokens: 64, messages: [{ role: 'user' as const, content: 'Hello' }] };

test('an input that the end of a stream of Messages counts as 0 is the one of its beginning, and is charged', async (t) => {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
  const usage = { input_tokens: 30, cache_read_input_tokens: 12, output_tokens: 1 };
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const gateway = await over(t, [
    { type: 'message_start', message: { ...message, stop_sequence: null, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { ...zeros, output_tokens: 7 },
    },
    { type: 'message_stop' },
  ]);
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    const answer = await gateway.fetch(path, { json: { model: 'messages', stream: true, ...ask } });
    await answer.text();
    const id = answer.headers.get('x-culvert-request-id');
    const headers = { authorization: `Bearer ${adminKey}` };
    const record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers });
    const { cost_usd: usd } = (await record.json()) as { cost_usd: number };
    assert.equal(usd, (42 * 1_000 + 7 * 2_000) / 1e6, path);
  }
});

test('calls of one answer with the same id have an id each, so that each can be answered', async (t) => {
  const piece = (index: number, text: string) => ({
    tool_calls: [{ index, id: 'call_0', type: 'function', function: { name: 'look', arguments: text } }],
  });
  const frames = [chunk(piece(0, '{"a":')), chunk(piece(0, '1}')), chunk(piece(1, '{"a":2}')), chunk({}, 'tool_calls')];
  const gateway = await over(t, frames, done);
  const client = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null });
  const { content } = await client.messages.stream({ model: 'chat', ...ask }).finalMessage();
  assert.deepEqual(
    content.map((block) => block.type === 'tool_use' && [block.id, block.input]),
    [
      ['call_0', { a: 1 }],
      ['call_0_2', { a: 2 }],
    ],
  );
});

for (const [word, reason] of [
  ['sensitive', 'refusal'],
  ['content_filter: PROHIBITED_CONTENT', 'refusal'],
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'refusal'],
  ['model_context_window_exceeded', 'model_context_window_exceeded'],
] as const) {
  test(`an answer that ended for '${word}' is not a whole one`, async (t) => {
    const gateway = await over(t, [chunk({ content: 'Well' }), chunk({}, word)], done);
    const client = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null });
    assert.equal((await client.messages.create({ model: 'chat', ...ask })).stop_reason, reason);
  });
}

test("an answer that ended for 'network_error' was broken off: its stream fails", async (t) => {
  const gateway = await over(t, [chunk({ content: 'Well' }), chunk({}, 'network_error')], done);
  const messages = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null, maxRetries: 0 });
  await assert.rejects(messages.messages.stream({ model: 'chat', ...ask }).finalMessage(), Anthropic.APIError);
  const chat = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  await assert.rejects(chat.chat.completions.stream({ model: 'chat', ...ask }).finalChatCompletion(), OpenAI.APIError);
});

test('calls behind which a server says no reason are whole when it says that it is done, if their arguments are', async (t) => {
  const piece = (text: string) => ({
    tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: 'look', arguments: text } }],
  });
  const ends = async (text: string) => {
    const gateway = await over(t, [chunk(piece(text))], done);
    const client = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null, maxRetries: 0 });
    return (await client.messages.stream({ model: 'chat', ...ask }).finalMessage()).stop_reason;
  };
  assert.equal(await ends('{"a":1}'), 'tool_use');
  await assert.rejects(ends('{"a":'), Anthropic.APIError);
});

test('items of a response end in their order, in which Codex keeps them, and those of calls in turns at the end', async (t) => {
  const text = (index: number) => [
    { type: 'content_block_start', index, content_block: { type: 'text', text: `Part ${index}.` } },
    { type: 'content_block_stop', index },
  ];
  const claude = [...text(0), ...toolUse(1), ...text(2), ...toolUse(3), ...toolUse(4)];
  const ends = async (model: string, frames: readonly object[], end = '') => {
    const gateway = await over(t, frames, end);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const done: string[] = [];
    for await (const event of await client.responses.create({ model, input: 'Hello', stream: true }))
      if (event.type === 'response.output_item.done') done.push(`${event.output_index} ${event.item.type}`);
    return done;
  };
  assert.deepEqual(await ends('messages', framesOf(claude)), [
    '0 message',
    '1 function_call',
    '2 message',
    '3 function_call',
    '4 function_call',
  ]);
  const piece = (index: number, args: string, id?: string) =>
    chunk({ tool_calls: [{ index, ...(id && { id, type: 'function' }), function: { name: id, arguments: args } }] });
  const inTurns = [
    piece(0, '{"a":', 'f'),
    piece(1, '{"b":', 'g'),
    chunk({ content: 'Hm.' }),
    piece(1, '2}'),
    piece(0, '1}'),
  ];
  assert.deepEqual(await ends('chat', [...inTurns, chunk({}, 'tool_calls')], done), [
    '2 message',
    '0 function_call',
    '1 function_call',
  ]);
});

const framesOf = (blocks: readonly object[]) => [
  { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] } },
  ...blocks,
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { input_tokens: 1, output_tokens: 1 } },
  { type: 'message_stop' },
];
const toolUse = (index: number) => [
  {
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'f', input: {} },
  },
  { type: 'content_block_stop', index },
];
const tooMany = {
  messages: {
    most: 4_096,
    field: 'tool_use',
    frames: (calls: number) => framesOf(Array.from({ length: calls }, (_, index) => toolUse(index)).flat()),
  },
  chat: {
    most: 256,
    field: 'tool_calls',
    frames: (calls: number) => [
      ...Array.from({ length: calls }, (_, index) =>
        chunk({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] }),
      ),
      chunk({}, 'tool_calls'),
    ],
  },
  gemini: {
    most: 256,
    field: 'functionCall',
    frames: (calls: number) => {
      const parts = Array.from({ length: calls }, () => ({ functionCall: { name: 'f', args: {} } }));
      return [{ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] }];
    },
  },
};

for (const [model, { most, field, frames }] of Object.entries(tooMany)) {
  test(`calls beyond any model's are named as dropped (${model} upstream)`, async (t) => {
    const gateway = await over(t, frames(most + 2), model === 'chat' ? done : '');
    const response = await gateway.fetch('/v1/responses', { json: { model, input: 'Hello', store: false } });
    const { output } = (await response.json()) as { output: { type: string }[] };
    assert.equal(output.filter(({ type }) => type === 'function_call').length, most);
    assert.equal(response.headers.get('x-culvert-dropped'), field);
  });
}
