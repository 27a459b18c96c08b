import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Threads of Anthropic's SDK: the server holds the conversation. Models of other formats hold none, so it is replayed. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
    },
    models: { chat: { targets: ['openai/mock/ok'] }, claude: { targets: ['claude/claude-sonnet-4-5'] } },
  },
);
const anthropic = new Anthropic({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 });
const sent = () => upstream.requests().at(-1)!.body as { messages: { role: string }[]; thread?: { type: string } };

for (const behavior of ['error', 'continue_unthreaded'] as const) {
  test(`a thread over a model of another format goes on, its conversation sent whole (${behavior})`, async () => {
    const thread = anthropic.beta.messages.thread({
      model: 'chat',
      max_tokens: 64,
      unsupportedRequestBehavior: behavior,
    });
    for (const [turn, text] of ['one', 'two', 'three', 'four'].entries()) {
      const reply = await thread.send({ role: 'user', content: text });
      assert.equal(reply.type, 'message');
      assert.equal(sent().messages.length, 2 * turn + 1, `turn ${turn}`);
      assert.equal(sent().thread, undefined);
    }
    assert.equal(thread.messages.length, 8);
  });
}

test('a streamed thread over a model of another format goes on', async () => {
  const thread = anthropic.beta.messages.thread({ model: 'chat', max_tokens: 64 });
  await thread.stream({ role: 'user', content: 'one' }).finalMessage();
  await thread.stream({ role: 'user', content: 'two' }).finalMessage();
  assert.equal(sent().messages.length, 3);
});

test('a thread over Anthropic stays there: each turn sends its own messages alone', async () => {
  const thread = anthropic.beta.messages.thread({ model: 'claude', max_tokens: 64 });
  const first = await thread.send({ role: 'user', content: 'one' });
  await thread.send({ role: 'user', content: 'two' });
  assert.deepEqual(sent().thread, { type: 'continue', previous_message_id: first.id });
  assert.equal(sent().messages.length, 1);
});

test('a thread that Anthropic has lost is replayed there, and its model goes on serving others', async (t) => {
  const bodies: { thread?: { type: string }; messages: object[] }[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    response.setHeader('content-type', 'application/json');
    if (request.method !== 'POST') return response.end('{"data":[]}');
    const body = JSON.parse(text);
    bodies.push(body);
    if (body.thread?.type === 'continue') {
      const details = { error_code: 'thread_not_found', error_visibility: 'user_facing' };
      response.statusCode = 404;
      return response.end(
        JSON.stringify({ type: 'error', error: { type: 'not_found_error', message: 'No such thread.', details } }),
      );
    }
    const content = [{ type: 'text', text: 'Hi' }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const id = `msg_${bodies.length}`;
    response.end(
      JSON.stringify({ id, type: 'message', role: 'assistant', model: 'c', content, stop_reason: 'end_turn', usage }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const own = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'b' } },
    models: { claude: { targets: ['claude/c'] } },
  });
  const client = new Anthropic({ apiKey: own.key, baseURL: own.url, maxRetries: 0 });
  const thread = client.beta.messages.thread({ model: 'claude', max_tokens: 64 });
  await thread.send({ role: 'user', content: 'one' });
  await thread.send({ role: 'user', content: 'two' });
  assert.deepEqual(
    bodies.map(({ thread: sentThread, messages }) => [sentThread?.type, messages.length]),
    [
      ['create', 1],
      ['continue', 1],
      ['create', 3],
    ],
  );
});

test("a thread moves to a model of another format, and another key's is not found", async () => {
  const began = await anthropic.beta.messages.create({
    model: 'claude',
    max_tokens: 64,
    messages: [{ role: 'user', content: 'one' }],
    thread: { type: 'create' },
  });
  const next = (model: string, key = gateway.key) =>
    new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 }).beta.messages.create({
      model,
      max_tokens: 64,
      messages: [{ role: 'user', content: 'two' }],
      thread: { type: 'continue', previous_message_id: began.id },
    });
  await next('claude');
  for (const refused of [() => next('chat'), () => next('claude', otherKey)]) {
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof Anthropic.NotFoundError);
      const { details, param } = (error.error as { error: { details: object; param: string } }).error;
      assert.deepEqual(details, { error_code: 'thread_not_found' });
      assert.equal(param, 'thread.previous_message_id');
      return true;
    });
  }
});

for (const thread of ['create', { type: 'fork' }, { type: 'continue' }, { type: 'continue', previous_message_id: 7 }]) {
  test(`${JSON.stringify(thread)} is refused over a model of another format: nothing of a conversation is lost`, async () => {
    const messages = [{ role: 'user', content: 'two' }];
    const response = await gateway.fetch('/v1/messages', { json: { model: 'chat', max_tokens: 9, messages, thread } });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.equal(response.status, 400);
    assert.ok(error.param.startsWith('thread'), error.param);
    assert.match(error.message, /thread/);
  });
}

test('Anthropic judges a thread of its own', async () => {
  const messages = [{ role: 'user', content: 'two' }];
  const thread = { type: 'fork' };
  const response = await gateway.fetch('/v1/messages', { json: { model: 'claude', max_tokens: 9, messages, thread } });
  assert.equal(response.status, 200);
  assert.deepEqual(sent().thread, thread);
});
