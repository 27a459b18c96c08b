import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * What frameworks write into chat completions that services of the same format refuse: each body has the shape in which
 * the framework sends it, and the test reads what reached the service. And what clients demand of an answer.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const targets = {
  openai: 'openai/gpt-5.2',
  cerebras: 'cerebras/gpt-oss-120b',
  groq: 'groq/openai/gpt-oss-120b',
  mistral: 'mistral/mistral-large-latest',
  deepseek: 'deepseek/deepseek-chat',
  lmstudio: 'lmstudio/qwen3',
  openrouter: 'openrouter/qwen/qwen3-vl',
  together: 'together/qwen/qwen3',
  huggingface: 'huggingface/qwen/qwen3',
  anthropic: 'anthropic/claude-sonnet-4-5',
};
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: Object.fromEntries(
      Object.keys(targets).map((type) => [
        type,
        { type, ...at, ...(type === 'openai' && { dialects: ['openai-chat'] }), api_key: 'k' },
      ]),
    ),
    models: {
      ...Object.fromEntries(Object.entries(targets).map(([alias, target]) => [alias, { targets: [target] }])),
      cached: { targets: [targets.openai], cache: { ttl: '1h', tool_calls: true } },
    },
  },
);

/** What the service got, and what the answer's headers list as dropped. */
async function sent(body: JsonObject): Promise<{ body: JsonObject; dropped: string | null }> {
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  assert.equal(response.status, 200, await response.clone().text());
  await response.arrayBuffer();
  return {
    body: upstream.requests().findLast(({ body: one }) => one !== null)!.body as JsonObject,
    dropped: response.headers.get('x-culvert-dropped'),
  };
}

interface Chunk {
  choices: { delta: { tool_calls?: { function: JsonObject }[] }; finish_reason: string | null }[];
  usage?: { prompt_tokens: number };
}

const question = { role: 'user', content: 'The weather?' };
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } };
const call = (id: string) => ({ id, type: 'function', function: { name: 'draw', arguments: '{}' } });
/** As LangChain, LiteLLM and AutoGen write results of tools that give pictures. */
const drawn = [
  { role: 'user', content: 'Draw twice.' },
  { role: 'assistant', content: null, tool_calls: [call('call00001'), call('call00002')] },
  { role: 'tool', tool_call_id: 'call00001', content: [{ type: 'text', text: 'see' }, picture] },
  { role: 'tool', tool_call_id: 'call00002', content: [picture] },
];
const tools = [{ type: 'function', function: { name: 'draw', parameters: { type: 'object', properties: {} } } }];

for (const model of ['openai', 'cerebras']) {
  for (const after of [[], [{ role: 'user', content: 'And?' }]]) {
    test(`${model}: pictures in results of tools follow all results as the user's (${after.length} later)`, async () => {
      const { body } = await sent({ model, messages: [...drawn, ...after], tools });
      assert.deepEqual(body.messages, [
        ...drawn.slice(0, 2),
        { role: 'tool', tool_call_id: 'call00001', content: [{ type: 'text', text: 'see' }] },
        { role: 'tool', tool_call_id: 'call00002', content: '[see the next message]' },
        { role: 'user', content: [picture, picture] },
        ...after,
      ]);
    });
  }
}

test('pictures in results of tools stay where services take them there', async () => {
  const { body } = await sent({ model: 'openrouter', messages: drawn, tools });
  assert.deepEqual(body.messages, drawn);
});

/** As the SDKs of Mistral, and the AI SDK's and LangChain's providers for it, write them. */
const url = picture.image_url.url;
const pdf = 'data:application/pdf;base64,JVBERi0xLjQK';
const mistrals = [
  { type: 'text', text: 'See' },
  { type: 'image_url', image_url: url },
  { type: 'document_url', document_url: pdf, document_name: 'a.pdf' },
];

