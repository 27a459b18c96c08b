import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, describe, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { basePathOf, credentialOf, openEveryType, ways } from './every-type.ts';

/* The same conversations by every type of provider, with the official clients. */

const every = await openEveryType({ after: after as TestContext['after'] });
const messages = [{ role: 'user' as const, content: 'Hello there' }];
const tool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const { title, name: providerName, provider, isUsual, alias: model, dialect: asked, pathOf } of ways) {
  describe(title, () => {
    test('answers whole, at its own path and with its own credential', async () => {
      every.forget();
      const { data, response } = await every.openai.chat.completions.create({ model, messages }).withResponse();
      assert.match(data.choices[0]!.message.content!, /Hello there/);
      assert.equal(data.choices[0]!.finish_reason, 'stop');
      assert.ok(data.usage!.prompt_tokens > 0 && data.usage!.completion_tokens > 0);
      assert.equal(response.headers.get('x-culvert-provider'), providerName);
      const [request, ...more] = every.sent();
      assert.deepEqual(more, []);
      assert.equal(request!.path, pathOf('whole'));
      const credential = credentialOf(provider);
      if (credential !== null) assert.equal(request!.headers[credential[0]], credential[1]);
    });

    test('streams, and tells what was used', async () => {
      every.forget();
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      const stream = await every.openai.chat.completions.create({ model, messages, ...options });
      let text = '';
      let used = 0;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        used += chunk.usage?.completion_tokens ?? 0;
      }
      assert.match(text, /Hello there/);
      // Where the service gives no usage, the gateway estimates it for who asked.
      assert.ok(used > 0);
      const { path, body } = every.sent()[0]!;
      assert.equal(path, pathOf('stream'));
      if (asked !== 'openai-chat') return;
      const wished = (body as JsonObject).stream_options !== undefined;
      assert.equal(wished, provider.quirks.streamUsage, 'usage is asked for where the service knows how');
    });

    test('calls a tool, whole and streamed', async () => {
      const wish = { model, messages, tools: [tool], tool_choice: 'required' as const };
      const answer = await every.openai.chat.completions.create(wish);
      const [call] = answer.choices[0]!.message.tool_calls!;
      assert.ok(call?.type === 'function');
      assert.equal(call.function.name, 'get_weather');
      assert.equal(typeof JSON.parse(call.function.arguments).city, 'string');
      const stream = await every.openai.chat.completions.create({ ...wish, stream: true });
      let name = '';
      let args = '';
      for await (const chunk of stream) {
        const called = chunk.choices[0]?.delta.tool_calls?.[0]?.function;
        name += called?.name ?? '';
        args += called?.arguments ?? '';
      }
      assert.equal(name, 'get_weather');
      assert.equal(typeof JSON.parse(args).city, 'string');
    });

    if (asked === 'anthropic-messages') {
      test("answers Anthropic's client in its own format", async () => {
        every.forget();
        const answer = await every.anthropic.messages.create({ model, max_tokens: 64, messages });
        assert.ok(answer.content[0]?.type === 'text' && /Hello there/.test(answer.content[0].text));
        assert.ok((every.sent()[0]!.body as JsonObject).max_tokens === 64);
      });
    }

    for (const dialect of isUsual ? (provider.speaksToo ?? []) : []) {
      test(`speaks ${dialect} itself`, async () => {
        every.forget();
        if (dialect === 'anthropic-messages') {
          const answer = await every.anthropic.messages.create({ model, max_tokens: 64, messages });
          assert.ok(answer.content[0]?.type === 'text' && /Hello there/.test(answer.content[0].text));
          const { messages: at } = provider.paths;
          const expected = typeof at === 'string' ? basePathOf(provider) + at : at!.fromOrigin;
          assert.equal(every.sent()[0]!.path, expected);
          assert.equal(every.sent()[0]!.headers['anthropic-version'], '2023-06-01');
        } else {
          const answer = await every.openai.responses.create({ model, input: 'Hello there' });
          assert.match(answer.output_text, /Hello there/);
          assert.equal(every.sent()[0]!.path, basePathOf(provider) + provider.paths.responses);
        }
      });
    }
  });
}

/** Most of what a caller may send, but what only goes without tools. */
const whole: JsonObject = {
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Hello there', name: 'jo' },
    {
      role: 'assistant',
      content: 'One moment.',
      reasoning_content: 'A greeting.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Bonn"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Sun.' },
    { role: 'user', content: [{ type: 'text', text: 'And now?' }] },
  ],
  tools: [{ type: 'function', function: { ...tool.function, description: 'The weather.', strict: true } }],
  tool_choice: { type: 'function', function: { name: 'get_weather' } },
  parallel_tool_calls: false,
  temperature: 0.5,
  top_p: 0.75,
  top_k: 40,
  min_p: 0.1,
  n: 2,
  stop: ['END'],
  max_completion_tokens: 50,
  frequency_penalty: 0.5,
  presence_penalty: 0.25,
  repetition_penalty: 1.5,
  logit_bias: { '50256': -1 },
  logprobs: true,
  top_logprobs: 2,
  seed: 7,
  user: 'somebody',
  safety_identifier: 'somebody else',
  store: true,
  moderation: { model: 'omni-moderation-latest' },
  metadata: { a: 'b' },
  service_tier: 'flex',
  reasoning_effort: 'high',
  verbosity: 'low',
  prompt_cache_key: 'talk',
};
const formatted: JsonObject = {
  messages,
  response_format: { type: 'json_schema', json_schema: { name: 'place', schema: tool.function.parameters } },
  max_tokens: 50,
  reasoning_effort: 'none',
  stream: true,
};

/** What a type refuses, drops and is sent of it: a line each. Of OpenAI's format, members that are otherwise there. */
async function sentOf({ alias, title, dialect, model }: (typeof ways)[number], request: JsonObject): Promise<string> {
  const wish: JsonObject = { model: alias, ...request };
  const lines = [request.stream === true ? `${title}, streamed` : title];
  for (;;) {
    every.forget();
    const answer = await every.gateway.fetch('/v1/chat/completions', { json: wish });
    if (answer.ok) {
      await answer.text();
      lines.push(`drops ${answer.headers.get('x-culvert-dropped')}`);
      break;
    }
    const { error } = (await answer.json()) as { error: { param: string | null; message: string } };
    assert.ok(answer.status === 400 && error.param !== null && error.param in wish, `${title}: ${error.message}`);
    lines.push(`refuses ${error.param}`);
    delete wish[error.param];
    if (error.param === 'logprobs') delete wish.top_logprobs;
  }
  const bodies = every.sent().map(({ body }) => body as JsonObject);
  lines.push(`requests ${bodies.length}`);
  const before: JsonObject = { ...(dialect === 'openai-chat' && wish), model };
  for (const [name, value] of Object.entries(bodies[0]!)) {
    const json = JSON.stringify(value);
    if (json !== JSON.stringify(before[name])) lines.push(`${name}: ${json}`);
  }
  for (const name of Object.keys(before)) if (!(name in bodies[0]!)) lines.push(`without ${name}`);
  return lines.join('\n  ');
}

test('each type is sent of a whole request what it takes, and nothing that it refuses', async () => {
  const found: string[] = [];
  for (const way of ways) for (const request of [whole, formatted]) found.push(await sentOf(way, request));
  const file = new URL('sent.txt', import.meta.url);
  if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, `${found.join('\n\n')}\n`);
  assert.deepEqual(found, readFileSync(file, 'utf8').trimEnd().split('\n\n'));
});
