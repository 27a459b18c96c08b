import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatPathOf, chatsOf, overBothFormats } from './formats.ts';

const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];

const tools: ChatCompletionTool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}));

function clientOf({ baseURL }: ClientWorld, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL, apiKey: testKey, maxRetries });
}

overBothFormats('openai: a whole answer', async (world) => {
  const { data: answer, response } = await clientOf(world)
    .chat.completions.create({ model: 'chat', messages: ask('Hello there') })
    .withResponse();
  assert.equal(answer.object, 'chat.completion');
  assert.equal(answer.choices[0]?.message.content, 'Mock answer to: Hello there');
  assert.equal(answer.choices[0]?.finish_reason, 'stop');
  assert.ok(answer.usage!.prompt_tokens > 0 && answer.usage!.completion_tokens > 0);
  assert.equal(answer.usage!.total_tokens, answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
  assert.equal(response.headers.get('x-culvert-provider'), 'up');
});

overBothFormats('openai: a stream, its usage shown only when asked for', async (world) => {
  for (const usage of ['asked', 'not asked'] as const) {
    const stream = await clientOf(world).chat.completions.create({
      model: 'chat',
      messages: ask('Hello there'),
      stream: true,
      ...(usage === 'asked' ? { stream_options: { include_usage: true } } : {}),
    });
    let text = '';
    let usages = 0;
    const finishes: string[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      if (chunk.usage) usages++;
      if (usage === 'not asked') assert.equal(chunk.choices.length, 1);
    }
    assert.equal(text, 'Mock answer to: Hello there');
    assert.deepEqual(finishes, ['stop']);
    assert.equal(usages, usage === 'asked' ? 1 : 0);
  }
});

overBothFormats('openai: the .stream() helper', async (world) => {
  const stream = clientOf(world).chat.completions.stream({ model: 'chat', messages: ask('Hello there') });
  const deltas: string[] = [];
  stream.on('content', (delta) => deltas.push(delta));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0]?.message.content, 'Mock answer to: Hello there');
  assert.equal(final.choices[0]?.finish_reason, 'stop');
  assert.equal(deltas.join(''), 'Mock answer to: Hello there');
});

for (const form of ['whole', 'stream'] as const) {
  overBothFormats(`openai: parallel tool calls, ${form}, there and back`, async (world) => {
    const client = clientOf(world);
    const messages = ask('Please call get_weather and call get_time');
    const send = async () =>
      form === 'whole'
        ? await client.chat.completions.create({ model: 'chat', messages, tools })
        : await client.chat.completions.stream({ model: 'chat', messages, tools }).finalChatCompletion();
    const first = (await send()).choices[0]!;
    assert.equal(first.finish_reason, 'tool_calls');
    const calls = first.message.tool_calls ?? [];
    const names = calls.map((call) => (call.type === 'function' ? call.function.name : call.type));
    assert.deepEqual(names, ['get_weather', 'get_time']);
    assert.equal(new Set(calls.map((call) => call.id)).size, 2);
    messages.push(first.message);
    for (const call of calls) {
      assert.ok(call.type === 'function' && typeof JSON.parse(call.function.arguments).city === 'string');
      messages.push({ role: 'tool', tool_call_id: call.id, content: '{"result":"fine"}' });
    }
    const last = (await send()).choices[0]!;
    assert.equal(last.finish_reason, 'stop');
    assert.match(last.message.content ?? '', /Mock answer/);
    assert.equal(chatsOf(world).length, 2);
  });
}

overBothFormats('openai: runTools goes round until the model has its answer', async (world) => {
  const asked: string[] = [];
  const runner = clientOf(world).chat.completions.runTools({
    model: 'chat',
    messages: ask('call get_weather'),
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'The weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          parse: (text: string) => JSON.parse(text) as { city: string },
          function: ({ city }: { city: string }) => {
            asked.push(city);
            return 'sunny';
          },
        },
      },
    ],
  });
  assert.match((await runner.finalContent()) ?? '', /Mock answer/);
  assert.equal(asked.length, 1);
});