test("pictures and documents in Mistral's form reach services that have another one", async () => {
  const messages = [{ role: 'user', content: mistrals }];
  const { body } = await sent({ model: 'openai', messages });
  assert.deepEqual(body.messages, [
    { role: 'user', content: [mistrals[0], picture, { type: 'file', file: { filename: 'a.pdf', file_data: pdf } }] },
  ]);
  const { body: claude, dropped } = await sent({ model: 'anthropic', messages });
  const source = (media_type: string, data: string) => ({ source: { type: 'base64', media_type, data } });
  assert.deepEqual(claude.messages, [
    {
      role: 'user',
      content: [
        mistrals[0],
        { type: 'image', ...source('image/png', 'aGVsbG8=') },
        { type: 'document', ...source('application/pdf', 'JVBERi0xLjQK'), title: 'a.pdf' },
      ],
    },
  ]);
  assert.equal(dropped, null);
  assert.deepEqual((await sent({ model: 'mistral', messages })).body.messages, messages);
  for (const part of [{ type: 'image_url', image_url: 'cat' }, { type: 'document_url' }]) {
    const json = { model: 'anthropic', messages: [{ role: 'user', content: [part] }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(response.status, 400);
    assert.match(await response.text(), new RegExp(`"param":"messages\\[0\\]\\.content\\[0\\]\\.${part.type}"`));
  }
});

/** As Mistral's SDK for JavaScript writes a second turn, and that of LangChain's class the rest. */
const ofMistral = {
  messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello', prefix: false }, question],
  safe_prompt: false,
  prompt_mode: null,
  random_seed: 7,
};

for (const model of ['openai', 'groq', 'cerebras']) {
  test(`${model}: words of Mistral's clients go, and the seed has its name`, async () => {
    const { body } = await sent({ model, ...ofMistral });
    const { messages, model: _, ...rest } = body;
    assert.deepEqual(messages, [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello' }, question]);
    assert.deepEqual(rest, { seed: 7 });
    assert.match((await sent({ model, ...ofMistral, safe_prompt: true })).dropped!, /safe_prompt/);
  });
}

/** As the SDKs of Mistral, and genai for Rust, send back what its models thought. */
const thinking = {
  type: 'thinking',
  thinking: [
    { type: 'text', text: 'Hm. ' },
    { type: 'text', text: 'Well.' },
  ],
};
const hello = { type: 'text', text: 'Hello' };

test("thoughts in Mistral's form reach no service that refuses them", async () => {
  const turns = (...content: JsonObject[]) => [question, { role: 'assistant', content }, question];
  const messages = turns(thinking, hello);
  assert.deepEqual((await sent({ model: 'mistral', messages })).body.messages, messages);
  for (const model of ['openai', 'groq', 'cerebras']) {
    assert.deepEqual((await sent({ model, messages })).body.messages, turns(hello), model);
    const alone = (await sent({ model, messages: turns(thinking) })).body.messages as JsonObject[];
    assert.deepEqual(alone[1], { role: 'assistant', content: '' }, model);
  }
  assert.deepEqual(((await sent({ model: 'anthropic', messages })).body.messages as JsonObject[])[1]!.content, [hello]);
  const json = { model: 'anthropic', messages: turns({ type: 'thinking', thinking: 5 }) };
  const refused = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /"param":"messages\[1\]\.content\[0\]\.thinking"/);
});

test("words of Mistral's clients reach Mistral", async () => {
  const { model: _, ...body } = (await sent({ model: 'mistral', ...ofMistral })).body;
  assert.deepEqual(body, ofMistral);
});

// LangChain's class for Groq in JavaScript writes the first always.
test('empty lists of stops and tools go where OpenAI refuses them', async () => {
  const empty = { stop: [], tools: [], tool_choice: 'auto', parallel_tool_calls: true };
  const messages = [question];
  const { body, dropped } = await sent({ model: 'openai', messages, ...empty });
  assert.deepEqual([Object.keys(body).sort(), dropped], [['messages', 'model'], null]);
  assert.deepEqual((await sent({ model: 'groq', messages, ...empty })).body.stop, []);
  assert.deepEqual((await sent({ model: 'openai', messages, stop: ['a'], tools })).body.tools, tools);
});

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { type: 'function', function: { name: 'weather', parameters } };

/** As Mistral's SDK and LangChain's class for Python send them. */
const strictReaders: Record<string, string>[] = [
  { 'user-agent': 'mistral-client-python/3.7.0' },
  { 'user-agent': 'python-httpx/0.28.1', accept: 'text/event-stream', 'cache-control': 'no-store' },
];

test("Mistral's SDKs get each streamed call in one piece, and the usage", async () => {
  for (const [model, headers] of ['openai', 'anthropic'].flatMap((one) =>
    strictReaders.map((agent) => [one, agent] as const),
  )) {
    upstream.clear();
    const response = await gateway.fetch('/v1/chat/completions', {
      json: { model, stream: true, messages: [question], tools: [weather], tool_choice: 'any' },
      headers,
    });
    const frames = (await response.text()).split('\n\n').slice(0, -2);
    const chunks = frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as Chunk);
    const calls = chunks.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? []);
    assert.deepEqual(
      calls.map((one) => one.function),
      [{ name: 'weather', arguments: '{"city":"mock"}' }],
      model,
    );
    // LangChain's class reads neither but where the last choice is.
    assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'tool_calls');
    assert.ok(chunks.at(-1)!.usage!.prompt_tokens > 0);
    assert.equal(chunks.filter(({ choices: [choice] }) => (choice?.finish_reason ?? null) !== null).length, 1);
  }
  const two = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'openai', stream: true, n: 2, messages: [question] },
    headers: { 'user-agent': 'ai-sdk-mistral/4.0.87 ai-sdk-provider-utils/5.0.81' },
  });
  const ends = (await two.text()).split('\n\n').filter((frame) => frame.includes('"finish_reason":"stop"'));
  assert.deepEqual(
    ends.map((frame) => (JSON.parse(frame.slice('data: '.length)) as Chunk).usage?.prompt_tokens !== undefined),
    [false, true],
  );
  // Its own answers pass as they come.
  upstream.clear();
  upstream.script('/v1/chat/completions', ['omit=start']);
  const json = { model: 'mistral', stream: true, messages: [question] };
  const headers = { 'user-agent': 'mistral-client-typescript/2.7.0' };
  const own = await (await gateway.fetch('/v1/chat/completions', { json, headers })).text();
  assert.match(own, /"model":"mistral-large-latest"/);
  assert.doesNotMatch(own, /"refusal":null/);
});

