import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { jsonSchema, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { listening } from '../listening.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';

/* Answers in the format of Responses whose servers leave out what OpenAI's clients read (ggml-org/llama.cpp#20607). */

/** A gateway over a server that answers with `answer`: events of a stream, or a whole one. */
async function over(t: TestContext, answer: object | readonly object[]): Promise<TestGateway> {
  const server = createServer((request, response) => {
    request.resume();
    if (!Array.isArray(answer)) {
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(answer));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(answer.map(frameOf).join(''));
  });
  const base_url = `${await listening(t, server)}/v1`;
  return startGateway(t, {
    providers: { local: { type: 'openai', base_url, api_key: 'k', dialects: ['openai-responses'] } },
    models: { chat: { targets: ['local/m'] } },
  });
}

const frameOf = (event: object) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`;

const text = (words: string) => ({ type: 'output_text', text: words, annotations: [], logprobs: [] });
const thought = { type: 'reasoning', id: 'rs_a', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] };
const message = {
  type: 'message',
  id: 'msg_a',
  role: 'assistant',
  status: 'completed',
  content: [text('Let me look.')],
};
const call = (id: string, name: string) => ({
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: `{"of":"${id}"}`,
});
const calls = [call('call_a', 'f'), call('call_b', 'g')];
const usage = { input_tokens: 9, output_tokens: 5, output_tokens_details: {} };
const whole = {
  id: 'resp_a',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output: [thought, message, ...calls],
  usage,
};

/** As llama.cpp streams it: no event says its place, and all items end at the end. */
const stream = [
  ...['created', 'in_progress'].map((word) => ({
    type: `response.${word}`,
    response: { id: 'resp_a', object: 'response', status: 'in_progress', created_at: 1, model: 'm' },
  })),
  { type: 'response.output_item.added', item: { ...thought, content: [], encrypted_content: '' } },
  { type: 'response.reasoning_text.delta', delta: 'Hm', item_id: 'rs_a' },
  { type: 'response.output_item.added', item: { ...message, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', item_id: 'msg_a', part: text('') },
  { type: 'response.output_text.delta', item_id: 'msg_a', delta: 'Let me ' },
  { type: 'response.output_text.delta', item_id: 'msg_a', delta: 'look.' },
  ...calls.flatMap((one) => [
    { type: 'response.output_item.added', item: { ...one, status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', delta: one.arguments.slice(0, 4) },
    { type: 'response.function_call_arguments.delta', delta: one.arguments.slice(4) },
  ]),
  { type: 'response.output_item.done', item: thought },
  { type: 'response.output_text.done', item_id: 'msg_a', text: 'Let me look.' },
  { type: 'response.content_part.done', item_id: 'msg_a', part: text('Let me look.') },
  { type: 'response.output_item.done', item: message },
  ...calls.map((item) => ({ type: 'response.output_item.done', item })),
  { type: 'response.completed', response: whole },
];

const body = { model: 'chat', input: 'Hello', store: false };

test('events of Responses that lack their number, item or place get them', async (t) => {
  const gateway = await over(t, stream);
  const answer = await (await gateway.fetch('/v1/responses', { json: { ...body, stream: true } })).text();
  const events = answer
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    [...stream, { type: 'the part that a thought lacks' }].map((_, index) => index),
  );
  const ids = ['rs_a', 'msg_a', 'fc_cv_a_2', 'fc_cv_a_3'];
  for (const { type, item, item_id: itemId, output_index: index, content_index: part } of events) {
    if (/^response\.(created|in_progress|completed)$/.test(type)) continue;
    assert.equal(item?.id ?? itemId, ids[index], type);
    if (/content_part|_text\./.test(type)) assert.equal(part, 0, type);
  }
  const { response } = events.at(-1);
  assert.deepEqual(
    response.output.map((item: { id: string }) => item.id),
    ids,
  );
  assert.deepEqual(response.usage, { ...usage, total_tokens: 14, output_tokens_details: { reasoning_tokens: 0 } });
});

test("OpenAI's SDK puts such a stream together", async (t) => {
  const gateway = await over(t, stream);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
  const texts: string[] = [];
  const answer = client.responses.stream(body);
  answer.on('response.output_text.delta', ({ snapshot }) => texts.push(snapshot));
  const final = await answer.finalResponse();
  assert.deepEqual(texts, ['Let me ', 'Let me look.']);
  assert.deepEqual(
    final.output.map((item) => item.type === 'function_call' && [item.call_id, item.name, item.arguments]),
    [false, false, ...calls.map((one) => [one.call_id, one.name, one.arguments])],
  );
});

test("Vercel's AI SDK finds the text and the calls of such a stream", async (t) => {
  const gateway = await over(t, stream);
  const { responses } = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
  const inputSchema = jsonSchema({ type: 'object' });
  const answer = streamText({
    model: responses('chat'),
    prompt: 'Hello',
    tools: { f: tool({ inputSchema }), g: tool({ inputSchema }) },
    providerOptions: { openai: { store: false } },
  });
  assert.equal(await answer.text, 'Let me look.');
  assert.deepEqual(
    (await answer.toolCalls).map(({ toolName, input }) => [toolName, input]),
    calls.map((one) => [one.name, JSON.parse(one.arguments)]),
  );
});

test('a whole response gets the ids of its calls, and one that lacks nothing passes as it came', async (t) => {
  const gateway = await over(t, whole);
  const ask = async (from: TestGateway) => (await from.fetch('/v1/responses', { json: body })).text();
  const { output } = JSON.parse(await ask(gateway));
  assert.deepEqual(
    output.map((item: { id: string }) => item.id),
    ['rs_a', 'msg_a', 'fc_cv_a_2', 'fc_cv_a_3'],
  );
  const right = {
    ...whole,
    output: [thought, message],
    usage: { input_tokens: 9, output_tokens: 5, total_tokens: 14 },
  };
  assert.equal(await ask(await over(t, right)), JSON.stringify(right));
});

test('a stream of Responses that lacks nothing passes as it came', async (t) => {
  const place = { item_id: 'msg_a', output_index: 0 };
  const deltas = ['a', 'b', 'c'].map((delta) => ({ ...place, content_index: 0, delta }));
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...message, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, content_index: 0, part: text('') },
    ...deltas.map((delta) => ({ type: 'response.output_text.delta', ...delta })),
    { type: 'response.output_item.done', output_index: 0, item: message },
    {
      type: 'response.completed',
      response: { ...whole, output: [message], usage: { ...usage, total_tokens: 14, output_tokens_details: null } },
    },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
  const gateway = await over(t, events);
  const answer = await gateway.fetch('/v1/responses', { json: { ...body, stream: true } });
  assert.equal(await answer.text(), events.map(frameOf).join(''));
});
