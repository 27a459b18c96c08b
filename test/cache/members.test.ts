import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import { answerKept, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Two requests that differ in one member share an answer only where that member cannot change it. Each format is asked at
 * a provider that speaks it, and converted.
 */

const upstream = await startUpstream();
after(upstream.close);
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const cache = { ttl: '1h', tool_calls: true };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
    responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
    messages: { type: 'anthropic', ...at },
    gemini: { type: 'gemini', base_url: upstream.url, api_key: 'k' },
  },
  models: {
    chat: { targets: ['chat/mock/ok'], cache },
    responses: { targets: ['responses/mock/ok'], cache },
    messages: { targets: ['messages/mock/ok'], cache },
    gemini: { targets: ['gemini/mock/ok'], cache },
  },
});

type Change = (body: JsonObject) => void;
interface Format {
  path(model: string): string;
  body(text: string): JsonObject;
  /** The turn of the model. */
  turn(body: JsonObject): JsonObject;
  /** Members with values that ask for different answers, in pairs. */
  decide: Record<string, readonly [JsonValue, JsonValue]>;
  /** The same of the model's turn, or of its part. */
  inTurn: Record<string, readonly [JsonValue, JsonValue]>;
  /** Members that change nothing. */
  ignored: Record<string, readonly [JsonValue, JsonValue]>;
}

const listed = (value: JsonValue | undefined, index: number) => (value as JsonObject[])[index]!;
const schema = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } });
const tool = (name: string) => [{ type: 'function', function: { name, parameters: schema(name) } }];
const cacheLabels = { prompt_cache_key: ['a', 'b'], safety_identifier: ['a', 'b'] } as const;
const tiers = { service_tier: ['auto', 'default'] } as const;
const metadata = { metadata: [{ a: '1' }, { a: '2' }] } as const;

