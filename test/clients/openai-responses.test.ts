import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import OpenAI, { APIError, RateLimitError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseCreateParamsNonStreaming, ResponseInput, Tool } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/*
 * OpenAI's SDK at `/v1/responses`, over a provider that speaks Responses (its own bytes), and over those whose answers
 * must be made into them.
 */

const formats = ['responses', 'chat', 'anthropic'] as const;

interface World {
  client: OpenAI;
  gateway: TestGateway;
  upstream: Upstream;
  format: (typeof formats)[number];
}

const paths = { responses: '/v1/responses', chat: '/v1/chat/completions', anthropic: '/v1/messages' } as const;

function overAll(name: string, run: (world: World, t: TestContext) => Promise<void>): void {
  for (const format of formats) {
    test(`openai responses: ${name} (${format} upstream)`, async (t) => {
      const upstream = await startUpstream();
      t.after(() => upstream.close());
      const provider = {
        type: format === 'anthropic' ? 'anthropic' : 'openai',
        base_url: `${upstream.url}/v1`,
        api_key: 'upstream-secret',
        ...(format === 'responses' && { dialects: ['openai-responses'] }),
      };
      const gateway = await startGateway(t, {
        providers: { up: provider },
        models: {
          chat: { targets: [{ provider: 'up', model: 'mock/ok' }] },
        },
        plans: { default: { windows: { week: 3 }, rpm: 'off' } },
        keys: [
          { key: testKey, account: 'dev', name: 'test' },
          { key: otherKey, account: 'other', name: 'test' },
        ],
      });
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
      await run({ client, gateway, upstream, format }, t);
    });
  }
}

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const patch: Tool = { type: 'custom', name: 'apply_patch', description: 'Edits files.' };

overAll('what names the caller and its cache comes back, whole and streamed', async ({ client, format }) => {
  if (format === 'responses') return;
  const said = { prompt_cache_key: 'thread-7', safety_identifier: 'user-hash' };
  const asked = { model: 'chat', input: 'Hello there', ...said };
  const shown = ({ prompt_cache_key, safety_identifier, background }: OpenAI.Responses.Response) => ({
    prompt_cache_key,
    safety_identifier,
    background,
  });
  assert.deepEqual(shown(await client.responses.create(asked)), { ...said, background: false });
  for await (const event of await client.responses.create({ ...asked, stream: true })) {
    if ('response' in event) assert.deepEqual(shown(event.response), { ...said, background: false }, event.type);
  }
  const begun = await client.responses.create({ ...asked, background: true });
  assert.deepEqual(shown(begun), { ...said, background: true });
});

overAll("responses have the members that OpenRouter's SDKs and Koog require", async ({ client, format }) => {
  if (format === 'responses') return;
  const startedS = Math.floor(Date.now() / 1_000);
  const check = (response: OpenAI.Responses.Response) => {
    const {
      completed_at: completedS,
      frequency_penalty,
      presence_penalty,
    } = { ...response } as Record<string, unknown>;
    assert.deepEqual({ frequency_penalty, presence_penalty }, { frequency_penalty: 0, presence_penalty: 0 });
    assert.deepEqual(response.text, { format: { type: 'text' } });
    if (response.status === 'in_progress') assert.equal(completedS, null);
    else assert.ok(Number.isInteger(completedS) && Number(completedS) >= startedS, String(completedS));
    return response.status;
  };
  const asked = { model: 'chat', input: 'Hello there' };
  assert.equal(check(await client.responses.create(asked)), 'completed');
  const states = new Set<string | undefined>();
  for await (const event of await client.responses.create({ ...asked, stream: true }))
    if ('response' in event) states.add(check(event.response));
  assert.deepEqual([...states], ['in_progress', 'completed']);
});

overAll('a whole answer', async ({ client }) => {
  const { data: response, response: http } = await client.responses
    .create({ model: 'chat', input: 'Hello there' })
    .withResponse();
  assert.equal(response.object, 'response');
  assert.equal(response.status, 'completed');
  assert.equal(response.output_text, 'Mock answer to: Hello there');
  assert.ok(response.usage!.input_tokens > 0 && response.usage!.output_tokens > 0);
  assert.match(response.id, /^resp_/);
  assert.equal(http.headers.get('x-culvert-provider'), 'up');
});

