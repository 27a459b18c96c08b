import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Conversations that one provider accepted go on with another, which is stricter. Users of gateways report each of these. */

const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      claude: { type: 'anthropic', ...at },
      google: { type: 'gemini', ...at, base_url: upstream.url },
      local: { type: 'vllm', ...at },
      mistral: { type: 'mistral', ...at },
      deepseek: { type: 'deepseek', ...at },
      moonshot: { type: 'moonshot', ...at },
      zai: { type: 'zai', ...at },
      dashscope: { type: 'dashscope', ...at },
      openrouter: { type: 'openrouter', ...at },
      openai: { type: 'openai', ...at },
      bedrock: { type: 'bedrock', ...at, base_url: upstream.url, region: 'us-east-1' },
    },
    models: {
      claude: { targets: ['claude/mock/ok'] },
      sonnet: { targets: ['claude/claude-sonnet-4-5'] },
      opus: { targets: ['claude/claude-opus-4-8'] },
      local: { targets: ['local/qwen3.5-27b'] },
      mistral: { targets: ['mistral/mistral-large-latest'] },
      deepseek: { targets: ['deepseek/deepseek-v4-flash'] },
      moonshot: { targets: ['moonshot/kimi-k2.6'] },
      'moonshot-k3': { targets: ['moonshot/kimi-k3'] },
      zai: { targets: ['zai/glm-5.3'] },
      dashscope: { targets: ['dashscope/qwen3.7-plus'] },
      routed: { targets: ['openrouter/qwen/qwen3.7-max'] },
      'routed-gpt': { targets: ['openrouter/openai/gpt-5.1'] },
      gpt: { targets: ['openai/gpt-4o'] },
      google: { targets: ['google/gemini-2.5-flash'] },
      nova: { targets: ['bedrock/amazon.nova-pro-v1:0'] },
      'nova-cached': { prompt_cache: 'auto', targets: ['bedrock/amazon.nova-pro-v1:0'] },
    },
  },
);
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
const anthropic = new Anthropic({ baseURL: gateway.url, authToken: gateway.key, apiKey: null });

type Chat = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>;
type Messages = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>;

/** The body that reaches the upstream. */
async function sent(call: Promise<unknown>): Promise<JsonObject> {
  upstream.clear();
  await call;
  return upstream.requests().find(({ method }) => method === 'POST')?.body as JsonObject;
}

const chat = (body: object) => sent(openai.chat.completions.create(body as Chat));
const messages = (body: object) => sent(anthropic.messages.create({ max_tokens: 64, ...body } as Messages));

const user = (content: string) => ({ role: 'user', content });

/** Values of all members with this name, in order. */
function all(body: unknown, name: string): unknown[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) => (key === name ? [value] : all(value, name)));
}

const run = { name: 'bash', input_schema: { type: 'object', properties: { c: { type: 'string' } } } };
const bash = { type: 'function', function: { name: 'bash', parameters: run.input_schema } };
const called = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'bash', arguments: '{}' } })),
});
const answered = (tool_call_id: string, content: string) => ({ role: 'tool', tool_call_id, content });
const go = { role: 'user', content: 'Go' };

test('calls whose ids a server counts anew in each answer have an id each over Anthropic and Bedrock', async () => {
  const history = [
    go,
    called('bash:0'),
    answered('bash:0', 'one'),
    called('bash:0', 'bash:0'),
    answered('bash:0', 'two'),
    answered('bash:0', 'three'),
  ];
  const claude = await chat({ model: 'claude', tools: [bash], messages: history });
  const ids = ['bash_0', 'bash_0_2', 'bash_0_3'];
  assert.deepEqual(all(claude, 'id'), ids);
  assert.deepEqual(all(claude, 'tool_use_id'), ids);
  assert.deepEqual(all(claude, 'content').slice(-1), [
    [
      { type: 'tool_result', tool_use_id: 'bash_0_2', content: 'two' },
      { type: 'tool_result', tool_use_id: 'bash_0_3', content: 'three' },
    ],
  ]);
  const nova = await chat({ model: 'nova', tools: [bash], messages: history });
  assert.deepEqual(all(nova, 'toolUseId'), ['bash_0', 'bash_0', 'bash_0_2', 'bash_0_3', 'bash_0_2', 'bash_0_3']);
});

