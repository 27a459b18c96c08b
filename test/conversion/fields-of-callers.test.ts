import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFields as messagesFields } from '../../src/formats/dialects/anthropic-messages/request-fields.ts';
import type { CallerDialectId } from '../../src/formats/dialects/dialect.ts';
import type { FieldTable } from '../../src/formats/dialects/field-table.ts';
import { requestFields as geminiFields, generationFields } from '../../src/formats/dialects/gemini/request-fields.ts';
import { requestFields as chatFields } from '../../src/formats/dialects/openai-chat/request-fields.ts';
import { requestFields as responsesFields } from '../../src/formats/dialects/openai-responses/request-fields.ts';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import { sent, targets } from './sent.ts';

/*
 * Each field of each caller's format, over each format of a provider: it is in what is sent, or `x-culvert-dropped` names
 * it, or the request is refused.
 */

type Table = FieldTable<never, never, never>;

const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const chatTool = { type: 'function', function: { name: 'weather', parameters: schema } };
const tool = { type: 'function', name: 'weather', parameters: schema };
const openAi = {
  temperature: 0.25,
  top_p: 0.25,
  parallel_tool_calls: false,
  user: 'someone',
  metadata: { team: 'blue' },
  service_tier: 'flex',
  prompt_cache_key: 'a-key',
  prompt_cache_retention: '24h',
  prompt_cache_options: { ttl: '30m' },
  safety_identifier: 'someone',
} as const;

interface Caller {
  id: CallerDialectId;
  table: Table;
  body: JsonObject;
  /** Puts a field where it stands in a body. */
  put(body: JsonObject, name: string, value: JsonValue): JsonObject;
  samples: Readonly<Record<string, JsonValue>>;
  /** Fields beside a sample without which it says nothing. */
  beside?: Readonly<Record<string, JsonObject>>;
}

const top = (body: JsonObject, name: string, value: JsonValue): JsonObject => ({ ...body, [name]: value });

const callers: readonly Caller[] = [
  {
    id: 'openai-chat',
    table: chatFields,
    body: { model: 'alias', messages: [{ role: 'user', content: 'Hi' }] },
    put: top,
    samples: {
      ...openAi,
      store: true,
      max_tokens: 500,
      max_completion_tokens: 500,
      top_k: 7,
      frequency_penalty: 0.25,
      presence_penalty: 0.25,
      stop: 'one',
      n: 2,
      seed: 7,
      random_seed: 7,
      logprobs: true,
      top_logprobs: 3,
      logit_bias: { 1: 1 },
      tools: [chatTool],
      tool_choice: 'required',
      functions: [chatTool.function],
      function_call: { name: 'weather' },
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
      reasoning_effort: 'high',
      reasoning: { effort: 'high' },
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      prediction: { type: 'content', content: 'Hello' },
      verbosity: 'low',
      modalities: ['text'],
      audio: { voice: 'alloy', format: 'wav' },
      web_search_options: {},
    },
    beside: {
      tool_choice: { tools: [chatTool] },
      function_call: { functions: [chatTool.function] },
      parallel_tool_calls: { tools: [chatTool] },
      top_logprobs: { logprobs: true },
    },
  },
  {
    id: 'openai-responses',
    table: responsesFields,
    body: { model: 'alias', input: 'Hi', store: false },
    put: top,
    samples: {
      ...openAi,
      max_output_tokens: 500,
      top_logprobs: 3,
      include: ['message.output_text.logprobs'],
      truncation: 'auto',
      text: { format: { type: 'json_schema', name: 'answer', schema } },
      reasoning: { effort: 'high' },
    },
    beside: { parallel_tool_calls: { tools: [tool] } },
  },
  {
    id: 'anthropic-messages',
    table: messagesFields,
    body: { model: 'alias', max_tokens: 1_000, messages: [{ role: 'user', content: 'Hi' }] },
    put: top,
    samples: {
      max_tokens: 500,
      temperature: 0.25,
      top_p: 0.25,
      top_k: 7,
      stop_sequences: ['one'],
      tool_choice: { type: 'any' },
      output_config: { format: { type: 'json_schema', schema } },
      output_format: { type: 'json_schema', schema },
      metadata: { user_id: 'someone' },
      cache_control: { type: 'ephemeral' },
      fallbacks: [{ model: 'another' }],
      thread: { type: 'create' },
    },
    beside: { tool_choice: { tools: [{ name: 'weather', input_schema: schema }] } },
  },
  {
    id: 'gemini',
    table: generationFields,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    put: (body, name, value) => ({
      ...body,
      generationConfig: { ...(body.generationConfig as JsonObject), [name]: value },
    }),
    samples: {
      temperature: 0.25,
      topP: 0.25,
      topK: 7,
      maxOutputTokens: 500,
      candidateCount: 2,
      stopSequences: ['one'],
      seed: 7,
      presencePenalty: 0.25,
      frequencyPenalty: 0.25,
      responseMimeType: 'application/json',
      responseLogprobs: true,
      logprobs: 3,
      thinkingConfig: { thinkingBudget: 5_000 },
    },
  },
  {
    id: 'gemini',
    table: geminiFields,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    put: top,
    samples: { labels: { team: 'blue' }, cachedContent: 'cachedContents/1', safetySettings: [{}], serviceTier: 'flex' },
  },
];