const formats: Record<string, Format> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (content) => ({
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'Go on' },
      ],
    }),
    turn: ({ messages }) => listed(messages, 1),
    decide: {
      temperature: [0, 1],
      top_p: [0.5, 0.9],
      seed: [1, 2],
      stop: ['a', 'b'],
      n: [1, 2],
      max_tokens: [100, 101],
      max_completion_tokens: [100, 101],
      presence_penalty: [0, 1],
      frequency_penalty: [0, 1],
      logit_bias: [{ 1: 1 }, { 1: 2 }],
      logprobs: [false, true],
      reasoning_effort: ['low', 'high'],
      reasoning: [{ effort: 'low' }, { max_tokens: 2_000 }],
      thinking: [
        { type: 'enabled', budget_tokens: 1_024 },
        { type: 'enabled', budget_tokens: 2_048 },
      ],
      'reasoning ': [
        { effort: 'low', exclude: true },
        { effort: 'low', exclude: false },
      ],
      modalities: [['text'], ['text', 'image']],
      verbosity: ['low', 'high'],
      prediction: [
        { type: 'content', content: 'a' },
        { type: 'content', content: 'b' },
      ],
      web_search_options: [{ search_context_size: 'low' }, { search_context_size: 'high' }],
      tools: [tool('one'), tool('two')],
      response_format: [{ type: 'text' }, { type: 'json_object' }],
      parallel_tool_calls: [true, false],
      top_k: [1, 2],
      min_p: [0.1, 0.2],
      chat_template_kwargs: [{ thinking: true }, { thinking: false }],
      a_new_member: [1, 2],
    },
    inTurn: {
      content: ['Hi', 'Ho'],
      name: ['a', 'b'],
      reasoning_content: ['a', 'b'],
      reasoning: ['a', 'b'],
      reasoning_details: [
        [{ type: 'reasoning.text', text: 'a', signature: 's', format: 'anthropic-claude-v1' }],
        [{ type: 'reasoning.text', text: 'a', signature: 't', format: 'anthropic-claude-v1' }],
      ],
      thinking_blocks: [
        [{ type: 'thinking', thinking: 'a', signature: 's' }],
        [{ type: 'thinking', thinking: 'b', signature: 's' }],
      ],
      refusal: ['a', 'b'],
      annotations: [[], [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }]],
      extra_content: [{ google: { thought_signature: 'a' } }, { google: { thought_signature: 'b' } }],
      a_new_member: [1, 2],
    },
    ignored: { ...cacheLabels, ...tiers, ...metadata, user: ['a', 'b'] },
  },
  messages: {
    path: () => '/v1/messages',
    body: (content) => ({
      max_tokens: 9_000,
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'user', content: 'Go on' },
      ],
    }),
    turn: ({ messages }) => listed(listed(messages, 1).content, 0),
    decide: {
      max_tokens: [9_001, 9_002],
      system: ['a', 'b'],
      temperature: [0, 1],
      top_k: [1, 2],
      stop_sequences: [['a'], ['b']],
      thinking: [
        { type: 'enabled', budget_tokens: 1_024 },
        { type: 'enabled', budget_tokens: 2_048 },
      ],
      'thinking ': [
        { type: 'adaptive', display: 'summarized' },
        { type: 'adaptive', display: 'omitted' },
      ],
      output_config: [{ effort: 'low' }, { effort: 'high' }],
      tools: [[{ name: 'one', input_schema: schema('a') }], [{ name: 'two', input_schema: schema('a') }]],
      tool_choice: [{ type: 'auto' }, { type: 'none' }],
      context_management: [{ edits: [{ type: 'clear_tool_uses_20250919' }] }, { edits: [] }],
      speed: ['standard', 'fast'],
      a_new_member: [1, 2],
    },
    inTurn: {
      text: ['Hi', 'Ho'],
      citations: [
        [],
        [{ type: 'char_location', cited_text: 'a', document_index: 0, start_char_index: 0, end_char_index: 1 }],
      ],
      a_new_member: [1, 2],
    },
    ignored: {
      service_tier: ['auto', 'standard_only'],
      metadata: [{ user_id: 'a' }, { user_id: 'b' }],
      cache_control: [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }],
    },
  },
  responses: {
    path: () => '/v1/responses',
    body: (content) => ({
      store: false,
      input: [
        { role: 'user', content },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAAAAB' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'Go on' },
      ],
    }),
    turn: ({ input }) => listed(input, 1),
    decide: {
      instructions: ['a', 'b'],
      temperature: [0, 1],
      max_output_tokens: [100, 101],
      max_tool_calls: [1, 2],
      reasoning: [{ effort: 'low' }, { effort: 'high' }],
      'reasoning ': [
        { effort: 'low', summary: 'auto' },
        { effort: 'low', summary: 'detailed' },
      ],
      text: [{ verbosity: 'low' }, { verbosity: 'high' }],
      'text ': [{ format: { type: 'text' } }, { format: { type: 'json_object' } }],
      truncation: ['auto', 'disabled'],
      tools: [
        [{ type: 'function', name: 'one', parameters: schema('a') }],
        [{ type: 'function', name: 'two', parameters: schema('a') }],
      ],
      include: [[], ['reasoning.encrypted_content']],
      a_new_member: [1, 2],
    },
    inTurn: {
      summary: [[{ type: 'summary_text', text: 'a' }], [{ type: 'summary_text', text: 'b' }]],
      encrypted_content: ['gAAAAABa', 'gAAAAABb'],
      a_new_member: [1, 2],
    },
    ignored: { ...cacheLabels, ...tiers, ...metadata },
  },
  gemini: {
    path: (model) => `/v1beta/models/${model}:generateContent`,
    body: (text) => ({
      contents: [
        { role: 'user', parts: [{ text }] },
        { role: 'model', parts: [{ text: 'Hi' }] },
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    }),
    turn: ({ contents }) => listed(listed(contents, 1).parts, 0),
    decide: {
      systemInstruction: [{ parts: [{ text: 'a' }] }, { parts: [{ text: 'b' }] }],
      generationConfig: [{ temperature: 0 }, { temperature: 1 }],
      'generationConfig ': [
        { thinkingConfig: { thinkingLevel: 'low' } },
        { thinkingConfig: { thinkingLevel: 'high' } },
      ],
      'generationConfig  ': [{ mediaResolution: 'MEDIA_RESOLUTION_LOW' }, { mediaResolution: 'MEDIA_RESOLUTION_HIGH' }],
      'generationConfig   ': [{ topK: 1 }, { topK: 2 }],
      'generationConfig    ': [
        { thinkingConfig: { thinkingBudget: 1_024, includeThoughts: true } },
        { thinkingConfig: { thinkingBudget: 1_024, includeThoughts: false } },
      ],
      'generationConfig     ': [{ responseModalities: ['TEXT'] }, { responseModalities: ['TEXT', 'IMAGE'] }],
      safetySettings: [[], [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]],
      tools: [
        [{ functionDeclarations: [{ name: 'one', parametersJsonSchema: schema('a') }] }],
        [{ functionDeclarations: [{ name: 'two', parametersJsonSchema: schema('a') }] }],
      ],
      a_new_member: [1, 2],
    },
    inTurn: {
      text: ['Hi', 'Ho'],
      thought: [false, true],
      thoughtSignature: ['YQ==', 'Yg=='],
      a_new_member: [1, 2],
    },
    ignored: { labels: [{ a: '1' }, { a: '2' }] },
  },
};

