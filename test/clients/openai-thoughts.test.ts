import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import type { ChatCompletionMessage, ChatCompletionMessageParam } from 'openai/resources';
import type { JsonObject } from '../../src/kernel/json.ts';
import { openThreeProviders } from './three-providers.ts';

/*
 * Chat completions with OpenAI's SDK, whose callers append the answer's message as it is: a thought comes back with its
 * proof to the provider that wants it, and reaches no service that refuses it.
 */

const strict = { groq: 'openai/gpt-oss-120b', cerebras: 'gpt-oss-120b', mistral: 'mistral-large', openai: 'gpt-5' };
const { gateway, lastBody } = await openThreeProviders(
  {
    responses: { targets: ['responses/mock/ok'] },
    ...Object.fromEntries(Object.entries(strict).map(([type, model]) => [type, { targets: [`at-${type}/${model}`] }])),
    'gpt-4o': { targets: ['at-openai/gpt-4o'] },
    'gpt-6': { targets: ['at-openai/gpt-6'] },
    qwen: { targets: ['at-groq/qwen/qwen3-32b'] },
    small: { targets: ['at-mistral/mistral-small-2603'] },
    fireworks: { targets: ['at-fireworks/accounts/fireworks/models/glm-5'] },
    nvidia: { targets: ['at-nvidia/openai/gpt-oss-120b'] },
    openrouter: { targets: ['at-openrouter/z-ai/glm-5'] },
    both: { targets: ['both/gpt-5'] },
  },
  (url) => ({
    responses: { type: 'openai', base_url: `${url}/v1`, api_key: 'd', dialects: ['openai-responses'] },
    both: { type: 'openai', base_url: `${url}/v1`, api_key: 'd', dialects: ['openai-chat', 'openai-responses'] },
    ...Object.fromEntries(
      [...Object.keys(strict), 'fireworks', 'nvidia', 'openrouter'].map((type) => [
        `at-${type}`,
        { type, base_url: `${url}/v1`, api_key: 'e', dialects: ['openai-chat'] },
      ]),
    ),
  }),
);
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
const asked: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Please call get_weather' }];
type Thinking = ChatCompletionMessage & { reasoning_details?: JsonObject[]; reasoning_content?: string };

async function firstTurn(model: string, form: 'whole' | 'streamed', body: object = { reasoning_effort: 'low' }) {
  const request = { model, messages: asked, tools, max_completion_tokens: 4_000, ...body };
  const answer =
    form === 'whole'
      ? await openai.chat.completions.create(request)
      : await openai.chat.completions.stream(request).finalChatCompletion();
  return answer.choices[0]!.message as Thinking;
}

async function secondTurn(model: string, message: Thinking) {
  const results = message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'fine' }));
  const messages = [...asked, message as ChatCompletionMessageParam, ...results];
  return openai.chat.completions.create({
    ...{ model, messages, tools, max_completion_tokens: 4_000 },
    reasoning_effort: 'low',
  });
}

/** How the provider of a model gets the thought back. */
const cameBack = {
  claude: /"type":"thinking","thinking":"The user wants[^"]+","signature":"c2ltdWxhdGVk/,
  google: /"thoughtSignature":"c2ltdWxhdGVk/,
  responses: /"type":"reasoning","summary":\[[^\]]+\],"encrypted_content":"[^"]+"/,
};

for (const [model, thought] of Object.entries(cameBack)) {
  for (const form of ['whole', 'streamed'] as const) {
    test(`${model}: a ${form} answer has its thought with the proof, and the next turn goes on with it`, async () => {
      const message = await firstTurn(model, form);
      const [detail, ...more] = message.reasoning_details!;
      assert.deepEqual([more.length, detail!.type, detail!.index], [0, 'reasoning.text', 0]);
      assert.ok(String(detail!.text).startsWith('The user wants'));
      const next = await secondTurn(model, message);
      assert.equal(next.choices[0]!.finish_reason, 'stop');
      assert.match(JSON.stringify(lastBody()), thought);
    });
  }
}

test('an item of a thought that comes back without its text has no proof for it', async () => {
  // As genai for Rust sends items back: what is encrypted is enough for OpenAI.
  const request = {
    model: 'claude',
    tools: [{ type: 'function' as const, name: 'get_weather', parameters, strict: false }],
    reasoning: { effort: 'low' as const },
    include: ['reasoning.encrypted_content' as const],
    store: false,
  };
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Please call get_weather' }];
  const { output } = await openai.responses.create({ ...request, input });
  const result = (call: OpenAI.Responses.ResponseOutputItem) =>
    call.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: call.call_id, output: 'fine' }]
      : [];
  const sendBack = (items: OpenAI.Responses.ResponseOutputItem[]) =>
    openai.responses.create({
      ...request,
      input: [...input, ...items, ...items.flatMap(result)] as OpenAI.Responses.ResponseInput,
    });
  await sendBack(output);
  assert.match(JSON.stringify(lastBody()), cameBack.claude);
  await sendBack(output.map((item) => (item.type === 'reasoning' ? { ...item, summary: [] } : item)));
  assert.doesNotMatch(JSON.stringify(lastBody()), /"type":"thinking"|culvert/);
});