for (const caller of callers) {
  const { id, table, body, samples } = caller;
  const known = [...table].filter(([, [, place]]) => place !== 'read').map(([name]) => name);
  const what = table === generationFields ? `${id}, generationConfig` : id;

  test(`each field of a table has a sample: ${what}`, () => {
    const lacking = known.filter((name) => !(name in samples));
    assert.ok(lacking.length === 0, `Give ${lacking.join(', ')} a value in the samples of ${id} in this file.`);
    const gone = Object.keys(samples).filter((name) => !known.includes(name));
    assert.ok(gone.length === 0, `The samples of ${id} in this file have ${gone.join(', ')}, and its table does not.`);
  });

  for (const target of targets) {
    test(`each field of ${what} over ${target.dialect} is sent, listed or refused`, async () => {
      const forgotten: string[] = [];
      for (const name of known.filter((each) => each in samples)) {
        const plain = Object.entries(caller.beside?.[name] ?? {}).reduce(
          (made, [beside, value]) => caller.put(made, beside, value!),
          body,
        );
        const [without, having] = [
          await sent(id, plain, target),
          await sent(id, caller.put(plain, name, samples[name]!), target),
        ];
        if (without === null || having === null || having.bytes !== without.bytes) continue;
        if (!having.lost.some((field) => !without.lost.includes(field))) forgotten.push(name);
      }
      assert.deepEqual(forgotten, []);
    });
  }
}

/* Members inside of fields that OpenAI and Anthropic added in 2026: none is left out in silence. */

const asked = (...parts: JsonObject[]): JsonObject => ({
  model: 'alias',
  store: false,
  input: [{ role: 'user', content: parts.length > 0 ? parts : 'Hi' }],
});
const spoken = (more: JsonObject): JsonObject => ({
  ...asked(),
  input: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Well.', ...more },
  ],
});
const called = (more: JsonObject, answer: JsonObject = {}): JsonObject => ({
  ...asked(),
  input: [
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}', ...more },
    { type: 'function_call_output', call_id: 'c1', output: 'Rain.', ...answer },
  ],
});
const chatting = (given: JsonObject): JsonObject => ({
  model: 'alias',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [given],
});
const chatted = (message: JsonObject, part: JsonObject = { type: 'text', text: 'Hi' }): JsonObject => ({
  model: 'alias',
  messages: [{ role: 'user', content: [part], ...message }],
});
const picture = (more: JsonObject): JsonObject => ({
  type: 'image_url',
  image_url: { url: 'data:image/png;base64,aGk=', ...more },
});
const calling = (more: JsonObject): JsonObject => ({
  model: 'alias',
  messages: [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' }, ...more }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'Rain.' },
  ],
});
const formed = (more: JsonObject, format: JsonObject = {}): JsonObject => ({
  ...asked(),
  text: { format: { type: 'json_schema', name: 'answer', schema, ...format }, ...more },
});
const program = { type: 'program', caller_id: 'p1' };
const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' };
type Inside = [CallerDialectId, lost: string, JsonObject, JsonObject];
const inside: Inside[] = [
  ['openai-responses', 'reasoning.mode', asked(), { ...asked(), reasoning: { mode: 'pro' } }],
  ['openai-responses', 'reasoning.context', asked(), { ...asked(), reasoning: { context: 'all_turns' } }],
  ...Object.entries({ defer_loading: true, async: true, output_schema: schema }).map(
    ([name, value]): Inside => [
      'openai-responses',
      `tools.${name}`,
      { ...asked(), tools: [tool] },
      { ...asked(), tools: [{ ...tool, [name]: value }] },
    ],
  ),
  ['openai-chat', 'tools.defer_loading', chatting(chatTool), chatting({ ...chatTool, defer_loading: true })],
  [
    'openai-chat',
    'tools.input_examples',
    chatting(chatTool),
    chatting({ ...chatTool, function: { ...chatTool.function, input_examples: [{ city: 'Oslo' }] } }),
  ],
  ['openai-chat', 'messages.weight', chatted({}), chatted({ weight: 1 })],
  ['openai-chat', 'messages.text.mode', chatted({}), chatted({}, { type: 'text', text: 'Hi', mode: 'quiet' })],
  ['openai-chat', 'messages.image_url.pixels', chatted({}, picture({})), chatted({}, picture({ pixels: 9 }))],
  ['openai-chat', 'messages.tool_calls.caller', calling({}), calling({ caller: program })],
  ['openai-responses', 'text.mode', formed({}), formed({ mode: 'quiet' })],
  ['openai-responses', 'text.format.grammar', formed({}), formed({}, { grammar: 'g' })],
  ['openai-responses', 'input.message.phase', spoken({}), spoken({ phase: 'commentary' })],
  ['openai-responses', 'input.function_call.caller', called({}), called({ caller: program })],
  ['openai-responses', 'input.function_call_output.caller', called({}), called({}, { caller: program })],
  ['openai-responses', 'input.input_file.detail', asked(file), asked({ ...file, detail: 'low' })],
  [
    'anthropic-messages',
    'output_config.task_budget',
    { model: 'alias', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] },
    {
      model: 'alias',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Hi' }],
      output_config: { task_budget: { type: 'tokens', total: 1_000 } },
    },
  ],
];