overBothFormats('openai: structured output by json_schema, parsed', async (world) => {
  const shape = z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) });
  const parsed = await clientOf(world).chat.completions.parse({
    model: 'chat',
    messages: ask('The weather?'),
    response_format: zodResponseFormat(shape, 'weather'),
  });
  const { message, finish_reason } = parsed.choices[0]!;
  assert.ok(shape.safeParse(message.parsed).success, message.content ?? '');
  assert.equal(finish_reason, 'stop');
  assert.equal(message.tool_calls?.length ?? 0, 0);
});

overBothFormats('openai: json_object gives an object', async (world) => {
  const answer = await clientOf(world).chat.completions.create({
    model: 'chat',
    messages: ask('Answer in JSON'),
    response_format: { type: 'json_object' },
  });
  const { message, finish_reason } = answer.choices[0]!;
  assert.equal(typeof JSON.parse(message.content ?? ''), 'object');
  assert.equal(finish_reason, 'stop');
});

overBothFormats('openai: json_object behind the result of a tool gives an object', async (world) => {
  const call = { id: 'call_1', type: 'function' as const, function: { name: 'get_weather', arguments: '{}' } };
  const answer = await clientOf(world).chat.completions.create({
    model: 'chat',
    messages: [
      ...ask('Answer in JSON'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'fine' },
    ],
    tools: [{ type: 'function', function: { name: 'get_weather' } }],
    response_format: { type: 'json_object' },
  });
  const { message, finish_reason } = answer.choices[0]!;
  assert.equal(typeof JSON.parse(message.content ?? ''), 'object');
  assert.deepEqual([finish_reason, message.tool_calls?.length ?? 0], ['stop', 0]);
});

for (const form of ['whole', 'stream'] as const) {
  overBothFormats(`openai: n = 3, ${form}: three choices, one usage`, async (world) => {
    const body = { model: 'chat', messages: ask('Hello'), n: 3 };
    const client = clientOf(world);
    const answer =
      form === 'whole'
        ? await client.chat.completions.create(body)
        : await client.chat.completions
            .stream({ ...body, stream_options: { include_usage: true } })
            .finalChatCompletion();
    assert.deepEqual(
      answer.choices.map(({ index, finish_reason }) => [index, finish_reason]),
      [
        [0, 'stop'],
        [1, 'stop'],
        [2, 'stop'],
      ],
    );
    for (const { message } of answer.choices) assert.match(message.content ?? '', /^Mock answer to: Hello/);
    assert.ok(answer.usage!.completion_tokens > 0);
  });
}

overBothFormats('openai: logprobs come where the provider has them, else 400 names the field', async (world) => {
  const asked = clientOf(world).chat.completions.create({
    model: 'chat',
    messages: ask('Hello'),
    logprobs: true,
    top_logprobs: 2,
  });
  if (world.format === 'openai') {
    const first = (await asked).choices[0]?.logprobs?.content?.[0];
    assert.equal(first?.top_logprobs.length, 2);
  } else {
    await assert.rejects(asked, (error) => error instanceof OpenAI.BadRequestError && /logprobs/.test(error.message));
  }
});

overBothFormats('openai: AbortController in mid-stream ends the loop, and the upstream is closed', async (world) => {
  const controller = new AbortController();
  const stream = await clientOf(world).chat.completions.create(
    { model: 'slow', messages: ask('Hello'), stream: true },
    { signal: controller.signal },
  );
  let chunks = 0;
  for await (const _ of stream) if (++chunks === 5) controller.abort();
  const seen = await world.upstream.when((request) => request.method === 'POST' && request.ended_ms !== null);
  assert.equal(seen.aborted, true);
});

overBothFormats(
  'openai: a failing upstream is InternalServerError 502, a refusing one BadRequestError with its words',
  async (world) => {
    world.upstream.script(chatPathOf(world), ['8x status=500']);
    await assert.rejects(
      clientOf(world, 0).chat.completions.create({ model: 'chat', messages: ask('Hello') }),
      (error) => error instanceof OpenAI.InternalServerError && error.status === 502,
    );
    world.upstream.clear();
    world.upstream.script(chatPathOf(world), ['always status=400;message=too%20odd']);
    await assert.rejects(
      clientOf(world, 2).chat.completions.create({ model: 'limited', messages: ask('Hello') }),
      (error) => error instanceof OpenAI.BadRequestError && /up: .*too odd/.test(error.message),
    );
    assert.equal(chatsOf(world).length, 1);
  },
);
