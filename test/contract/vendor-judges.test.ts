import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { badParameters } from './bad-parameters.ts';

/*
 * When the caller's format is the target's, its provider knows best what it accepts: Culvert checks only what it reads
 * itself.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const small = { model: 'mock/ok', context_window: 2_000 };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
      google: { type: 'gemini', base_url: upstream.url, api_key: 'c' },
      responses: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'd', dialects: ['openai-responses'] },
    },
    models: {
      chat: { targets: ['chat/mock/ok'] },
      claude: { targets: ['claude/mock/ok'] },
      responses: { targets: ['responses/mock/ok'] },
      google: { targets: ['google/gemini-2.5-flash'] },
      'small-chat': { targets: [{ provider: 'chat', ...small }] },
      'small-claude': { targets: [{ provider: 'claude', ...small }] },
      mixed: { targets: ['claude/mock/ok', { provider: 'chat', model: 'mock/ok', priority: 2 }] },
      either: { targets: ['google/gemini-2.5-flash', { provider: 'chat', model: 'mock/ok', priority: 2 }] },
    },
  },
);
await gateway.modelsKnown;
const last = () => upstream.requests().at(-1)!;
const hello = [{ role: 'user', content: 'Hello' }];
const pixel = 'data:image/png;base64,iVBORw0KGgo=';
const parameters = { type: 'object' };

/** Values that vendors accept without any published description. */
const taken: [what: string, path: string, body: Record<string, unknown>][] = [
  [
    'an assistant with no content beside its calls, as Mistral’s SDK gives it back',
    '/v1/chat/completions',
    {
      messages: [
        ...hello,
        { role: 'assistant', content: [], tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    },
  ],
  [
    'a tool without a type',
    '/v1/chat/completions',
    { messages: hello, tools: [{ function: { name: 'f', parameters } }] },
  ],
  [
    'Mistral’s word for a call that must be made',
    '/v1/chat/completions',
    { messages: hello, tools: [{ type: 'function', function: { name: 'f', parameters } }], tool_choice: 'any' },
  ],
  [
    'thoughts given back as parts',
    '/v1/chat/completions',
    {
      messages: [
        ...hello,
        { role: 'assistant', content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] },
        ...hello,
      ],
    },
  ],
  [
    'a picture’s address without an object around it',
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: pixel }] }] },
  ],
  [
    'parts that only the vendor knows',
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } }] }] },
  ],
  [
    'tools that the vendor runs itself',
    '/v1/chat/completions',
    { messages: hello, tools: [{ type: 'openrouter:web_search', engine: 'own' }] },
  ],
  ['an effort of the vendor’s own', '/v1/chat/completions', { messages: hello, reasoning_effort: 'turbo' }],
  ['no limit, as LM Studio and llama.cpp spell it', '/v1/chat/completions', { messages: hello, max_tokens: -1 }],
  ['no limit, as watsonx spells it', '/v1/chat/completions', { messages: hello, max_completion_tokens: 0 }],
  [
    'a schema without a name',
    '/v1/chat/completions',
    { messages: hello, response_format: { type: 'json_schema', json_schema: { schema: parameters } } },
  ],
  [
    'a role of the vendor’s own',
    '/v1/responses',
    { input: [{ role: 'critic', content: [{ type: 'input_text', text: 'Hi' }] }], truncation: 'auto' },
  ],
  ['a choice of the vendor’s own', '/v1/responses', { input: 'Hi', tool_choice: 'when_sure' }],
  [
    'a choice of the vendor’s own',
    '/v1/messages',
    {
      max_tokens: 9,
      messages: hello,
      tools: [{ name: 'f', input_schema: parameters }],
      tool_choice: { type: 'maybe' },
    },
  ],
  [
    'a thinking mode without a budget',
    '/v1/messages',
    { max_tokens: 9, messages: hello, thinking: { type: 'enabled', budget: 'all' } },
  ],
  [
    'one object for a list of one, and a mode in small letters',
    '/v1beta/models/google:generateContent',
    {
      systemInstruction: { parts: { text: 'Be brief.' } },
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      tools: { functionDeclarations: [{ name: 'f' }] },
      toolConfig: { functionCallingConfig: { mode: 'any' } },
    },
  ],
];
const aliasOf: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'claude',
};

for (const [what, path, body] of taken) {
  test(`${path}: ${what} reaches a provider of the format as it came`, async () => {
    const json = path in aliasOf ? { model: aliasOf[path], ...body } : body;
    const before = upstream.requests().length;
    await gateway.fetch(path, { json });
    assert.equal(upstream.requests().length, before + 1);
    const { model: _, ...sent } = last().body as Record<string, unknown>;
    assert.deepEqual(sent, body);
  });
}

test('what only a vendor may know is refused where it must be converted, naming the field', async () => {
  const before = upstream.requests().length;
  for (const [body, param] of [
    [{ tools: [{ type: 'openrouter:web_search' }] }, 'tools[0].type'],
    [{ reasoning_effort: 'turbo' }, 'reasoning_effort'],
    [{ temperature: 9 }, 'temperature'],
    [{ max_tokens: -1 }, 'max_tokens'],
  ] as const) {
    const response = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'claude', messages: hello, ...body },
    });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
  assert.equal(upstream.requests().length, before);
});

test('with providers of both kinds the one of the format is asked', async () => {
  const json = { model: 'mixed', messages: hello, reasoning_effort: 'turbo' };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.headers.get('x-culvert-provider'), 'chat');
});

test('an error of the provider about it is told in its words', async () => {
  upstream.script('/v1/chat/completions', ['status=400;message=reasoning_effort must be one of low or high']);
  const json = { model: 'mixed', messages: hello, reasoning_effort: 'turbo' };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /must be one of low or high/);
});

/** What Culvert reads itself: who answers, how, and what limits need. */
const ours = ['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens', 'models'];

test('every other wrong value of a parameter goes to a provider of the format', async () => {
  for (const [name, wrongs] of Object.entries(badParameters)) {
    if (ours.includes(name)) continue;
    for (const { value, beside } of wrongs) {
      const body = { messages: hello, ...beside, [name]: value };
      const ask = () => gateway.fetch('/v1/chat/completions', { json: { model: 'chat', ...body } });
      let answer = await ask();
      // On a crowded machine it may be told to come again.
      for (; answer.status === 503; answer = await ask()) await answer.text();
      assert.equal(answer.status, 200, `${name}: ${await answer.text()}`);
      const { model: _, stream_options: __, ...sent } = last().body as Record<string, unknown>;
      assert.deepEqual(sent, JSON.parse(JSON.stringify(body)), name);
    }
  }
});

test('log probabilities are asked of Google in its own format; callers of others are told the field', async () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  const generationConfig = { responseLogprobs: true, logprobs: 2 };
  const own = await gateway.fetch('/v1beta/models/google:generateContent', { json: { contents, generationConfig } });
  assert.equal(own.status, 200);
  assert.deepEqual((last().body as { generationConfig: unknown }).generationConfig, generationConfig);

  const chat = { model: 'google', messages: [{ role: 'user', content: 'Hello' }], logprobs: true };
  const refused = await gateway.fetch('/v1/chat/completions', { json: chat });
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as { error: { param: string } }).error.param, 'logprobs');
  const elsewhere = await gateway.fetch('/v1/chat/completions', { json: { ...chat, model: 'either' } });
  assert.equal(elsewhere.headers.get('x-culvert-provider'), 'chat');
});

for (const model of ['small-chat', 'small-claude']) {
  test(`an input that we estimate too long for ${model} is its provider's to judge`, async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(4_000) }];
    const response = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-attempts'), '1');
  });
}
