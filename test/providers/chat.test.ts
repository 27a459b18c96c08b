import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
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
      // The upstream of the tests gets its path from it.
      assert.equal(used > 0, provider.quirks.streamUsage);
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

    test('fields that it refuses do not reach it and are listed, and those that it spells otherwise do', async () => {
      if (provider.dialect !== 'openai-chat' || !isUsual) return;
      every.forget();
      const { omit, omitInChat = [], rename, logprobs, seed } = provider.quirks;
      const wish: JsonObject = { ...refusable };
      if (!logprobs) {
        const asked = every.openai.chat.completions.create({ model, messages, logprobs: true });
        await assert.rejects(asked, { status: 400, param: 'logprobs' });
        delete wish.logprobs;
        delete wish.top_logprobs;
      }
      const { response } = await every.openai.chat.completions
        .create({ model, messages, ...wish } as ChatCompletionCreateParams & { stream?: false })
        .withResponse();
      const dropped = (response.headers.get('x-culvert-dropped') ?? '').split(/[,;]\s*/);
      const body = every.sent()[0]!.body as JsonObject;
      const refused = [...omit, ...omitInChat, ...(seed ? [] : ['seed'])];
      for (const field of Object.keys(wish)) {
        const isRefused = refused.includes(field);
        const sentAs = rename[field] ?? field;
        assert.equal(body[sentAs] === undefined, isRefused, `${field} as ${sentAs}: ${JSON.stringify(body)}`);
        assert.equal(
          dropped.some((one) => one === field || one.startsWith(`${field}=`)),
          isRefused,
          `${field}: ${dropped}`,
        );
      }
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

/** Of each field that some type refuses or spells otherwise, a value that is not its default. */
const refusable = {
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  logit_bias: { '50256': -1 },
  logprobs: true,
  top_logprobs: 2,
  seed: 7,
  user: 'somebody',
  store: true,
  metadata: { a: 'b' },
  service_tier: 'flex',
  parallel_tool_calls: false,
  max_completion_tokens: 50,
};