for (const [caller, name, without, having] of inside) {
  test(`${caller} ${name} is listed where it is left out`, async () => {
    for (const target of targets.filter(({ dialect }) => dialect !== caller)) {
      assert.ok(!(await sent(caller, without, target))?.lost.includes(name));
      // Cohere takes no files.
      const result = await sent(caller, having, target);
      if (result !== null) assert.ok(result.lost.includes(name), `${target.dialect}: ${result.lost.join(', ')}`);
    }
  });
}

test('defaults of such members are no loss', async () => {
  const body = {
    ...called({ caller: { type: 'direct' }, async: false }),
    reasoning: { mode: 'standard', context: 'auto' },
  };
  assert.deepEqual((await sent('openai-responses', body, targets[0]!))?.lost, []);
});

test('a breakpoint of OpenAI for the cache is a mark of Anthropic, and listed where there is none', async () => {
  const prompt_cache_breakpoint = { mode: 'explicit', ttl: '30m' };
  const chat = { type: 'text', text: 'Hi', prompt_cache_breakpoint };
  const bodies: Record<'openai-chat' | 'openai-responses', JsonObject> = {
    'openai-responses': asked({ type: 'input_text', text: 'Hi', prompt_cache_breakpoint }),
    'openai-chat': { model: 'alias', messages: [{ role: 'user', content: [chat] }] },
  };
  const [anthropic, gemini] = ['anthropic-messages', 'gemini'].map(
    (id) => targets.find(({ dialect }) => dialect === id)!,
  );
  for (const [caller, lost] of [
    ['openai-responses', 'prompt_cache_breakpoint'],
    ['openai-chat', 'cache_control'],
  ] as const) {
    const marked = await sent(caller, bodies[caller], anthropic!);
    assert.match(JSON.parse(marked!.bytes)[0], /"text":"Hi","cache_control":\{"type":"ephemeral"\}/);
    assert.deepEqual(marked!.lost, []);
    assert.deepEqual((await sent(caller, bodies[caller], gemini!))!.lost, [lost]);
  }
});

test("OpenAI's longest breakpoint for the cache is Anthropic's longest", async () => {
  const prompt_cache_breakpoint = { mode: 'explicit', ttl: '12h' };
  const body = asked({ type: 'input_text', text: 'Hi', prompt_cache_breakpoint });
  const anthropic = targets.find(({ dialect }) => dialect === 'anthropic-messages')!;
  const { bytes } = (await sent('openai-responses', body, anthropic))!;
  assert.match(JSON.parse(bytes)[0], /"cache_control":\{"type":"ephemeral","ttl":"1h"\}/);
});

test("Responses' older name of the summary, and the pictures of chat as they are", async () => {
  const responses = targets.find(({ dialect }) => dialect === 'openai-responses')!;
  const image_url = { url: 'data:image/png;base64,aGk=', detail: 'original' };
  const chat = { model: 'alias', messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] };
  assert.match((await sent('openai-chat', chat, responses))!.bytes, /original/);
  const gemini = targets.find(({ dialect }) => dialect === 'gemini')!;
  const thought = async (name: string) =>
    (await sent('openai-responses', { ...asked(), reasoning: { effort: 'low', [name]: 'detailed' } }, gemini))!;
  assert.deepEqual(await thought('generate_summary'), await thought('summary'));
});

test("the detail `original` of OpenAI's pictures is `high` for services that refuse the word, and named as changed", async () => {
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'original' };
  for (const [provider, dialect, detail, lost] of [
    ['openai', 'openai-chat', 'original', []],
    ['openrouter', 'openai-chat', 'original', []],
    ['groq', 'openai-chat', 'high', ['input[0]']],
    ['cohere', 'cohere-chat', 'high', ['input[0]']],
  ] as const) {
    const given = (await sent('openai-responses', asked(picture), { provider, dialect, model: 'some-model' }))!;
    assert.equal(JSON.parse(JSON.parse(given.bytes)[0]).messages[0].content[0].image_url.detail, detail, provider);
    assert.deepEqual(given.lost, lost, provider);
  }
});