test('calls of the old functions, which have no ids, get one each', async () => {
  const turn = [
    { role: 'assistant', content: null, function_call: { name: 'bash', arguments: '{}' } },
    { role: 'function', name: 'bash', content: 'done' },
  ];
  const claude = await chat({ model: 'claude', messages: [go, ...turn, ...turn] });
  assert.deepEqual(all(claude, 'id'), ['call_bash', 'call_bash_2']);
  assert.deepEqual(all(claude, 'tool_use_id'), ['call_bash', 'call_bash_2']);
});

test('a conversation of Messages that another provider answered has an id for each call when it goes on with Anthropic', async () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'bash', input: {} });
  const result = (tool_use_id: string, content: string) => ({ type: 'tool_result', tool_use_id, content });
  const body = await messages({
    model: 'claude',
    tools: [run],
    messages: [
      go,
      { role: 'assistant', content: [use('call_0')] },
      { role: 'user', content: [result('call_0', 'one')] },
      { role: 'assistant', content: [use('call_0'), use('call_0')] },
      { role: 'user', content: [result('call_0', 'two'), result('call_0', 'three')] },
      { role: 'assistant', content: [use('call_1')] },
      { role: 'user', content: [result('call_1', 'four')] },
    ],
  });
  const ids = ['call_0', 'call_0_2', 'call_0_3', 'call_1'];
  assert.deepEqual(all(body, 'id'), ids);
  assert.deepEqual(all(body, 'tool_use_id'), ids);
});

test('DeepSeek and Moonshot get no turn of thoughts alone, as an interruption leaves it', async () => {
  const hi = { role: 'assistant', content: 'Hi', reasoning_content: 'Short.' };
  const alone = ['', null, []].map((content) => ({ role: 'assistant', content, reasoning_content: 'Let me' }));
  const begun = { role: 'assistant', content: '', reasoning_content: 'Let me', prefix: true };
  for (const model of ['deepseek', 'moonshot']) {
    const history = [go, hi, go, ...alone, go];
    const { messages: passed } = await chat({ model, messages: history });
    assert.deepEqual(passed, [go, hi, go, go], model);
    const { messages: whole } = await chat({ model, messages: [go, begun] });
    assert.deepEqual(whole, [go, begun], model);
  }
  const { messages: kept } = await chat({ model: 'local', messages: [go, ...alone.slice(0, 1), go] });
  assert.deepEqual(kept, [go, { ...alone[0], reasoning: 'Let me' }, go]);
});

const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJ';

test('Anthropic gets no blank text of an answer, as others write one before a call, and OpenAI no empty list', async () => {
  const called = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'here' }] };
  const blank = (text: string) => ({ role: 'assistant', content: [{ type: 'text', text }, called] });
  const body = await messages({
    model: 'sonnet',
    messages: [user('Hi'), blank('\n\n'), result, { role: 'assistant', content: ' ' }, user('Go on')],
  });
  assert.deepEqual(body.messages, [user('Hi'), { role: 'assistant', content: [called] }, result, user('Go on')]);
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const turns = [
    { role: 'assistant', content: [], tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'here' },
  ];
  const { messages: sentTurns } = await chat({ model: 'gpt', messages: [user('Hi'), ...turns] });
  assert.deepEqual(sentTurns, [user('Hi'), { ...turns[0], content: null }, turns[1]]);
});

test('pictures go under the type of their bytes, which Anthropic demands', async () => {
  const content = ['image/png', 'image/jpg'].map((type) => ({
    type: 'image_url',
    image_url: { url: `data:${type};base64,${jpeg}` },
  }));
  const ask = (model: string) => chat({ model, messages: [{ role: 'user', content }] });
  assert.deepEqual(all(await ask('claude'), 'media_type'), ['image/jpeg', 'image/jpeg']);
  assert.deepEqual(all(await ask('google'), 'mimeType'), ['image/jpeg', 'image/jpeg']);
  assert.deepEqual(all(await ask('nova'), 'format'), ['jpeg', 'jpeg']);
});