overAll('the raw events of a stream', async ({ client }) => {
  const stream = await client.responses.create({ model: 'chat', input: 'Hello there', stream: true });
  const types: string[] = [];
  let text = '';
  for await (const event of stream) {
    if (types.at(-1) !== event.type) types.push(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed') assert.equal(event.response.output.length, 1);
  }
  assert.equal(text, 'Mock answer to: Hello there');
  assert.deepEqual(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

overAll('the .stream() helper', async ({ client }) => {
  const stream = client.responses.stream({ model: 'chat', input: 'Hello there' });
  const deltas: string[] = [];
  stream.on('response.output_text.delta', (event) => deltas.push(event.delta));
  const final = await stream.finalResponse();
  assert.equal(final.output_text, 'Mock answer to: Hello there');
  assert.equal(deltas.join(''), 'Mock answer to: Hello there');
  assert.equal(final.status, 'completed');
});

for (const form of ['whole', 'stream'] as const) {
  overAll(`parallel calls, one of a custom tool, there and back, ${form}`, async ({ client }) => {
    const ask: ResponseCreateParamsNonStreaming = {
      model: 'chat',
      tools: [weather, patch],
      input: [{ role: 'user', content: 'Please call get_weather and call apply_patch' }],
    };
    const send = async (params: ResponseCreateParamsNonStreaming) =>
      form === 'whole'
        ? await client.responses.create(params)
        : await client.responses.stream({ ...params, stream: true }).finalResponse();
    const first = await send(ask);
    const [called, patched] = first.output;
    assert.ok(called?.type === 'function_call' && called.name === 'get_weather');
    assert.deepEqual(Object.keys(JSON.parse(called.arguments) as object), ['city']);
    assert.ok(patched?.type === 'custom_tool_call', patched?.type);
    assert.equal(patched.input, 'mock', 'text, not the JSON that stood for it');

    const second = await send({
      ...ask,
      input: [
        ...(ask.input as ResponseInput),
        ...(first.output as ResponseInput),
        { type: 'function_call_output', call_id: called.call_id, output: 'rain' },
        { type: 'custom_tool_call_output', call_id: patched.call_id, output: 'done' },
      ],
    });
    assert.equal(second.output_text, 'Mock answer to: Please call get_weather and call apply_patch');
  });
}

overAll('thoughts, and the next turn that brings them back', async ({ client, upstream, format }) => {
  const input: ResponseInput = [{ role: 'user', content: 'Think, then call get_weather' }];
  const params = { model: 'chat', tools: [weather], reasoning: { effort: 'medium', summary: 'auto' } } as const;
  const first = await client.responses.stream({ ...params, tools: [weather], input }).finalResponse();
  const thought = first.output.find((item) => item.type === 'reasoning');
  // The chat simulator shows no thoughts for an effort alone.
  if (format === 'chat') return;
  assert.ok(thought !== undefined && thought.summary[0]!.text.startsWith('The user wants'));
  assert.ok(thought.encrypted_content);
  const call = first.output.find((item) => item.type === 'function_call')!;
  await client.responses.create({
    ...params,
    tools: [weather],
    input: [
      ...input,
      ...(first.output as ResponseInput),
      { type: 'function_call_output', call_id: call.call_id, output: 'rain' },
    ],
  });
  const sent = upstream.requests().at(-1)!.body as Record<string, unknown>;
  if (format === 'anthropic') {
    const turn = (sent.messages as { role: string; content: { type: string; signature?: string }[] }[])[1]!;
    assert.equal(turn.content[0]!.type, 'thinking');
    assert.match(turn.content[0]!.signature!, /^c2ltdWxhdGVk/);
  } else assert.equal(JSON.stringify(sent.input).includes('gAAAAABsimulated'), true);
});

overAll('structured output, parsed', async ({ client }) => {
  const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number() }), 'weather');
  const parsed = await client.responses.parse({ model: 'chat', input: 'Weather?', text: { format } });
  assert.equal(typeof parsed.output_parsed?.city, 'string');
  const streamed = await client.responses
    .stream({ model: 'chat', input: 'Weather?', text: { format } })
    .finalResponse();
  assert.equal(typeof streamed.output_parsed?.degrees, 'number');
});

overAll('an answer that reached its limit is incomplete', async ({ client }) => {
  for (const form of ['whole', 'stream'] as const) {
    const params = { model: 'chat', input: 'Tell me a long story about the sea', max_output_tokens: 16 };
    const story = { ...params, input: `${'word '.repeat(40)}end` };
    const response =
      form === 'whole' ? await client.responses.create(story) : await client.responses.stream(story).finalResponse();
    assert.equal(response.status, 'incomplete');
    assert.equal(response.incomplete_details?.reason, 'max_output_tokens');
  }
});

overAll(
  'a stream that breaks off throws, with its message and after its text, for who only iterates too',
  async (world) => {
    const { client, upstream, format } = world;
    const request = { model: 'chat', input: 'Hello there, and many more words than that' };
    const broken = (error: unknown) =>
      error instanceof OpenAI.APIError &&
      error.code === 'server_error' &&
      /came to a premature end/.test(error.message);
    upstream.script(paths[format], ['chunks=20;eof=10events', 'chunks=20;eof=10events']);
    await assert.rejects(client.responses.stream(request).finalResponse(), broken);
    let text = '';
    await assert.rejects(async () => {
      for await (const event of await client.responses.create({ ...request, stream: true }))
        if (event.type === 'response.output_text.delta') text += event.delta;
    }, broken);
    assert.notEqual(text, '');
  },
);

overAll('a spent window: a string code, which stops clients at once', async ({ client }) => {
  for (let i = 0; i < 3; i++) await client.responses.create({ model: 'chat', input: 'Hi' });
  await assert.rejects(client.responses.create({ model: 'chat', input: 'Hi' }), (error) => {
    assert.ok(error instanceof RateLimitError);
    assert.equal(error.code, 'insufficient_quota');
    assert.match(error.message, /7-day window, 3 of 3 requests used/);
    assert.equal(error.headers.get('retry-after'), null);
    return true;
  });
});

overAll('errors keep class, code and message', async ({ client, upstream, format }) => {
  await assert.rejects(client.responses.create({ model: 'nope', input: 'Hi' }), (error) => {
    assert.ok(error instanceof APIError && error.status === 404);
    assert.equal(error.code, 'model_not_found');
    return true;
  });
  const tooLong =
    format === 'anthropic'
      ? 'status=400;message=prompt is too long: 210000 tokens > 200000 maximum'
      : 'status=400;code=context_length_exceeded';
  upstream.script(paths[format], [tooLong]);
  await assert.rejects(client.responses.create({ model: 'chat', input: 'Hi' }), (error) => {
    assert.ok(error instanceof APIError && error.status === 400);
    assert.equal(error.code, 'context_length_exceeded');
    return true;
  });
});