test('a thought goes back to its own vendor alone', async () => {
  const message = await firstTurn('claude', 'whole');
  await secondTurn('google', message);
  assert.doesNotMatch(JSON.stringify(lastBody()), /c2ltdWxhdGVk/);
  await secondTurn('chat', message);
  assert.match(JSON.stringify(lastBody()), /"reasoning_content":"The user wants/);
});

test("LiteLLM's and OpenRouter's clients send proofs back in their own forms", async () => {
  const { tool_calls: calls } = await firstTurn('claude', 'whole');
  const signed = { text: 'Hm.', signature: 's1' };
  const forms = [
    { thinking_blocks: [{ type: 'thinking', thinking: signed.text, signature: signed.signature }] },
    { reasoning_details: [{ type: 'reasoning.text', ...signed, format: 'anthropic-claude-v1', index: 0 }] },
  ];
  for (const form of forms) {
    await secondTurn('claude', { role: 'assistant', content: null, refusal: null, ...form, tool_calls: calls! });
    assert.match(JSON.stringify(lastBody()), /\{"type":"thinking","thinking":"Hm\.","signature":"s1"\}/);
  }
  const hidden = [{ type: 'reasoning.encrypted', data: 'd1', format: 'anthropic-claude-v1' }];
  await secondTurn('claude', {
    ...{ role: 'assistant', content: null, refusal: null, tool_calls: calls! },
    reasoning_details: hidden,
  });
  assert.match(JSON.stringify(lastBody()), /\{"type":"redacted_thinking","data":"d1"\}/);
});

const wordsFor: [string, object, RegExp][] = [
  ['thinking with a budget', { thinking: { type: 'enabled', budget_tokens: 1_500 } }, /"budget_tokens":1500/],
  ['reasoning with an effort', { reasoning: { effort: 'low' } }, /"budget_tokens":2048/],
  ['reasoning with a budget', { reasoning: { max_tokens: 1_600 } }, /"budget_tokens":1600/],
  ['reasoning that is on', { reasoning: { enabled: true } }, /"thinking":\{"type":"enabled"/],
];
for (const [what, body, sent] of wordsFor) {
  test(`${what}, as other gateways' clients ask for it, reaches a provider of another format`, async () => {
    const message = await firstTurn('claude', 'whole', body);
    assert.match(JSON.stringify(lastBody()), sent);
    assert.ok(message.reasoning_content!.length > 0);
  });
}

for (const type of Object.keys(strict)) {
  test(`${type}: a history from a provider that thinks has no member that it refuses`, async () => {
    for (const from of Object.keys(cameBack)) {
      await secondTurn(type, await firstTurn(from, 'whole'));
      const sent = (lastBody().messages as JsonObject[]).find(({ role }) => role === 'assistant')!;
      const further = { openai: ['refusal'], groq: ['reasoning'], cerebras: ['reasoning'] }[type] ?? [];
      const taken = ['role', 'content', 'tool_calls', ...further];
      assert.deepEqual(
        Object.keys(sent).filter((name) => !taken.includes(name)),
        [],
      );
    }
  });
}

for (const type of Object.keys(strict)) {
  test(`${type}: a history of a client that keeps the pieces of a stream has nothing that it refuses`, async () => {
    const { tool_calls: calls } = await firstTurn('claude', 'whole');
    const kept = { role: 'assistant' as const, content: null, refusal: null, parsed: { some: 'thing' } };
    const messages = [
      ...asked,
      { ...kept, tool_calls: calls!.map((call, index) => ({ ...call, index })) },
      { role: 'tool' as const, tool_call_id: calls![0]!.id, content: 'fine', __copilotMessageSource: { kind: 'tool' } },
    ];
    await openai.chat.completions.create({ model: type, messages, tools, max_completion_tokens: 4_000 });
    const sent = JSON.stringify(lastBody().messages);
    assert.doesNotMatch(sent, /"(index|parsed|__copilotMessageSource)":/);
    assert.match(sent, /"name":"get_weather"/);
    assert.match(sent, /"content":"fine"/);
  });
}

test("Copilot CLI's choice of tools for models of Google is one of OpenAI's elsewhere", async () => {
  for (const model of Object.keys(cameBack)) {
    const body = { model, messages: asked, tools, tool_choice: 'validated' as 'auto' };
    const { choices } = await openai.chat.completions.create(body);
    assert.equal(choices[0]!.finish_reason, 'tool_calls');
    assert.doesNotMatch(JSON.stringify(lastBody()), /validated/);
  }
});

test('a service that refuses the words of other gateways does not get them, and the caller is told', async () => {
  for (const type of Object.keys(strict)) {
    const body = { model: type, messages: asked, thinking: { type: 'enabled', budget_tokens: 1_500 } };
    const { response } = await openai.chat.completions.create(body).withResponse();
    assert.deepEqual([response.headers.get('x-culvert-dropped'), lastBody().thinking], ['thinking', undefined]);
  }
});

/** Model, what a client of OpenRouter asks for, the `reasoning_effort` that is sent, and what the caller hears of it. */
const efforts: [string, object, string | undefined, string | null][] = [
  ['openai', { reasoning: { effort: 'low' } }, 'low', null],
  ['openai', { reasoning: { effort: 'none' } }, 'minimal', 'reasoning'],
  ['openai', { reasoning: { max_tokens: 9_000 } }, 'high', 'reasoning'],
  ['openai', { thinking: { type: 'enabled', budget_tokens: 1_500 } }, 'low', 'thinking'],
  ['openai', { reasoning: { effort: 'low' }, reasoning_effort: 'high' }, 'high', 'reasoning'],
  ['gpt-4o', { reasoning: { effort: 'low' } }, undefined, 'reasoning'],
  ['gpt-6', { reasoning: { effort: 'max' } }, 'max', null],
  ['groq', { reasoning: { enabled: true } }, 'medium', null],
  ['groq', { reasoning: { effort: 'high', exclude: true }, include_reasoning: false }, 'high', 'reasoning'],
  ['qwen', { reasoning: { effort: 'high' } }, 'default', 'reasoning'],
  ['qwen', { reasoning: { enabled: false } }, 'none', null],
  ['cerebras', { reasoning: { effort: 'xhigh' }, include_reasoning: true }, 'high', 'reasoning, include_reasoning'],
  ['mistral', { reasoning: { effort: 'high' }, include_reasoning: false }, undefined, 'reasoning, include_reasoning'],
  ['small', { reasoning: { effort: 'low' } }, 'high', 'reasoning'],
  ['fireworks', { reasoning: { enabled: false }, thinking: { type: 'disabled' } }, 'none', null],
  ['nvidia', { reasoning: { effort: 'low' } }, 'low', null],
];
for (const [model, asks, effort, dropped] of efforts) {
  test(`${model}: ${JSON.stringify(asks)} goes as ${effort ?? 'nothing'}`, async () => {
    const { response } = await openai.chat.completions.create({ model, messages: asked, ...asks }).withResponse();
    const { reasoning_effort: sent, reasoning, include_reasoning: included } = lastBody();
    assert.deepEqual([sent, reasoning, response.headers.get('x-culvert-dropped')], [effort, undefined, dropped]);
    assert.equal(included, model === 'groq' && 'include_reasoning' in asks ? false : undefined);
  });
}

test('a service that knows reasoning gets it as it is', async () => {
  for (const model of ['openrouter', 'chat']) {
    const reasoning = { effort: 'low', exclude: true };
    const body = { model, messages: asked, reasoning, include_reasoning: false };
    const { response } = await openai.chat.completions.create(body).withResponse();
    const sent = lastBody();
    assert.deepEqual([sent.reasoning, sent.include_reasoning, sent.reasoning_effort], [reasoning, false, undefined]);
    assert.equal(response.headers.get('x-culvert-dropped'), null);
  }
});

test('reasoning of a Responses body stays where the same service refuses it in chat completions', async () => {
  await openai.responses.create({ model: 'both', input: 'hi', reasoning: { effort: 'low' } });
  assert.deepEqual(lastBody().reasoning, { effort: 'low' });
  await openai.responses.create({ model: 'groq', input: 'hi', reasoning: { effort: 'low' } });
  assert.equal(lastBody().reasoning_effort, 'low');
});

test('what a model refused stays said where the service has no place for a refusal', async () => {
  const refused = { role: 'assistant' as const, content: null, refusal: 'I would rather not.' };
  const messages = [asked[0]!, refused, { role: 'user' as const, content: 'Why?' }];
  await openai.chat.completions.create({ model: 'mistral', messages });
  assert.deepEqual((lastBody().messages as JsonObject[])[1], { role: 'assistant', content: 'I would rather not.' });
});