async function ask(format: Format, model: string, text: string, change: Change, headers: Record<string, string> = {}) {
  const body = format.body(text);
  change(body);
  const isNamed = !format.path('').includes('/models/');
  const json = { ...(isNamed && { model }), ...body };
  const response = await gateway.fetch(format.path(model), { json, headers });
  const answer = await response.text();
  return { status: response.status, answer, cache: response.headers.get('x-culvert-cache') ?? '' };
}

/** Whether a second request gets the answer to the first; null: neither is kept. */
async function shares(format: Format, model: string, text: string, [one, other]: readonly [Change, Change]) {
  const sinceMs = Date.now();
  const first = await ask(format, model, text, one);
  if (first.status === 400) return null;
  assert.equal(first.status, 200, first.answer);
  if (first.cache === 'bypass') return null;
  assert.equal(first.cache, 'miss', `${text}: ${first.answer}`);
  await answerKept(gateway, sinceMs);
  const second = await ask(format, model, text, other, { 'x-culvert-cache': 'only' });
  assert.match(`${second.status} ${second.cache}`, /^(504|200 hit|400)/, second.answer);
  return second.status === 200;
}

let checked = 0;
for (const [name, format] of Object.entries(formats)) {
  for (const model of Object.keys(formats)) {
    test(`${name} over ${model}: a member that changes an answer parts requests`, async () => {
      for (const [of, members] of Object.entries({ body: format.decide, turn: format.inTurn })) {
        for (const [member, values] of Object.entries(members)) {
          const change =
            (value: JsonValue): Change =>
            (body) => {
              (of === 'body' ? body : format.turn(body))[member.trim()] = value;
            };
          const text = `${name} ${model} ${of} ${member}`;
          const isShared = await shares(format, model, text, [change(values[0]), change(values[1])]);
          assert.notEqual(isShared, true, `${text} is shared`);
          if (isShared === false) checked += 1;
          // Absent is a third value, and may be the usual one.
          if (member.startsWith('a_new')) {
            const without = await shares(format, model, `${text} absent`, [change(values[0]), () => undefined]);
            assert.notEqual(without, true, `${text} is shared with none`);
          }
        }
      }
    });
  }

  test(`${name}: a member that cannot change an answer does not part requests`, async () => {
    for (const [member, [one, other]] of Object.entries(format.ignored)) {
      const changes = [one, other].map(
        (value): Change =>
          (body) => {
            body[member] = value;
          },
      );
      const isShared = await shares(format, name, `${name} ignores ${member}`, [changes[0]!, changes[1]!]);
      assert.equal(isShared, true, `${member} parts requests: ${isShared}`);
    }
  });
}

test('a header that changes an answer parts requests', async () => {
  const { messages } = formats;
  const same: Change = () => undefined;
  const beta = (value: string) => ({ 'anthropic-beta': value });
  const first = await ask(messages!, 'messages', 'betas', same, beta('context-1m-2025-08-07'));
  const other = await ask(messages!, 'messages', 'betas', same, beta('interleaved-thinking-2025-05-14'));
  const again = await ask(messages!, 'messages', 'betas', same, beta('context-1m-2025-08-07'));
  assert.deepEqual([first.cache, other.cache, again.cache.slice(0, 3)], ['miss', 'miss', 'hit']);
});

test('most members were kept, and so compared', () => {
  assert.ok(checked > 150, `${checked}`);
});