test("a cached stream reaches Mistral's SDKs with each call in one piece, and others as it came", async () => {
  const ask = async (agent: string, text: string) => {
    const response = await gateway.fetch('/v1/chat/completions', {
      json: {
        model: 'cached',
        stream: true,
        messages: [{ role: 'user', content: text }],
        tools: [weather],
        tool_choice: 'required',
      },
      headers: { 'user-agent': agent },
    });
    const cache = response.headers.get('x-culvert-cache') ?? '';
    const pieces = [...(await response.text()).matchAll(/"function":(\{[^}]*\}?"?\})/g)].map(
      ([, piece]) => piece ?? '',
    );
    return { cache: cache.split(';')[0], pieces };
  };
  for (const [text, agents] of Object.entries({
    'kept by another': ['node', 'mistral-client-python/3.7.0', 'node'],
    'kept by an SDK': ['mistral-client-python/3.7.0', 'mistral-client-typescript/2.7.0', 'node'],
  })) {
    upstream.clear();
    for (const [at, agent] of agents.entries()) {
      const { cache, pieces } = await ask(agent, text);
      assert.equal(cache, at === 0 ? 'miss' : 'hit', text);
      if (at === 0) await workersKnow();
      if (agent !== 'node')
        assert.deepEqual(pieces, ['{"name":"weather","arguments":"{\\"city\\":\\"mock\\"}"}'], text);
      else assert.ok(pieces.length > 1, pieces.join());
    }
  }
});

test("the AI SDK's provider for xAI gets each streamed call in one piece", async () => {
  for (const agent of ['ai-sdk-xai/5.0.12 ai-sdk-provider-utils/5.0.81', 'ai-sdk/xai/3.0.138 runtime/node.js/26']) {
    const json = { model: 'openai', stream: true, messages: [question], tools: [weather], tool_choice: 'required' };
    const response = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    const text = await response.text();
    assert.equal(text.match(/"tool_calls":/g)?.length, 1);
    assert.match(text, /"type":"function","function":\{"name":"weather","arguments":"\{\\"city\\":\\"mock\\"\}"\}/);
    assert.match(text, /"finish_reason":"tool_calls"/);
  }
});

test("thoughts in Responses have a status, which the AI SDK's provider for xAI demands", async () => {
  const body = { model: 'deepseek', input: 'Hello', reasoning: { effort: 'low', summary: 'auto' } };
  const whole = await gateway.fetch('/v1/responses', { json: body });
  const { output } = (await whole.json()) as { output: JsonObject[] };
  assert.deepEqual(
    output.filter(({ type }) => type === 'reasoning').map(({ status }) => status),
    ['completed'],
  );
  const streamed = await (await gateway.fetch('/v1/responses', { json: { ...body, stream: true } })).text();
  const statuses = [...streamed.matchAll(/"type":"reasoning","status":"(\w+)"/g)].map(([, status]) => status);
  assert.deepEqual(statuses, ['in_progress', 'completed', 'completed']);
});

test("Groq's and OpenRouter's SDKs, and the AI SDK's providers for them, get thoughts and usage where these have them", async () => {
  const groqs = [
    'Groq/JS 1.6.0',
    'AsyncGroq/Python 1.7.0',
    'langchain/1.1.3',
    'ai-sdk-groq/4.0.84 node.js/26',
    'ai-sdk/groq/3.0.71 node/26',
  ];
  for (const agent of groqs) {
    for (const model of ['openai', 'deepseek', 'anthropic']) {
      const response = await gateway.fetch('/v1/chat/completions', {
        json: { model, stream: true, messages: [question], reasoning_effort: 'low' },
        headers: { 'user-agent': agent },
      });
      const text = await response.text();
      assert.match(text, /"delta":\{"reasoning":"The user/, model);
      assert.doesNotMatch(text, /"reasoning_content"/, model);
      // Groq counts in the last chunk of the choice: the example of its SDKs reads `chunk.choices[0].delta` of each.
      assert.doesNotMatch(text, /"choices":\[\]/, model);
      const last =
        /"delta":\{\},"logprobs":null,"finish_reason":"stop"\}\],"usage":(\{.*\}),"x_groq":\{"usage":\1\}\}\n\ndata: \[DONE\]\n\n$/;
      assert.match(text, last, model);
    }
  }
  const agents = ['ai-sdk/openrouter/2.1.0', 'speakeasy-sdk/typescript 0.3.1 2.7 1.0.0 @openrouter/sdk'];
  for (const [agent, stream] of agents.flatMap((agent) => [false, true].map((stream) => [agent, stream] as const))) {
    const response = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'anthropic', stream, messages: [question], reasoning_effort: 'low' },
      headers: { 'user-agent': agent },
    });
    const text = await response.text();
    assert.match(text, /"reasoning":"The user/);
    assert.doesNotMatch(text, /"reasoning_content"/);
  }
  const json = { model: 'groq', stream: true, messages: [question] };
  const own = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': 'Groq/Python 1.7.0' } });
  const passed = await own.text();
  assert.match(passed, /"refusal":null/);
  assert.doesNotMatch(passed, /"choices":\[\]/);
});