test('pictures in messages and in results of tools do so over Anthropic itself, and others stay as they are', async () => {
  const image = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } });
  const unknown = image('image/png', 'AAAA');
  const body = await messages({
    model: 'claude',
    tools: [run],
    messages: [
      { role: 'user', content: [image('image/png', jpeg), unknown] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image('image/webp', jpeg)] }] },
    ],
  });
  assert.deepEqual(all(body, 'media_type'), ['image/jpeg', 'image/png', 'image/jpeg']);
});

test('files without a name get one over chat completions, where OpenAI refuses them otherwise', async () => {
  const data = Buffer.from('%PDF-1.4').toString('base64');
  const source = { type: 'base64', media_type: 'application/pdf', data };
  const documents = [
    { type: 'document', source },
    { type: 'document', source, title: 'Report' },
  ];
  const body = await messages({ model: 'gpt', messages: [{ role: 'user', content: documents }] });
  assert.deepEqual(all(body, 'filename'), ['file.pdf', 'Report']);
  const parts = [{ inlineData: { mimeType: 'application/pdf', data } }];
  const path = '/v1beta/models/gpt:generateContent';
  const json = { contents: [{ role: 'user', parts }] };
  assert.deepEqual(all(await sent(gateway.fetch(path, { json })), 'filename'), ['file.pdf']);
});

