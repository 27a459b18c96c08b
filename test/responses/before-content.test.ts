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

function chatEvents({ messages }: { messages: { content: string }[] }): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta, finish_reason }],
  });
  // Roles of as many kB as the message says.
  const roles = Number(/^(\d+) kB$/.exec(messages.at(-1)!.content)?.[1] ?? 1);
  const padded = { ...chunk({ role: 'assistant' }), system_fingerprint: 'f'.repeat(1_000) };
  return [...Array<object>(roles).fill(padded), chunk({ content: 'Hi.' }), chunk({}, 'stop')];
}

const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += String(piece);
  if (request.method === 'GET') return response.end('{"data":[]}');
  const events = request.url!.endsWith('/responses')
    ? responseEvents(JSON.parse(body))
    : [...chatEvents(JSON.parse(body)), '[DONE]'];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  return response.end();
});
const at = { base_url: `${await listening(t, upstream)}/v1`, api_key: 'k', type: 'openai' as const };
const gateway = await startGateway(t, {
  providers: {
    responses: { ...at, dialects: ['openai-responses'] },
    chat: { ...at, dialects: ['openai-chat'] },
  },
  models: { responses: { targets: ['responses/m'] }, chat: { targets: ['chat/m'], attempts: 1 } },
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