test("Perplexity's SDKs and the AI SDK's provider for it, which request no usage, get it with the finish reason", async () => {
  for (const agent of [
    'Perplexity/JS 0.38.1',
    'AsyncPerplexity/Python 0.46.1',
    'ai-sdk/perplexity/4.0.49 node.js/26',
  ]) {
    const json = { model: 'openai', stream: true, messages: [question] };
    const response = await gateway.fetch('/v1/chat/completions', { json, headers: { 'user-agent': agent } });
    assert.match(await response.text(), /"finish_reason":"stop"\}\],"usage":\{[^\n]+\}\n\ndata: \[DONE\]\n\n$/);
  }
});

test("responses whose request names no sampling have OpenAI's numbers, which Hugging Face's clients demand", async () => {
  for (const model of ['anthropic', 'deepseek']) {
    const whole = await gateway.fetch('/v1/responses', { json: { model, input: 'Hello' } });
    const { temperature, top_p } = (await whole.json()) as JsonObject;
    assert.deepEqual([temperature, top_p], [1, 1]);
  }
});

test('a caller who did not request usage finds none in any chunk of a stream, nor null', async () => {
  const messages = [question];
  for (const model of ['openai', 'groq', 'anthropic']) {
    const json = { model, messages, stream: true };
    const text = await (await gateway.fetch('/v1/chat/completions', { json })).text();
    assert.doesNotMatch(text, /"usage"/, model);
    assert.match(text, /"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/, model);
    for (const line of text.split('\n\n').slice(0, -2)) JSON.parse(line.slice('data: '.length));
    const asked = await gateway.fetch('/v1/chat/completions', {
      json: { ...json, stream_options: { include_usage: true } },
    });
    assert.match(await asked.text(), /"usage":\{"prompt_tokens":/, model);
  }
});

test('texts in results of tools stay as they are', async () => {
  const results = [[{ type: 'text', text: 'see' }], 'see'];
  for (const content of results) {
    const result = { role: 'tool', tool_call_id: 'call00001', content };
    const messages = [drawn[0]!, { ...drawn[1]!, tool_calls: [call('call00001')] }, result];
    assert.deepEqual((await sent({ model: 'openai', messages, tools })).body.messages, messages);
  }
});

// It writes a thought of another model of Responses under its id.
for (const model of ['openai', 'cerebras', 'groq', 'mistral']) {
  test(`${model}: a thought that Pydantic AI names by its id goes`, async () => {
    const { body } = await sent({
      model,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello', rs_0a1b2c3d: 'The user says hi.' },
        { role: 'user', content: 'And?' },
      ],
    });
    assert.deepEqual((body.messages as JsonObject[])[1], { role: 'assistant', content: 'Hello' });
  });
}

for (const model of ['openai', 'cerebras', 'groq', 'mistral']) {
  test(`${model}: a text with the members of its message is a text alone`, async () => {
    const text = { type: 'text', text: 'Hello' };
    const content = [{ ...text, role: 'assistant', refusal: null, annotations: [], reasoning_content: 'Hm.' }];
    const { body } = await sent({ model, messages: [question, { role: 'assistant', content }, question] });
    assert.deepEqual((body.messages as JsonObject[])[1], { role: 'assistant', content: [text] });
  });
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const format = { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } };

for (const stream of [false, true]) {
  test(`a schema for the answer of DeepSeek is told in words, in JSON mode (stream: ${stream})`, async () => {
    const { body, dropped } = await sent({ model: 'deepseek', messages: [question], response_format: format, stream });
    assert.deepEqual(body.response_format, { type: 'json_object' });
    const [first, ...rest] = body.messages as JsonObject[];
    assert.equal(first!.role, 'system');
    assert.match(String(first!.content), /fits this JSON Schema.*"city"/);
    assert.deepEqual(rest, [question]);
    assert.equal(dropped, 'response_format');
  });
}

test('a schema and a history that must change reach DeepSeek both', async () => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, question];
  const { body } = await sent({ model: 'deepseek', messages, response_format: format });
  assert.deepEqual((body.messages as JsonObject[]).slice(1), [{ role: 'system', content: 'Be brief.' }, question]);
});

