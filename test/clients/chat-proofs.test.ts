import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { type Content, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources';
import type { ResponseInput, ResponseInputItem } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/kernel/json.ts';
import { type ProofForm, proofOf } from '../upstream-formats/speak-proven-chat.ts';
import { openThreeProviders } from './three-providers.ts';

/*
 * Tool loops with the SDKs of each format over providers that speak chat completions and prove their thoughts in
 * OpenRouter's or LiteLLM's members: those come back as they were, and reach nobody else.
 */

const targets: Record<ProofForm, string> = {
  claude: 'router/claude-sonnet',
  openai: 'router/openai/gpt-5',
  gemini: 'router/google/gemini-3-pro',
  'gemini-late': 'router/google/gemini-3-late',
  blocks: 'litellm/claude-sonnet',
};
const forms = Object.keys(targets) as ProofForm[];
const { gateway, lastBody, upstream } = await openThreeProviders(
  {
    ...Object.fromEntries(forms.map((form) => [`as-${form}`, { targets: [targets[form]] }])),
    whole: { targets: [{ provider: 'router', model: 'google/gemini-3-pro', stream: false }] },
    'google-chat': { targets: ['google-chat/gemini-3-pro'] },
    deepseek: { targets: ['deepseek/mock/ok'] },
    responses: { targets: ['responses/mock/ok'] },
  },
  (url) => ({
    router: { type: 'openrouter', base_url: `${url}/openrouter/v1`, api_key: 'a', dialects: ['openai-chat'] },
    litellm: { type: 'litellm', base_url: `${url}/litellm/v1`, api_key: 'a', dialects: ['openai-chat'] },
    'google-chat': { type: 'openai', base_url: `${url}/v1beta/openai`, api_key: 'a', dialects: ['openai-chat'] },
    deepseek: { type: 'deepseek', base_url: `${url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
    responses: { type: 'openai', base_url: `${url}/v1`, api_key: 'a', dialects: ['openai-responses'] },
  }),
);
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });

const ask = 'Please call get_weather';
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
type Delivery = 'whole' | 'streamed';
type Thinks = 'thinks' | 'silent';
/** The turn's history, to be sent to any model. */
type Next = (model: string) => Promise<unknown>;

/** The first turn of a tool loop, and what sends the second. */
const callers: Record<string, (model: string, delivery: Delivery, thinks?: Thinks) => Promise<Next>> = {
  async responses(model, delivery) {
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: false }];
    const reasoning = { effort: 'low' as const, summary: 'auto' as const };
    const common = { tools, reasoning, store: false, include: ['reasoning.encrypted_content' as const] };
    const request = { model, input: ask, ...common };
    const { output } =
      delivery === 'whole'
        ? await openai.responses.create(request)
        : await openai.responses.stream(request).finalResponse();
    const results = output.flatMap((item): ResponseInputItem[] =>
      item.type === 'function_call' ? [{ type: 'function_call_output', call_id: item.call_id, output: 'fine' }] : [],
    );
    assert.equal(results.length, 1);
    const input = [{ role: 'user', content: ask }, ...output, ...results] as ResponseInput;
    return (next) => openai.responses.create({ ...common, model: next, input });
  },
  async messages(model, delivery, thinks = 'thinks') {
    const tools = [{ name: 'get_weather', input_schema: parameters }];
    const thinking = thinks === 'thinks' && { thinking: { type: 'enabled' as const, budget_tokens: 1_024 } };
    const common = { max_tokens: 2_000, tools, ...thinking };
    const first: MessageParam = { role: 'user', content: ask };
    const request = { model, messages: [first], ...common };
    const { content } =
      delivery === 'whole'
        ? await anthropic.messages.create(request)
        : await anthropic.messages.stream(request).finalMessage();
    const call = content.find(({ type }) => type === 'tool_use');
    assert.ok(call?.type === 'tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'fine' };
    const messages: MessageParam[] = [first, { role: 'assistant', content }, { role: 'user', content: [result] }];
    return (next) => anthropic.messages.create({ ...common, model: next, messages });
  },
  async google(model, delivery, thinks = 'thinks') {
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: parameters }] }];
    const config = { tools, ...(thinks === 'thinks' && { thinkingConfig: { includeThoughts: true } }) };
    const asked: Content = { role: 'user', parts: [{ text: ask }] };
    const request = { model, contents: [asked], config };
    const parts = [];
    if (delivery === 'streamed') {
      for await (const { candidates } of await google.models.generateContentStream(request))
        parts.push(...(candidates?.[0]?.content?.parts ?? []));
    } else parts.push(...(await google.models.generateContent(request)).candidates![0]!.content!.parts!);
    const { id, name } = parts.find(({ functionCall }) => functionCall !== undefined)!.functionCall!;
    const result = { functionResponse: { id: id!, name: name!, response: { output: 'fine' } } };
    const contents: Content[] = [asked, { role: 'model', parts }, { role: 'user', parts: [result] }];
    return (next) => google.models.generateContent({ model: next, contents, config });
  },
  async chat(model, delivery) {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
    const first: ChatCompletionMessageParam = { role: 'user', content: ask };
    const request = { model, messages: [first], tools, reasoning_effort: 'low' as const };
    const { choices } =
      delivery === 'whole'
        ? await openai.chat.completions.create(request)
        : await openai.chat.completions.stream(request).finalChatCompletion();
    const { message } = choices[0]!;
    const results = message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'fine' }));
    const messages = [first, message as ChatCompletionMessageParam, ...results];
    return (next) => openai.chat.completions.create({ ...request, model: next, messages });
  },
};

const members = ['reasoning_details', 'thinking_blocks'];

/** Proven thoughts in the assistant's turn as it was sent, and as the provider had given it. */
function turnSent(form: ProofForm): { sent: JsonObject; said: JsonObject } {
  const turn = (lastBody().messages as JsonObject[]).find(({ role }) => role === 'assistant')!;
  const [call] = turn.tool_calls as { id: string }[];
  const thoughts = 'The user wants an answer, and there is no model here, so a plain sentence will do.';
  const said = proofOf(form, thoughts, call!.id).message;
  return { sent: pick(turn), said: pick(said) };
}

function pick(message: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name]) => members.includes(name)));
}

for (const [caller, firstTurn] of Object.entries(callers)) {
  for (const form of forms) {
    for (const delivery of ['whole', 'streamed'] as const) {
      if (caller === 'chat') continue;
      test(`${caller}, ${delivery}: the thoughts of ${form} come back with their proof, as they were`, async () => {
        const next = await firstTurn(`as-${form}`, delivery);
        await next(`as-${form}`);
        const { sent, said } = turnSent(form);
        assert.deepEqual(sent, said);
        assert.equal(JSON.stringify(sent), JSON.stringify(said));
      });
    }
  }

  test(`${caller}: a proof reaches its own kind of provider alone`, async () => {
    const next = await firstTurn('as-openai', 'streamed');
    // A caller of chat completions sends the members themselves, which name OpenAI as their vendor.
    const others =
      caller === 'chat' ? ['claude', 'google'] : ['chat', 'deepseek', 'as-blocks', 'claude', 'google', 'responses'];
    for (const other of others) {
      await next(other);
      const sent = JSON.stringify(lastBody());
      assert.doesNotMatch(
        sent,
        /"(encrypted_content|signature|data|thoughtSignature)":"(?!skip_)|reasoning_details|culvert/,
        other,
      );
      assert.match(sent, /get_weather/);
    }
  });
}

for (const caller of ['messages', 'google'] as const) {
  for (const form of ['gemini', 'gemini-late'] as const) {
    for (const delivery of ['whole', 'streamed'] as const) {
      test(`${caller}, ${delivery}: ${form} gets the proof of its call from callers who want no thoughts`, async () => {
        const next = await callers[caller]!(`as-${form}`, delivery, 'silent');
        await next(`as-${form}`);
        const { sent, said } = turnSent(form);
        assert.deepEqual(sent.reasoning_details, (said.reasoning_details as JsonObject[]).slice(-1));
      });
    }
  }
}

for (const [caller, firstTurn] of Object.entries(callers)) {
  for (const delivery of ['whole', 'streamed'] as const) {
    if (caller === 'chat' && delivery === 'streamed') continue;
    test(`${caller}, ${delivery}: a signature of Google's endpoint of chat completions comes back on its call`, async () => {
      const next = await firstTurn('google-chat', delivery, 'silent');
      await next('google-chat');
      await next('chat');
      assert.doesNotMatch(JSON.stringify(lastBody()), /extra_content/);
    });
  }
}

test('chat: a stream that is made of a whole answer has the details, too', async () => {
  const next = await callers.chat!('whole', 'streamed');
  await next('whole');
  const { sent, said } = turnSent('gemini');
  // Those of its last chunk: OpenAI's SDK does not join lists that it does not know.
  assert.deepEqual(sent.reasoning_details, (said.reasoning_details as JsonObject[]).slice(-1));
});

test('a call goes by the id that its proof names, however long', async () => {
  const id = `tool_0_${'x'.repeat(60)}`;
  const detail = { type: 'reasoning.encrypted', data: 'd', id, format: 'google-gemini-v1', index: 0 };
  const proof = JSON.stringify({ from: 'openrouter', details: [detail] });
  const input = [
    { role: 'user', content: ask },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `culvert.c.openai-chat.${proof}` },
    { type: 'function_call', call_id: id, name: 'get_weather', arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: 'fine' },
  ] as ResponseInput;
  await openai.responses.create({ model: 'as-gemini', input });
  const [, call, result] = lastBody().messages as JsonObject[];
  assert.deepEqual(call!.reasoning_details, [detail]);
  assert.deepEqual([(call!.tool_calls as JsonObject[])[0]!.id, result!.tool_call_id], [id, id]);
  upstream.clear();
});

test('a proof that a caller changed is left out', async () => {
  for (const proof of [
    'nonsense',
    '[]',
    '{"from":"openrouter"}',
    `{"from":"openrouter","details":[{"data":${'['.repeat(9_000)}${']'.repeat(9_000)}}]}`,
  ]) {
    const input = [
      { role: 'user', content: ask },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `culvert.s.openai-chat.${proof}` },
      { type: 'message', role: 'assistant', content: 'Hm.' },
      { role: 'user', content: 'Go on' },
    ] as ResponseInput;
    await openai.responses.create({ model: 'as-gemini', input });
    assert.doesNotMatch(JSON.stringify(lastBody()), /reasoning_details|openrouter/);
  }
});