test('a result without a word does not point at the picture of another one', async () => {
  const picture = { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${jpeg}` } };
  const body = await chat({
    model: 'google',
    tools: [bash],
    messages: [go, called('a', 'b'), { ...answered('a', ''), content: [picture] }, answered('b', '')],
  });
  assert.deepEqual(all(body, 'output'), ['[see the next message]', '']);
});

const cache_control = { type: 'ephemeral' };

test('a mark for the cache of a whole chat message is one of its last part', async () => {
  const body = await chat({
    model: 'claude',
    tools: [bash],
    messages: [
      { role: 'system', content: 'Be brief.', cache_control },
      { ...go, cache_control },
      { ...called('a'), content: 'Look:', cache_control },
      { ...answered('a', 'one'), cache_control },
    ],
  });
  assert.deepEqual(body.system, [{ type: 'text', text: 'Be brief.', cache_control }]);
  assert.deepEqual(body.messages, [
    { role: 'user', content: [{ type: 'text', text: 'Go', cache_control }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Look:' },
        { type: 'tool_use', id: 'a', name: 'bash', input: {}, cache_control },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'one', cache_control }] },
  ]);
});

const cachePoint = { type: 'default' };

test("Messages' mark for all that was said is one at its end over Bedrock", async () => {
  const body = await messages({ model: 'nova', cache_control, messages: [go] });
  assert.deepEqual(body.messages, [{ role: 'user', content: [{ text: 'Go' }, { cachePoint }] }]);
});

test('Nova gets marks for its cache neither among tools nor behind calls and results, and none for an hour', async () => {
  const mark = { cache_control: { ...cache_control, ttl: '1h' } };
  const body = await messages({
    model: 'nova',
    system: [{ type: 'text', text: 'Be brief.', ...mark }],
    tools: [{ ...run, ...mark }],
    messages: [
      go,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: {}, ...mark }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'one', ...mark }] },
    ],
  });
  assert.deepEqual(all(body, 'cachePoint'), [cachePoint]);
  assert.deepEqual(body.system, [{ text: 'Be brief.' }, { cachePoint }]);
});

test("marks that Culvert makes for Nova are not behind a tool's result either", async () => {
  const long = 'Remember this. '.repeat(1_000);
  const body = await chat({
    model: 'nova-cached',
    tools: [bash],
    messages: [{ role: 'user', content: long }, called('a'), answered('a', long)],
  });
  assert.deepEqual(body.messages, [
    { role: 'user', content: [{ text: long }, { cachePoint }] },
    { role: 'assistant', content: [{ toolUse: { toolUseId: 'a', name: 'bash', input: {} } }] },
    { role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [{ text: long }] } }] },
  ]);
});

test('of more marks than Anthropic and Bedrock take, the newest four reach them', async () => {
  const part = (text: string) => ({ role: 'user', content: [{ type: 'text', text, cache_control }] });
  const history = (count: number) => ({
    tools: [{ ...bash, cache_control }],
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control }] },
      ...Array.from({ length: count }, (_, i) => [
        part(`question ${i}`),
        { role: 'assistant', content: `${i}` },
      ]).flat(),
      part('Go'),
    ],
  });
  const claude = await chat({ model: 'claude', ...history(4) });
  assert.equal(all(claude, 'cache_control').length, 4);
  assert.deepEqual([all(claude.tools, 'cache_control'), all(claude.system, 'cache_control')], [[], []]);
  assert.deepEqual(all((claude.messages as JsonObject[])[0], 'cache_control'), []);
  const nova = await chat({ model: 'nova', ...history(5) });
  assert.equal(all(nova, 'cachePoint').length, 4);
  assert.deepEqual(nova.system, [{ text: 'Be brief.' }]);
  const few = await chat({ model: 'claude', ...history(1) });
  assert.deepEqual(all(few, 'cache_control'), [cache_control, cache_control, cache_control, cache_control]);
  const told = await gateway.fetch('/v1/chat/completions', { json: { model: 'claude', ...history(4) } });
  assert.match(told.headers.get('x-culvert-dropped') ?? '', /cache_control/);
});

test("a PDF as a picture's URL, as clients of LiteLLM send it, is a document elsewhere", async () => {
  const url = 'data:application/pdf;base64,JVBERi0xLjQK';
  const content = [
    { type: 'text', text: 'Read it.' },
    { type: 'image_url', image_url: { url } },
  ];
  const claude = await chat({ model: 'claude', messages: [{ role: 'user', content }] });
  assert.deepEqual((all(claude, 'content')[0] as JsonObject[])[1], {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' },
  });
  const local = await chat({ model: 'local', messages: [{ role: 'user', content }] });
  assert.deepEqual(all(local, 'content'), [content], 'in its own format it stays');
});

test("OpenAI's role of a developer is the system's for services that refuse it", async () => {
  const asked = [{ role: 'developer', content: 'Be brief.' }, go];
  const rolesOf = async (model: string) => all((await chat({ model, messages: asked })).messages, 'role');
  for (const model of ['deepseek', 'moonshot', 'mistral', 'zai', 'dashscope', 'routed']) {
    assert.deepEqual(await rolesOf(model), ['system', 'user'], model);
  }
  for (const model of ['gpt', 'routed-gpt']) assert.deepEqual(await rolesOf(model), ['developer', 'user'], model);
});

test('a call that must be made keeps models from thinking that refuse both, from every format', async () => {
  const off = { thinking: { type: 'disabled' } };
  const expected = { deepseek: off, moonshot: off, dashscope: { enable_thinking: false }, 'moonshot-k3': {}, gpt: {} };
  const ask = { messages: [go], tools: [bash] };
  for (const [model, members] of Object.entries(expected)) {
    const forced = [
      await chat({ model, ...ask, tool_choice: 'required' }),
      await chat({
        model,
        ...ask,
        tool_choice: { type: 'function', function: { name: 'bash' } },
        reasoning_effort: 'low',
      }),
      await messages({ model, messages: [go], tools: [run], tool_choice: { type: 'any' } }),
    ];
    for (const { thinking, enable_thinking, reasoning_effort } of forced) {
      const found = {
        ...(thinking !== undefined && { thinking }),
        ...(enable_thinking !== undefined && { enable_thinking }),
      };
      assert.deepEqual(found, members, model);
      if (Object.keys(members).length > 0) assert.equal(reasoning_effort, undefined, model);
    }
    for (const free of [{ tool_choice: 'auto' }, {}]) {
      const { thinking, enable_thinking } = await chat({ model, ...ask, ...free });
      assert.deepEqual([thinking, enable_thinking], [undefined, undefined], model);
    }
  }
  const kept = await chat({ model: 'deepseek', ...ask, tool_choice: 'required', thinking: { type: 'enabled' } });
  assert.deepEqual(kept.thinking, { type: 'enabled' });
  const json = { model: 'deepseek', ...ask, tool_choice: 'required', reasoning_effort: 'high' };
  const told = await gateway.fetch('/v1/chat/completions', { json });
  assert.match(told.headers.get('x-culvert-dropped') ?? '', /reasoning_effort/);
});

const agents = { role: 'system', content: 'Agents: none.' };
const resultOf = (tool_use_id: string) => ({ type: 'tool_result', tool_use_id, content: 'one' });
const claudeCode = {
  system: 'Be brief.',
  tools: [run],
  messages: [
    go,
    agents,
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: {} }] },
    { role: 'user', content: [resultOf('t')] },
    agents,
  ],
};

test("Claude Code's messages of the system stay for a model that takes them, and are the user's for any other", async () => {
  assert.deepEqual((await messages({ model: 'opus', ...claudeCode })).messages, claudeCode.messages);
  const text = (value: string) => ({ type: 'text', text: value });
  assert.deepEqual((await messages({ model: 'sonnet', ...claudeCode })).messages, [
    { role: 'user', content: [text('Go'), text('Agents: none.')] },
    claudeCode.messages[2],
    { role: 'user', content: [resultOf('t'), text('Agents: none.')] },
  ]);
});

test('a server of open models, whose templates take one message of the system, gets one', async () => {
  const body = await messages({ model: 'local', ...claudeCode });
  assert.deepEqual(
    (body.messages as JsonObject[]).map(({ role, content }) => [role, content]),
    [
      ['system', 'Be brief.'],
      ['user', 'Go\n\nAgents: none.'],
      ['assistant', null],
      ['tool', 'one'],
      ['user', 'Agents: none.'],
    ],
  );
  const codex = await sent(
    openai.responses.create({
      model: 'local',
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: 'Ask first.' },
        { type: 'message', role: 'user', content: 'Go' },
      ],
    }),
  );
  assert.deepEqual(codex.messages, [{ role: 'system', content: 'Be brief.\n\nAsk first.' }, go]);
});

test('messages of a chat reach such a server as they are', async () => {
  const body = await chat({ model: 'local', messages: [go, agents] });
  assert.deepEqual(body.messages, [go, agents]);
});

test('Mistral gets ids of nine letters and digits, the same for call and result, from callers of both formats', async () => {
  const [theirs, long, other] = ['AbCdEf123', 'call_005AKQn2j5TEr4S6i3zNN59moT', 'toolu_01'];
  const history = [go, called(theirs, long), answered(theirs, 'one'), answered(long, 'two'), go];
  const body = await chat({ model: 'mistral', tools: [bash], messages: history });
  const [first, second] = all(body, 'id') as [string, string];
  assert.equal(first, theirs);
  assert.match(second, /^[A-Za-z0-9]{9}$/);
  assert.deepEqual(all(body, 'tool_call_id'), [theirs, second]);
  assert.deepEqual(all(await chat({ model: 'mistral', tools: [bash], messages: history }), 'id'), [theirs, second]);
  const use = { role: 'assistant', content: [{ type: 'tool_use', id: other, name: 'bash', input: {} }] };
  const converted = await messages({
    model: 'mistral',
    tools: [run],
    messages: [go, use, { role: 'user', content: [resultOf(other)] }],
  });
  assert.match(String(all(converted, 'id')), /^[A-Za-z0-9]{9}$/);
  assert.deepEqual(all(converted, 'tool_call_id'), all(converted, 'id'));
});

for (const model of ['deepseek', 'moonshot']) {
  test(`turns with calls that another model wrote have a thought over ${model}, which refuses them otherwise`, async () => {
    const thought = { ...called('b'), reasoning_content: 'Hm.' };
    const body = await chat({
      model,
      tools: [bash],
      messages: [
        go,
        called('a'),
        answered('a', 'one'),
        thought,
        answered('b', 'two'),
        { role: 'assistant', content: 'So.' },
        go,
      ],
    });
    assert.deepEqual(all(body, 'reasoning_content'), [' ', 'Hm.']);
  });
}

test('the second tool of a name is left out, and said to be', async () => {
  const other = { ...run, description: 'Another one.' };
  const reach = async (model: string) => {
    const json = { model, max_tokens: 64, tools: [run, other], messages: [go] };
    const answer = gateway.fetch('/v1/messages', { json });
    const body = await sent(answer);
    return [all(body, 'name'), (await answer).headers.get('x-culvert-dropped')];
  };
  for (const model of ['claude', 'google', 'nova']) assert.deepEqual(await reach(model), [['bash'], 'tools'], model);
});