test('JSON mode of DeepSeek and schemas of others stay as they are', async () => {
  const jsonMode = { type: 'json_object' };
  assert.deepEqual(
    (await sent({ model: 'deepseek', messages: [question], response_format: jsonMode })).body.response_format,
    jsonMode,
  );
  for (const model of ['openai', 'groq', 'mistral', 'cerebras']) {
    const { body, dropped } = await sent({ model, messages: [question], response_format: format });
    assert.deepEqual([body.response_format, body.messages, dropped], [format, [question], null]);
  }
});

test('LM Studio gets a schema of any object for JSON mode', async () => {
  const { body } = await sent({ model: 'lmstudio', messages: [question], response_format: { type: 'json_object' } });
  assert.equal((body.response_format as JsonObject).type, 'json_schema');
});

test('Mistral gets the names of tools, and none of participants', async () => {
  const messages = [
    { role: 'user', content: 'Draw.', name: 'Ada' },
    { role: 'assistant', content: '', name: 'Painter', tool_calls: [call('call00001')] },
    { role: 'tool', tool_call_id: 'call00001', content: 'done', name: 'draw' },
  ];
  const nameless = messages.map(({ name, ...rest }) => (rest.role === 'tool' ? { ...rest, name } : rest));
  assert.deepEqual((await sent({ model: 'mistral', messages, tools })).body.messages, nameless);
  assert.deepEqual((await sent({ model: 'openai', messages, tools })).body.messages, messages);
});

for (const model of ['openai', 'groq', 'cerebras', 'mistral', 'anthropic'])
  test(`${model}: a call that must be made, in the word of Mistral's clients`, async () => {
    const { body } = await sent({ model, messages: [question], tools, tool_choice: 'any' });
    // Mistral takes both words.
    assert.deepEqual(body.tool_choice, model === 'anthropic' ? { type: 'any' } : 'required');
  });

