import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam, Tool, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatPathOf, chatsOf, limitedKey, overBothFormats } from './formats.ts';

const ask = (content: string): MessageParam[] => [{ role: 'user', content }];
const hello = { model: 'chat', max_tokens: 1_000, messages: ask('Hello there') };

const tools: Tool[] = ['get_weather', 'get_time'].map((name) => ({
  name,
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}));

/** Its base URL is without `/v1`. */
function clientOf({ gateway }: ClientWorld, apiKey = testKey): Anthropic {
  return new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
}

overBothFormats('anthropic: a whole answer', async (world) => {
  const { data: message, response } = await clientOf(world).messages.create(hello).withResponse();
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.deepEqual(
    message.content.map((block) => (block.type === 'text' ? block.text : block.type)),
    ['Mock answer to: Hello there'],
  );
  assert.equal(message.stop_reason, 'end_turn');
  assert.equal(message.stop_sequence, null);
  assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
  assert.match(response.headers.get('request-id') ?? '', /^req_/);
  assert.equal(response.headers.get('x-culvert-provider'), 'up');
  assert.equal(response.headers.get('x-culvert-cost'), '1');
});

overBothFormats('anthropic: a raw stream, event by event', async (world) => {
  const types: string[] = [];
  let text = '';
  for await (const event of await clientOf(world).messages.create({ ...hello, stream: true })) {
    types.push(event.type);
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
  }
  assert.equal(text, 'Mock answer to: Hello there');
  const once = types.filter((type, i) => type !== types[i - 1]);
  assert.deepEqual(once, [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

overBothFormats('anthropic: the .stream() helper', async (world) => {
  const stream = clientOf(world).messages.stream(hello);
  const deltas: string[] = [];
  stream.on('text', (delta) => deltas.push(delta));
  const message = await stream.finalMessage();
  assert.equal(deltas.join(''), 'Mock answer to: Hello there');
  assert.equal(await stream.finalText(), 'Mock answer to: Hello there');
  assert.equal(message.stop_reason, 'end_turn');
  assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 1);
});

overBothFormats('anthropic: a stream says what a whole answer says', async (world) => {
  const client = clientOf(world);
  const whole = await client.messages.create(hello);
  const { usage, content, stop_reason } = await client.messages.stream(hello).finalMessage();
  assert.deepEqual(content, whole.content);
  assert.equal(stop_reason, whole.stop_reason);
  assert.equal(usage.input_tokens, whole.usage.input_tokens);
  assert.equal(usage.output_tokens, whole.usage.output_tokens);
});

for (const form of ['whole', 'stream'] as const) {
  overBothFormats(`anthropic: parallel tool calls, ${form}, there and back`, async (world) => {
    const client = clientOf(world);
    const messages = ask('Please call get_weather and call get_time');
    const send = () => {
      const body = { model: 'chat', max_tokens: 1_000, messages, tools };
      return form === 'whole' ? client.messages.create(body) : client.messages.stream(body).finalMessage();
    };
    const first = await send();
    assert.equal(first.stop_reason, 'tool_use');
    const calls = first.content.filter((block): block is ToolUseBlock => block.type === 'tool_use');
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['get_weather', 'get_time'],
    );
    assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
    messages.push({ role: 'assistant', content: first.content });
    messages.push({
      role: 'user',
      content: calls.map(({ id, input }) => {
        assert.equal(typeof (input as { city: string }).city, 'string');
        return { type: 'tool_result', tool_use_id: id, content: '{"result":"fine"}' };
      }),
    });
    const last = await send();
    assert.equal(last.stop_reason, 'end_turn');
    assert.match(last.content[0]?.type === 'text' ? last.content[0].text : '', /Mock answer/);
    assert.equal(chatsOf(world).length, 2);
  });

  overBothFormats(`anthropic: thinking, ${form}, shown to who asks for it and taken back`, async (world) => {
    const client = clientOf(world);
    const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;
    const body = { model: 'thinks', max_tokens: 4_000, messages: ask('Hello'), thinking };
    const message =
      form === 'whole' ? await client.messages.create(body) : await client.messages.stream(body).finalMessage();
    assert.deepEqual(
      message.content.map(({ type }) => type),
      ['thinking', 'text'],
    );
    const messages: MessageParam[] = [...body.messages, { role: 'assistant', content: message.content }];
    const next = await client.messages.create({ ...body, messages: [...messages, ...ask('And?')] });
    assert.equal(next.stop_reason, 'end_turn');
    const sent = chatsOf(world)[1]!;
    const turn = (sent.messages as Record<string, unknown>[])[1]!;
    if (world.format === 'anthropic') assert.deepEqual(turn.content, message.content);
    else assert.equal(typeof turn.reasoning_content, 'string');
  });
}

overBothFormats('anthropic: without thinking the first block is the text', async (world) => {
  const { content } = await clientOf(world).messages.create({
    ...hello,
    model: world.format === 'openai' ? 'thinks' : 'chat',
  });
  assert.equal(content[0]?.type, 'text');
});

overBothFormats('anthropic: a forced tool, a stop sequence and a limit have their stop reasons', async (world) => {
  const client = clientOf(world);
  const forced = await client.messages.create({ ...hello, tools, tool_choice: { type: 'tool', name: 'get_time' } });
  assert.equal(forced.stop_reason, 'tool_use');
  const limited = await client.messages.create({ ...hello, max_tokens: 2 });
  assert.equal(limited.stop_reason, 'max_tokens');
  assert.equal((await client.messages.create({ ...hello, stop_sequences: ['to:'] })).content.length, 1);
});

overBothFormats('anthropic: structured output by output_config', async (world) => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const { content } = await clientOf(world).messages.create({
    ...hello,
    output_config: { format: { type: 'json_schema', schema } },
  });
  const parsed = JSON.parse(content[0]?.type === 'text' ? content[0].text : '') as { city: unknown };
  assert.equal(typeof parsed.city, 'string');
});

overBothFormats('anthropic: an image and a document', async (world) => {
  const message = await clientOf(world).messages.create({
    ...hello,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A letter.' }, title: 'Letter' },
          { type: 'text', text: 'Sum up' },
        ],
      },
    ],
  });
  assert.equal(message.stop_reason, 'end_turn');
  assert.match(JSON.stringify(chatsOf(world)[0]), /iVBORw0KGgo=.*A letter\./);
});

