import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* How much a stream may send before its first content: it is held until then, so that another target may still answer. */

const t = { after } as TestContext;
const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' };
const text = { type: 'output_text', text: 'Hi.', annotations: [] };
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };

/** As OpenAI streams it: the first two events have the request's instructions and tools. */
function responseEvents({ instructions, tools }: { instructions?: string; tools?: object[] }): object[] {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', instructions, tools, output: [] };
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.in_progress', response: { ...response, status: 'in_progress' } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part: { ...text, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: 'Hi.' },
    { type: 'response.output_text.done', ...place, text: 'Hi.' },
    { type: 'response.output_item.done', output_index: 0, item: { ...item, content: [text] } },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
  ];
}

function chatEvents({ messages }: { messages: { content: string }[] }): (object | string)[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta, finish_reason }],
  });
  // Roles of as many kB as the message says.
  const roles = Number(/^(\d+) kB$/.exec(messages.at(-1)!.content)?.[1] ?? 1);
  const padded = { ...chunk({ role: 'assistant' }), system_fingerprint: 'f'.repeat(1_000) };
  return [...Array<object>(roles).fill(padded), chunk({ content: 'Hi.' }), chunk({}, 'stop'), '[DONE]'];
}

/** As Anthropic streams a PDF that the model fetched, before it says what is in it. */
function messageEvents(): object[] {
  const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x'.repeat(300_000) };
  const url = 'https://a.example/long.pdf';
  const fetched = { type: 'web_fetch_result', url, content: { type: 'document', source }, retrieved_at: null };
  const asks = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: {} };
  const input = { type: 'input_json_delta', partial_json: JSON.stringify({ url }) };
  const blocks: [object, object?][] = [
    [asks, input],
    [{ type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: fetched }],
    [
      { type: 'text', text: '' },
      { type: 'text_delta', text: 'Hi.' },
    ],
  ];
  const usage = { input_tokens: 3, output_tokens: 1 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage,
  };
  return [
    { type: 'message_start', message },
    ...blocks.flatMap(([content_block, delta], index) => [
      { type: 'content_block_start', index, content_block },
      ...(delta === undefined ? [] : [{ type: 'content_block_delta', index, delta }]),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ];
}

const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += String(piece);
  if (request.method === 'GET') return response.end('{"data":[]}');
  const format = request.url!.split('/').at(-1);
  const ofFormat = { responses: responseEvents, messages: messageEvents, completions: chatEvents };
  const events = ofFormat[format as keyof typeof ofFormat](JSON.parse(body));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  return response.end();
});
const url = await listening(t, upstream);
const at = { base_url: `${url}/v1`, api_key: 'k', type: 'openai' as const };
const gateway = await startGateway(t, {
  providers: {
    responses: { ...at, dialects: ['openai-responses'] },
    chat: { ...at, dialects: ['openai-chat'] },
    claude: { ...at, base_url: url, type: 'anthropic' },
  },
  models: {
    responses: { targets: ['responses/m'] },
    chat: { targets: ['chat/m'], attempts: 1 },
    claude: { targets: ['claude/m'], attempts: 1 },
  },
});

test('a response begins though it repeats long instructions and tools before its text, over any provider', async () => {
  const tools = [
    { type: 'function', name: 'f', description: 'é'.repeat(300_000), parameters: { type: 'object' }, strict: false },
  ];
  for (const model of ['responses', 'chat']) {
    const json = { model, stream: true, instructions: 'x'.repeat(700_000), tools, input: 'Hi' };
    const answer = await gateway.fetch('/v1/responses', { json });
    const got = await answer.text();
    assert.deepEqual(
      [answer.status, got.includes('response.completed')],
      [200, true],
      `${model}: ${got.slice(0, 400)}`,
    );
  }
});

test('a stream of over 1 MB that says nothing is a fault of the upstream, and one below is an answer', async () => {
  const ask = (content: string) =>
    gateway.fetch('/v1/chat/completions', {
      json: { model: 'chat', stream: true, messages: [{ role: 'user', content }] },
    });
  const below = await ask('700 kB');
  assert.equal(below.status, 200);
  assert.match(await below.text(), /"Hi\."[\s\S]*\[DONE\]/);
  const above = await ask('1400 kB');
  assert.equal(above.status, 502);
  assert.match(await above.text(), /sent over 1 MB before any content/);
});

test('a PDF of 2 MB that Claude fetched is one event of its stream, in its own format and converted', async () => {
  const messages = [{ role: 'user', content: 'Read it.' }];
  const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
  for (const [path, json, end] of [
    ['/v1/messages', { messages, tools, max_tokens: 100 }, 'message_stop'],
    ['/v1/chat/completions', { messages }, '[DONE]'],
  ] as const) {
    const answer = await gateway.fetch(path, { json: { model: 'claude', stream: true, ...json } });
    const got = await answer.text();
    assert.deepEqual([answer.status, got.includes('Hi.'), got.includes(end)], [200, true, true], got.slice(-400));
    if (path === '/v1/messages') assert.ok(got.length > 2_400_000, String(got.length));
  }
});