const hints = { store: false, verbosity: 'low', safety_identifier: 'u', prompt_cache_retention: '24h' };
const refusedHints: Record<string, JsonObject> = {
  // Of `createOpenAI().chat()` of the AI SDK, and of clients that keep prompts.
  groq: { ...hints, metadata: { a: 'b' }, prompt_cache_key: 'k' },
  cerebras: { ...hints, metadata: { a: 'b' } },
  mistral: { ...hints, reasoning_format: 'parsed' },
  // Of `createGroq()`.
  openai: { reasoning_format: 'parsed' },
};
for (const [model, members] of Object.entries(refusedHints)) {
  test(`${model} gets no member that it refuses: ${Object.keys(members)}`, async () => {
    const { body, dropped } = await sent({ model, messages: [question], ...members });
    assert.deepEqual(Object.keys(body).sort(), ['messages', 'model']);
    assert.deepEqual(dropped?.split(', ').sort(), Object.keys(members).sort());
  });
}

test('members that services know stay', async () => {
  const openAi = { ...hints, metadata: { a: 'b' }, prompt_cache_key: 'k' };
  for (const [model, members] of Object.entries({ openai: openAi, cerebras: { prompt_cache_key: 'k' } })) {
    const { model: _, messages: __, ...others } = (await sent({ model, messages: [question], ...members })).body;
    assert.deepEqual(others, members);
  }
});

test("a whole answer of another format has what OpenRouter's SDKs require", async () => {
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'anthropic', messages: [question] } });
  const { system_fingerprint: fingerprint, choices } = (await response.json()) as JsonObject;
  assert.equal(fingerprint, '');
  assert.deepEqual(Object.keys((choices as JsonObject[])[0]!).sort(), [
    'finish_reason',
    'index',
    'logprobs',
    'message',
  ]);
});