overBothFormats('anthropic: tokens are counted, without an answer', async (world) => {
  const { data: counted, response } = await clientOf(world)
    .messages.countTokens({ model: 'chat', messages: ask('Hello there'), tools })
    .withResponse();
  assert.ok(counted.input_tokens > 5 && counted.input_tokens < 500);
  const own = world.format === 'anthropic';
  assert.equal(response.headers.get('x-culvert-token-count'), own ? null : 'estimated');
  assert.equal(chatsOf(world).length, own ? 1 : 0);
});

overBothFormats('anthropic: betas are sent on where Anthropic answers', async (world) => {
  await clientOf(world).beta.messages.create({ ...hello, betas: ['interleaved-thinking-2025-05-14'] });
  const [request] = world.upstream.requests().filter(({ method }) => method === 'POST');
  const sent = request?.headers['anthropic-beta'];
  assert.equal(sent, world.format === 'anthropic' ? 'interleaved-thinking-2025-05-14' : undefined);
});

overBothFormats('anthropic: abort in mid-stream ends the loop, and the upstream is closed', async (world) => {
  const controller = new AbortController();
  const stream = await clientOf(world).messages.create(
    { ...hello, model: 'slow', stream: true },
    { signal: controller.signal },
  );
  let deltas = 0;
  for await (const event of stream) if (event.type === 'content_block_delta' && ++deltas === 5) controller.abort();
  const seen = await world.upstream.when((request) => request.method === 'POST' && request.ended_ms !== null);
  assert.equal(seen.aborted, true);
});

overBothFormats('anthropic: errors are of its classes, with our message and request id', async (world) => {
  const rejects = async (body: object, key: string, kind: new (...args: never[]) => Error, words: RegExp) => {
    await assert.rejects(clientOf(world, key).messages.create({ ...hello, ...body } as typeof hello), (error) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, words);
      assert.match((error as InstanceType<typeof Anthropic.APIError>).requestID ?? '', /^req_/);
      return true;
    });
  };
  await rejects({}, 'sk-cv-no-such-key-0000', Anthropic.AuthenticationError, /authentication_error/);
  await rejects({ model: 'nope' }, testKey, Anthropic.NotFoundError, /'nope' does not exist/);
  await rejects({}, limitedKey, Anthropic.PermissionDeniedError, /Allowed models: limited/);
  await rejects({ max_tokens: 'many' }, testKey, Anthropic.BadRequestError, /max_tokens/);
  world.upstream.script(chatPathOf(world), ['status=400;message=that is odd', '8x status=503']);
  await rejects({}, testKey, Anthropic.BadRequestError, /that is odd/);
  await rejects({}, testKey, Anthropic.InternalServerError, /All upstream providers failed/);
});

overBothFormats('anthropic: an answer that breaks off is an APIError, never a short message', async (world) => {
  world.upstream.script(chatPathOf(world), ['cut=6events', 'error=6;message=out of order', 'eof=6events']);
  for (const _ of ['cut', 'error', 'eof']) {
    const events: string[] = [];
    await assert.rejects(
      async () => {
        for await (const event of await clientOf(world).messages.create({ ...hello, stream: true }))
          events.push(event.type);
      },
      (error) => error instanceof Anthropic.APIError && error.type === 'api_error',
    );
    assert.ok(events.includes('content_block_delta') && !events.includes('message_stop'), events.join());
  }
});

overBothFormats('anthropic: the list of models', async (world) => {
  const ids: string[] = [];
  for await (const model of clientOf(world).models.list()) ids.push(model.id);
  assert.ok(ids.includes('chat'), ids.join());
});
