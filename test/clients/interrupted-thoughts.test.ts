import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/kernel/json.ts';
import { openThreeProviders } from './three-providers.ts';

/*
 * A client that was interrupted, or whose stream broke, while the model thought: Codex sends the thought back alone, in each
 * later turn. No service takes a turn of nothing else, and the conversation would be stuck.
 */

const { gateway, lastBody } = await openThreeProviders(
  { responses: { targets: ['responses/gpt-5'] }, deepseek: { targets: ['deepseek/deepseek-reasoner'] } },
  (url) => ({
    responses: { type: 'openai', base_url: `${url}/v1`, api_key: 'd', dialects: ['openai-responses'] },
    deepseek: { type: 'deepseek', base_url: `${url}/v1`, api_key: 'e' },
  }),
);
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ authToken: gateway.key, apiKey: null, baseURL: gateway.url, maxRetries: 0 });
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function' as const, name: 'get_weather', strict: null, parameters }];
const asked = { role: 'user' as const, content: 'Please call get_weather' };

function respond(model: string, input: ResponseInput) {
  const include = ['reasoning.encrypted_content' as const];
  const body = { store: false, include, max_output_tokens: 4_000, reasoning: { effort: 'low' as const } };
  return openai.responses.create({ model, input, tools, ...body });
}

const thoughtsOf = ({ output }: Response) => output.filter(({ type }) => type === 'reasoning') as ResponseInput;
const answered = ({ output }: Response, result = 'fine'): ResponseInput => [
  ...(output as ResponseInput),
  ...output.flatMap(
    (item): ResponseInput =>
      item.type === 'function_call' ? [{ type: 'function_call_output', call_id: item.call_id, output: result }] : [],
  ),
];

test('Claude gets no turn that ends in a thought', async () => {
  const first = await respond('claude', [asked]);
  const [thought] = thoughtsOf(first);
  assert.ok(thought !== undefined);
  const { response } = await openai.responses
    .create({
      model: 'claude',
      input: [asked, thought, { role: 'user', content: 'Go on.' }],
      reasoning: { effort: 'low' },
    })
    .withResponse();
  const texts = ['Please call get_weather', 'Go on.'].map((text) => ({ type: 'text', text }));
  assert.deepEqual(lastBody().messages, [{ role: 'user', content: texts }]);
  assert.match(response.headers.get('x-culvert-dropped') ?? '', /\breasoning/);
  await respond('claude', [asked, ...answered(first), thought, { role: 'user', content: 'Go on.' }]);
  const { messages } = lastBody() as { messages: { role: string; content: { type: string }[] }[] };
  assert.deepEqual(
    messages.map(({ role, content }) => [role, ...content.map(({ type }) => type)]),
    [
      ['user', 'text'],
      ['assistant', 'thinking', 'tool_use'],
      ['user', 'tool_result', 'text'],
    ],
  );
});