test('tools in the older form reach services that know the newer one alone, and calls come back in the older', async () => {
  const functions = [{ name: 'weather', description: 'By city', parameters: { type: 'object', properties: {} } }];
  const asked = { messages: [question], functions, function_call: { name: 'weather' } };
  for (const model of ['mistral', 'groq', 'openrouter', 'anthropic']) {
    const response = await gateway.fetch('/v1/chat/completions', { json: { ...asked, model } });
    const [choice] = ((await response.json()) as { choices: { message: JsonObject; finish_reason: string }[] }).choices;
    const { function_call: made, tool_calls: none } = choice!.message;
    assert.deepEqual([Object.keys(made as JsonObject), none], [['name', 'arguments'], undefined], model);
    assert.equal((made as JsonObject).name, 'weather');
    JSON.parse(String((made as JsonObject).arguments));
    assert.equal(choice!.finish_reason, 'function_call', model);
    const events = await gateway.fetch('/v1/chat/completions', { json: { ...asked, model, stream: true } });
    const deltas = (await events.text()).split('\n\n').flatMap((event) => {
      const chunk = event.startsWith('data: {') ? JSON.parse(event.slice('data: '.length)) : { choices: [] };
      return chunk.choices.map(({ delta, finish_reason: end }: { delta: JsonObject; finish_reason: string }) => ({
        ...delta,
        end,
      }));
    });
    const pieces = deltas.flatMap(({ function_call: piece }) => (piece === undefined ? [] : [piece]));
    assert.equal(pieces.map(({ name = '' }) => name).join(''), 'weather', model);
    JSON.parse(pieces.map(({ arguments: piece = '' }) => piece).join(''));
    assert.equal(deltas.at(-1)?.end, 'function_call', model);
    assert.ok(deltas.every((delta) => delta.tool_calls === undefined));
  }
  const answered = [
    { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{}' } },
    { role: 'function', name: 'weather', content: 'Rain' },
  ];
  const { body } = await sent({ ...asked, model: 'mistral', messages: [question, ...answered], function_call: 'auto' });
  const [, turn, result] = body.messages as JsonObject[];
  assert.equal((turn!.tool_calls as JsonObject[])[0]!.id, result!.tool_call_id);
  assert.deepEqual(
    [result!.role, (body.tools as JsonObject[]).length, body.tool_choice, body.functions, body.function_call],
    ['tool', 1, 'auto', undefined, undefined],
  );
  const { body: kept } = await sent({ ...asked, model: 'openai' });
  assert.deepEqual([kept.functions, kept.function_call, kept.tools], [functions, asked.function_call, undefined]);
});

test('custom tools reach services that know functions alone as functions, and their calls come back as custom ones', async () => {
  const patch = {
    type: 'custom',
    custom: { name: 'patch', description: 'Applies a patch.', format: { type: 'text' } },
  };
  const made = { id: 'call00001', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
  const messages = [
    question,
    { role: 'assistant', content: null, tool_calls: [made] },
    { role: 'tool', tool_call_id: made.id, content: 'Done' },
  ];
  const asked = { messages, tools: [patch], tool_choice: { type: 'custom', custom: { name: 'patch' } } };
  for (const model of ['mistral', 'groq', 'lmstudio', 'openrouter']) {
    const { body } = await sent({ ...asked, model });
    const [tool] = body.tools as { type: string; function: JsonObject }[];
    assert.deepEqual(
      [tool!.type, tool!.function.name, tool!.function.description],
      ['function', 'patch', 'Applies a patch.'],
    );
    assert.ok(!JSON.stringify(body).includes('custom'), JSON.stringify(body));
    const [call] = (body.messages as { tool_calls: { function: JsonObject }[] }[])[1]!.tool_calls;
    assert.deepEqual(call!.function, { name: 'patch', arguments: '{"input":"*** Begin"}' });
    const response = await gateway.fetch('/v1/chat/completions', { json: { ...asked, model, messages: [question] } });
    const { choices } = (await response.json()) as { choices: { message: { tool_calls: (typeof made)[] } }[] };
    const [called] = choices[0]!.message.tool_calls;
    assert.deepEqual([called!.type, called!.custom.name, typeof called!.custom.input], ['custom', 'patch', 'string']);
  }
  const { body: kept } = await sent({ ...asked, model: 'openai' });
  assert.deepEqual([kept.tools, kept.tool_choice, kept.messages], [[patch], asked.tool_choice, messages]);
});

test('calls of a custom tool that is listed no more are calls of a function, too', async () => {
  const made = { id: 'call00001', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
  const messages = [
    question,
    { role: 'assistant', content: null, tool_calls: [made] },
    { role: 'tool', tool_call_id: made.id, content: 'Done' },
  ];
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
  for (const asked of [{ messages }, { messages, tools }]) {
    const { body } = await sent({ ...asked, model: 'groq' });
    const [call] = (body.messages as { tool_calls: { type: string; function: JsonObject }[] }[])[1]!.tool_calls;
    assert.deepEqual(call!.function, { name: 'patch', arguments: '{"input":"*** Begin"}' });
    assert.equal(call!.type, 'function');
    const { body: kept } = await sent({ ...asked, model: 'openai' });
    assert.deepEqual(kept.messages, messages);
  }
});

test('a grammar of a custom tool that a function cannot hold the model to is named', async () => {
  const grammar = { syntax: 'lark', definition: 'start: "x"' };
  const custom = { name: 'patch', format: { type: 'grammar', grammar } };
  const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
  const asked = { messages: [question], tools: [weather, { type: 'custom', custom }] };
  for (const model of ['groq', 'anthropic']) {
    const { body, dropped } = await sent({ ...asked, model });
    assert.match(JSON.stringify(body.tools), /must follow this lark grammar/);
    assert.equal(dropped, 'tools[1].custom.format', model);
  }
  assert.equal((await sent({ ...asked, model: 'openai' })).dropped, null);
});

test('what functions in place of custom tools have no place for is named, and no member of the request', async () => {
  const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
  const tools = [
    { ...weather, defer_loading: true },
    { type: 'custom', custom: { name: 'patch' } },
  ];
  const { body, dropped } = await sent({ messages: [{ ...question, weight: 1 }], tools, model: 'groq' });
  assert.deepEqual(Object.keys(body).sort(), ['messages', 'model', 'stream', 'stream_options', 'tools']);
  assert.equal(dropped, 'messages.weight, tools.defer_loading');
});

test('a schema beside JSON mode is the schema of the answer where services refuse or ignore it there', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const format = { type: 'json_object', schema };
  const asked = { messages: [question], response_format: format };
  const inPlace = { type: 'json_schema', json_schema: { name: 'answer', schema } };
  for (const model of ['openai', 'groq', 'cerebras', 'mistral', 'lmstudio'])
    assert.deepEqual((await sent({ ...asked, model })).body.response_format, inPlace, model);
  assert.deepEqual((await sent({ ...asked, model: 'openrouter' })).body.response_format, format);
  // Hugging Face's InferenceClient for Python turns a schema into TGI's form.
  const ofTgi = { ...asked, response_format: { type: 'json_object', value: schema } };
  for (const model of ['openai', 'groq', 'mistral', 'lmstudio', 'openrouter', 'together'])
    assert.deepEqual((await sent({ ...ofTgi, model })).body.response_format, inPlace, model);
  const { response_format: kept } = (await sent({ ...ofTgi, model: 'huggingface' })).body;
  assert.deepEqual(kept, ofTgi.response_format, 'TGI takes it');
  assert.match(JSON.stringify((await sent({ ...ofTgi, model: 'anthropic' })).body), /"schema":.*"city"/);
  for (const one of [asked, ofTgi]) {
    const { body, dropped } = await sent({ ...one, model: 'deepseek' });
    assert.deepEqual([body.response_format, dropped], [{ type: 'json_object' }, 'response_format']);
    assert.match(String((body.messages as JsonObject[])[0]!.content), /JSON Schema.*"city"/);
  }
});

test('parts in the words of Responses, and calls without ids, are those of chat completions for every provider', async () => {
  const pixel = 'data:image/png;base64,aGVsbG8=';
  const nameless = (city: string) => ({
    ...{ id: '', type: 'function' },
    function: { name: 'weather', arguments: JSON.stringify({ city }) },
  });
  const messages = [
    { role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Where?' },
        { type: 'input_image', image_url: pixel, detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGVsbG8=' },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Here.' }],
      tool_calls: ['Rome', 'Oslo'].map(nameless),
    },
    { role: 'tool', tool_call_id: '', content: 'sun' },
    { role: 'tool', tool_call_id: '', content: [{ type: 'input_text', text: 'snow' }] },
    { role: 'user', content: 'And?' },
  ];
  const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };
  const { body } = await sent({ model: 'anthropic', messages, tools: [tool] });
  const [first, turn, results] = body.messages as { content: JsonObject[] }[];
  assert.deepEqual(
    first!.content.map(({ type }) => type),
    ['text', 'image', 'document'],
  );
  const [text, rome, oslo] = turn!.content;
  assert.deepEqual(
    [text!.text, (rome!.input as JsonObject).city, (oslo!.input as JsonObject).city],
    ['Here.', 'Rome', 'Oslo'],
  );
  const [sun, snow] = results!.content;
  assert.deepEqual([sun!.tool_use_id, snow!.tool_use_id], [rome!.id, oslo!.id]);
  assert.match(JSON.stringify([sun!.content, snow!.content]), /sun.*snow/);
  const { body: chat } = await sent({ model: 'openrouter', messages, tools: [tool] });
  const [system, user, calls, answer] = chat.messages as JsonObject[];
  assert.deepEqual(system!.content, [{ type: 'text', text: 'Be brief.' }]);
  assert.deepEqual((user!.content as JsonObject[])[1], { type: 'image_url', image_url: { url: pixel, detail: 'low' } });
  assert.equal((calls!.tool_calls as JsonObject[])[0]!.id, answer!.tool_call_id);
});

