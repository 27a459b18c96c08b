import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Messages and Responses over a provider that speaks Gemini's format, by the vendors' own SDKs. The upstream refuses, as
 * Google does, a running turn whose first call comes back without its thought's signature.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: { google: { type: 'gemini', base_url: upstream.url, api_key: 'google-secret' } },
    models: { pro: { targets: ['google/gemini-3-pro'] } },
  },
);
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const question = 'call get_weather and call get_time';
const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };

interface Sent {
  contents: { parts: { thoughtSignature?: string; functionCall?: { name: string } }[] }[];
}
/** Of the first call of the model's turn, as the upstream got it back. */
function signatureSent(): string | undefined {
  const { contents } = upstream.requests().at(-1)!.body as unknown as Sent;
  return contents[1]?.parts.find((part) => part.functionCall !== undefined)?.thoughtSignature;
}

for (const form of ['whole', 'streamed'] as const) {
  for (const thinking of ['asked', 'not asked'] as const) {
    test(`AC-06 AC-16 messages, ${form}, thinking ${thinking}: calls and their signature go round`, async () => {
      const base = {
        model: 'pro',
        max_tokens: 4_000,
        tools: ['get_weather', 'get_time'].map((name) => ({ name, input_schema: schema })),
        ...(thinking === 'asked' && { thinking: { type: 'enabled' as const, budget_tokens: 2_000 } }),
      };
      const ask = (messages: Anthropic.MessageParam[]) =>
        form === 'whole'
          ? anthropic.messages.create({ ...base, messages })
          : anthropic.messages.stream({ ...base, messages }).finalMessage();
      const first = await ask([{ role: 'user', content: question }]);
      assert.equal(first.stop_reason, 'tool_use');
      assert.equal(first.content[0]!.type, thinking === 'asked' ? 'thinking' : 'tool_use');
      const calls = first.content.filter((block) => block.type === 'tool_use');
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['get_weather', 'get_time'],
      );
      assert.ok(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);
      const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: '21' }));
      const second = await ask([
        { role: 'user', content: question },
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ]);
      assert.equal(second.stop_reason, 'end_turn');
      assert.ok(second.content.some((block) => block.type === 'text' && block.text !== ''));
      assert.equal(signatureSent(), 'c2ltdWxhdGVk');
    });
  }

  test(`AC-06 AC-16 responses, ${form}: calls and their signature go round`, async () => {
    const base = {
      model: 'pro',
      store: false,
      include: ['reasoning.encrypted_content' as const],
      tools: ['get_weather', 'get_time'].map((name) => ({
        type: 'function' as const,
        name,
        parameters: schema,
        strict: false,
      })),
    };
    const ask = (input: OpenAI.Responses.ResponseInput) =>
      form === 'whole'
        ? openai.responses.create({ ...base, input })
        : openai.responses.stream({ ...base, input }).finalResponse();
    const user = { role: 'user' as const, content: question };
    const first = await ask([user]);
    const calls = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['get_weather', 'get_time'],
    );
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: '21' }));
    const second = await ask([user, ...(first.output as OpenAI.Responses.ResponseInputItem[]), ...results]);
    assert.equal(second.status, 'completed');
    assert.ok(second.output_text);
    assert.equal(signatureSent(), 'c2ltdWxhdGVk');
  });
}

test('a refusal of Google’s is an error of each caller’s own class', async () => {
  upstream.script('/v1beta/models/gemini-3-pro:streamGenerateContent', [
    'status=400;message=Bad',
    'status=400;message=Bad',
  ]);
  const hi = [{ role: 'user' as const, content: 'hi' }];
  await assert.rejects(
    anthropic.messages.create({ model: 'pro', max_tokens: 10, messages: hi }),
    Anthropic.BadRequestError,
  );
  await assert.rejects(openai.responses.create({ model: 'pro', input: 'hi' }), OpenAI.BadRequestError);
});