test('chat completions get no turn of a thought alone', async () => {
  const [thought] = thoughtsOf(await respond('deepseek', [asked]));
  assert.ok(thought !== undefined);
  await respond('deepseek', [asked, thought, { role: 'user', content: 'Go on.' }]);
  assert.deepEqual(lastBody().messages, [asked, { role: 'user', content: 'Go on.' }]);
  await respond('deepseek', [asked, thought, { role: 'assistant', content: 'Fine.' }, asked]);
  assert.match(JSON.stringify(lastBody().messages), /"reasoning_content":"/);
});

test('Responses get no thought that no item of the model follows', async () => {
  const first = await respond('responses', [asked]);
  const [thought] = thoughtsOf(first) as unknown as (JsonObject | undefined)[];
  assert.ok(thought !== undefined);
  const { encrypted_content: data } = thought;
  // By another format, so that the history is written anew.
  const proof = { type: 'reasoning.encrypted', data, format: 'openai-responses-v1', index: 0 };
  const alone = { role: 'assistant', content: '', reasoning_details: [proof] };
  const messages = [asked, alone, { role: 'user', content: 'Go on.' }] as OpenAI.ChatCompletionMessageParam[];
  await openai.chat.completions.create({ model: 'responses', messages });
  assert.doesNotMatch(JSON.stringify(lastBody().input), /"reasoning"/);
  const whole = [asked, { ...alone, content: 'Hm!' }, messages[2]] as OpenAI.ChatCompletionMessageParam[];
  await openai.chat.completions.create({ model: 'responses', messages: whole });
  assert.match(JSON.stringify(lastBody().input), /"type":"reasoning"/);
});

test('Claude goes on to think in a loop of tools whose later calls have no thought', async () => {
  const first = await respond('claude', [asked]);
  const call = { type: 'function_call' as const, call_id: 'call_2', name: 'get_weather', arguments: '{}' };
  const second = [call, { type: 'function_call_output' as const, call_id: 'call_2', output: 'rain' }];
  await respond('claude', [asked, ...answered(first), ...second]);
  assert.equal((lastBody().thinking as JsonObject | undefined)?.type, 'enabled');
  // Another model began that loop.
  await respond('claude', [asked, ...second]);
  assert.equal(lastBody().thinking, undefined);
  // A question behind it begins anew.
  await respond('claude', [asked, ...second, { role: 'assistant', content: 'Rain.' }, asked]);
  assert.equal((lastBody().thinking as JsonObject | undefined)?.type, 'enabled');
});

test('Claude gets no thought in a loop of tools where it may not think', async () => {
  const first = await respond('claude', [asked]);
  const input = [asked, ...answered(first)];
  await openai.responses.create({ model: 'claude', input, tools });
  assert.doesNotMatch(JSON.stringify(lastBody()), /thinking/);
  // Those of earlier turns it ignores.
  await openai.responses.create({
    model: 'claude',
    input: [...input, { role: 'assistant', content: 'Fine.' }, asked],
    tools,
  });
  assert.match(JSON.stringify(lastBody().messages), /"thinking":"/);
});

test('Claude gets no budget for thoughts in a loop that another provider began, in its own format too', async () => {
  const messagesTools = [{ name: 'get_weather', input_schema: { type: 'object' as const } }];
  const use = { type: 'tool_use' as const, id: 'call.1', name: 'get_weather', input: {} };
  const result = { type: 'tool_result' as const, tool_use_id: 'call.1', content: 'rain' };
  const create = (thought: Anthropic.ContentBlockParam[]) =>
    anthropic.messages.create({
      model: 'claude',
      max_tokens: 4_000,
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      tools: messagesTools,
      messages: [asked, { role: 'assistant', content: [...thought, use] }, { role: 'user', content: [result] }],
      ...{ context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }, { type: 'other' }] } },
    });
  await create([{ type: 'thinking', thinking: 'Of another model.', signature: '' }]);
  const { thinking, context_management: management } = lastBody();
  assert.deepEqual([thinking, management], [{ type: 'disabled' }, { edits: [{ type: 'other' }] }]);
  await create([{ type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' }]);
  assert.deepEqual(lastBody().thinking, { type: 'enabled', budget_tokens: 2_000 });
});

test('Claude gets no thought that nothing follows, in its own format too, as pi sends it', async () => {
  const thought = { type: 'thinking' as const, thinking: 'Hm.', signature: 'c2lnbmVk' };
  const empty = { type: 'text' as const, text: '' };
  const create = (messages: Anthropic.MessageParam[]) =>
    anthropic.messages.create({ model: 'claude', max_tokens: 4_000, messages });
  for (const content of [[thought], [thought, empty]]) {
    await create([asked, { role: 'assistant', content }, asked]);
    assert.deepEqual(lastBody().messages, [asked, asked]);
  }
  // Anthropic joins the two.
  const joined: Anthropic.MessageParam[] = [
    asked,
    { role: 'assistant', content: [thought] },
    { role: 'assistant', content: 'Fine.' },
    asked,
  ];
  await create(joined);
  assert.deepEqual(lastBody().messages, joined);
});