test('results of calls that name them by `id`, as Qwen-Agent writes them with use_raw_api, or not at all', async () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } });
  const result = (content: string, members = {}) => ({ role: 'tool', name: 'weather', content, ...members });
  const messages = [
    question,
    { role: 'assistant', tool_calls: [call('call_a'), call('call_b'), call('call_c')] },
    result('second', { id: 'call_b', extra: { function_id: 'call_b' } }),
    result('first'),
    result('third', { tool_call_id: 'call_c' }),
  ];
  const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
  const { body } = await sent({ model: 'anthropic', messages, tools: [tool] });
  const results = (body.messages as { content: JsonObject[] }[]).at(-1)!.content;
  assert.deepEqual(
    results
      .map(({ tool_use_id: id, content }) => [id, JSON.stringify(content).match(/first|second|third/)?.[0]])
      .sort(),
    [
      ['call_a', 'first'],
      ['call_b', 'second'],
      ['call_c', 'third'],
    ],
  );
  const { body: chat } = await sent({ model: 'deepseek', messages, tools: [tool] });
  const ids = (chat.messages as JsonObject[]).slice(2).map(({ tool_call_id: id }) => id);
  assert.deepEqual(ids, ['call_b', 'call_a', 'call_c']);
});

test('a file that a provider cannot read is refused with its whole type', async () => {
  const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  const file = { filename: 'a.docx', file_data: `data:${type};base64,UEsDBA==` };
  const messages = [{ role: 'user', content: [{ type: 'file', file }] }];
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'anthropic', messages } });
  assert.equal(response.status, 400);
  assert.match(await response.text(), new RegExp(`Files of type ${type} are not supported`));
});
