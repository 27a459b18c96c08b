import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { asked, dataLines } from './served.ts';

const path = '/v1/messages';
const upstream = await startUpstream();
after(() => upstream.close());
const target = (provider: string, model = 'ok', more: object = {}) => ({
  targets: [{ provider, model: `mock/${model}`, ...more }],
});
/** Closed after all tests of this file. */
const whole = { after: after as TestContext['after'] };
const gateway = await startGateway(whole, {
  providers: {
    openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
  },
  models: {
    gpt: target('openai'),
    claude: target('claude'),
    small: target('claude', 'ok', { max_output_tokens: 1_000, context_window: 2_000 }),
    either: { targets: ['openai/mock/ok', { provider: 'claude', model: 'mock/ok', priority: 2 }] },
    plain: target('openai', 'ok', { capabilities: { reasoning: false } }),
  },
});
await gateway.modelsKnown;

const hello = { model: 'gpt', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const post = (json: object, headers: Record<string, string> = {}) => gateway.fetch(path, { json, headers });
const last = () => asked(upstream).at(-1)!;

interface Body {
  type: string;
  content: { type: string; text: string }[];
  error: { message: string; type: string; code: number; param: string | null };
  request_id: string;
  input_tokens: number;
}
const bodyOf = async (response: Response) => (await response.json()) as Body;

test('§4.4 "POST /v1/messages. … The same API key works as for chat completions"', async () => {
  assert.equal((await post(hello)).status, 200);
  const chat = await gateway.fetch('/v1/chat/completions', { json: { model: 'gpt', messages: hello.messages } });
  assert.equal(chat.status, 200);
});

test('§4.4 "Authentication header: x-api-key", and Bearer as well; §9 any version header or none', async () => {
  for (const headers of [
    { 'x-api-key': testKey },
    { 'x-api-key': testKey, 'anthropic-version': '2023-06-01' },
    { authorization: `Bearer ${testKey}`, 'anthropic-version': '2026-10-21' },
    { authorization: `Bearer ${testKey}`, 'anthropic-version': 'tomorrow' },
  ]) {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers } as Record<string, string>,
      body: JSON.stringify(hello),
    });
    assert.equal(response.status, 200);
    await response.arrayBuffer();
  }
});

test('§4.4 "`content` is an array; the first item has `text`", whatever provider answers', async () => {
  for (const model of ['gpt', 'claude']) {
    const { content } = await bodyOf(await post({ ...hello, model }));
    assert.equal(content[0]?.text, 'Mock answer to: Hello', model);
  }
});

test('§4.4 "Body fields: model (string), max_tokens (integer), messages": what is missing or wrong is 400 in its format', async () => {
  const wrong: [object, string | null][] = [
    [{ ...hello, model: undefined }, 'model'],
    [{ ...hello, max_tokens: undefined }, 'max_tokens'],
    [{ ...hello, max_tokens: 1.5 }, 'max_tokens'],
    [{ ...hello, max_tokens: null }, 'max_tokens'],
    [{ ...hello, messages: [] }, 'messages'],
    [{ ...hello, messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
    [{ ...hello, messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ ...hello, messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
    [{ ...hello, messages: [{ role: 'user', content: [{ text: 'x' }] }] }, 'messages[0].content[0].type'],
    [
      { ...hello, messages: [{ role: 'assistant', content: [{ type: 'tool_result', tool_use_id: 'x' }] }] },
      'messages[0].content[0].type',
    ],
    [
      { ...hello, messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'y', input: '{}' }] }] },
      'messages[0].content[0].input',
    ],
    [{ ...hello, system: 5 }, 'system'],
    [{ ...hello, tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
    [{ ...hello, tool_choice: 'auto' }, 'tool_choice'],
    [{ ...hello, thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
  ];
  for (const [json, param] of wrong) {
    const response = await post(json);
    const body = await bodyOf(response);
    assert.equal(response.status, 400, JSON.stringify(json));
    assert.equal(body.type, 'error');
    assert.equal(body.error.type, 'invalid_request_error');
    assert.equal(body.error.param, param, body.error.message);
    assert.equal(body.request_id, response.headers.get('x-culvert-request-id'));
    assert.equal(response.headers.get('request-id'), body.request_id);
    assert.equal(response.headers.get('x-should-retry'), 'false');
  }
});

test('§6 errors before and beside the route are in its format too', async () => {
  const unauthorized = await gateway.fetch(path, {
    json: hello,
    headers: { authorization: 'Bearer sk-cv-nobody-000000' },
  });
  assert.deepEqual([unauthorized.status, (await bodyOf(unauthorized)).type], [401, 'error']);
  const method = await gateway.fetch(path);
  assert.deepEqual([method.status, (await bodyOf(method)).type], [405, 'error']);
  const beside = await gateway.fetch(`${path}/nothing`, { json: {} });
  assert.deepEqual([beside.status, (await bodyOf(beside)).type], [404, 'error']);
  const broken = await gateway.fetch(path, {
    method: 'POST',
    body: '{"model":',
    headers: { 'content-type': 'application/json' },
  });
  assert.deepEqual([broken.status, (await bodyOf(broken)).type], [400, 'error']);
});

test('§6 "/v1/messages?beta=true is the same endpoint", and unknown keys are never refused', async () => {
  for (const model of ['gpt', 'claude']) {
    const json = { ...hello, model, context_management: { edits: [] }, something_new: { a: 1 }, speed: 'fast' };
    const response = await gateway.fetch(`${path}?beta=true`, { json });
    assert.equal(response.status, 200);
    const dropped = response.headers.get('x-culvert-dropped');
    assert.equal(dropped, model === 'gpt' ? 'context_management, something_new, speed' : null);
    await response.arrayBuffer();
  }
});

test('§9 to Anthropic the bytes go as they came, but for the model, and the betas with them', async () => {
  const raw = `{ "max_tokens" : 64,\n "x_new": [1.0, 1e3, "\\u00e9"], "model":"claude","messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"new_block","of":1}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"EqQBCkgI"},{"type":"text","text":"a"}]},{"role":"user","content":"b"}],"tools":[{"type":"web_search_20250305","name":"web_search"}],"system":[{"type":"text","text":"x-anthropic-billing-header: cc"}] }`;
  const response = await gateway.fetch(path, {
    method: 'POST',
    body: raw,
    headers: { 'content-type': 'application/json', 'anthropic-beta': 'a-1,b-2' },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-dropped'), null);
  const { body, headers } = last();
  assert.deepEqual(body, { ...JSON.parse(raw), model: 'mock/ok' });
  assert.equal(headers['anthropic-beta'], 'a-1,b-2');
  assert.equal(headers['x-api-key'], 'upstream-secret');
  assert.equal(Number(headers['content-length']), Buffer.byteLength(raw) - 'claude'.length + 'mock/ok'.length);
});

test("§9 thoughts that are not Anthropic's go no further than here: it refuses them", async () => {
  const messages = [
    ...hello.messages,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'of another model', signature: '' },
        { type: 'tool_use', id: 'functions.get:0', name: 'get', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'functions.get:0', content: 'x' }] },
  ];
  const response = await post({ ...hello, model: 'claude', messages });
  assert.equal(response.headers.get('x-culvert-dropped'), 'messages.thinking');
  const sent = last().body as { messages: { content: { type: string; id?: string; tool_use_id?: string }[] }[] };
  assert.deepEqual(sent.messages[1]?.content, [{ type: 'tool_use', id: 'functions_get_0', name: 'get', input: {} }]);
  assert.equal(sent.messages[2]?.content[0]?.tool_use_id, 'functions_get_0');
});

test('§6 "`max_tokens` above the model\'s limit is clamped, not refused", its thinking budget with it', async () => {
  const thinking = { type: 'enabled', budget_tokens: 32_000 };
  const response = await post({ ...hello, model: 'small', max_tokens: 128_000, thinking });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-dropped'), 'max_tokens, thinking.budget_tokens');
  const sent = last().body as { max_tokens: number; thinking: { budget_tokens: number } };
  assert.equal(sent.max_tokens, 1_000);
  assert.equal(sent.thinking.budget_tokens, 1_024);
});

test('§6 "server tools pass only to Anthropic itself": one that must be called goes there, or is refused', async () => {
  const search = { type: 'web_search_20250305', name: 'web_search' };
  const must = { tools: [search], tool_choice: { type: 'tool', name: 'web_search' } };
  assert.equal((await post({ ...hello, model: 'either', ...must })).headers.get('x-culvert-provider'), 'claude');
  const refused = await post({ ...hello, ...must });
  assert.deepEqual([refused.status, (await bodyOf(refused)).error.param], [400, 'tools']);
  const may = await post({ ...hello, tools: [search] });
  assert.deepEqual([may.status, may.headers.get('x-culvert-dropped')], [200, 'tools.web_search_20250305']);
});

test('§6 a model that does not reason is not asked to, and this is said', async () => {
  const json = { ...hello, model: 'plain', thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  const response = await post(json);
  assert.equal(response.headers.get('x-culvert-dropped'), 'thinking');
  assert.equal('reasoning_effort' in (last().body as object), false);
});

test("§9 a field of Anthropic's that OpenAI refuses is left out, and this is said", async () => {
  const response = await post({ ...hello, top_k: 5, metadata: { user_id: 'x'.repeat(65) } });
  assert.equal(response.headers.get('x-culvert-dropped'), 'metadata.user_id, top_k');
  assert.equal('top_k' in (last().body as object), false);
});

test('§6 too long: "prompt is too long: N tokens > M maximum", whoever says it', async () => {
  const words = /^prompt is too long: \d+ tokens > \d+ maximum$/;
  upstream.script('/v1/chat/completions', [
    "2x status=400;code=context_length_exceeded;message=This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
  ]);
  const there = await bodyOf(await post(hello));
  assert.equal(there.error.message, 'prompt is too long: 130001 tokens > 128000 maximum');
  upstream.clear();
  upstream.script('/v1/messages', ['status=400;message=prompt is too long: 210000 tokens > 200000 maximum']);
  const own = await post({ ...hello, model: 'claude' });
  assert.equal(own.status, 400);
  assert.match((await bodyOf(own)).error.message, words);
});

test('§6 a stream: named events, an estimate at its start, usage at its end, the cost in its head', async () => {
  const response = await post({ ...hello, stream: true });
  assert.match(response.headers.get('content-type') ?? '', /text\/event-stream/);
  const text = await response.text();
  const events = dataLines(text).map(
    (line) => JSON.parse(line) as { type: string; usage?: object; message?: { usage: object } },
  );
  assert.equal(text.match(/^event: /gm)?.length, events.length);
  assert.deepEqual(
    [events[0]?.type, events.at(-2)?.type, events.at(-1)?.type],
    ['message_start', 'message_delta', 'message_stop'],
  );
  assert.ok((events[0]!.message!.usage as { input_tokens: number }).input_tokens > 0);
  assert.ok((events.at(-2)!.usage as { output_tokens: number }).output_tokens > 0);
});

test("§6 limits travel in Anthropic's own headers", async () => {
  const limited = await startGateway(whole, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { gpt: target('up') },
    plans: { default: { windows: { '5h': 1 }, rpm: 10 } },
    costs: { messages: 1 },
  });
  const first = await limited.fetch(path, { json: hello });
  assert.equal(first.status, 200);
  assert.ok([...first.headers.keys()].some((name) => name.startsWith('anthropic-ratelimit-requests')));
  const second = await limited.fetch(path, { json: hello });
  const body = await bodyOf(second);
  assert.deepEqual([second.status, body.type, body.error.type], [429, 'error', 'rate_limit_error']);
  assert.match(body.error.message, /5-hour window, 1 of 1/);
  // Counting is free, and goes on.
  const { max_tokens: _, ...counted } = hello;
  for (let i = 0; i < 25; i++)
    assert.equal((await limited.fetch(`${path}/count_tokens`, { json: counted })).status, 200);
  const usage = (await (await limited.fetch('/v1/usage?group_by=endpoint')).json()) as {
    data: { group: string; units: number }[];
  };
  assert.deepEqual(
    usage.data.filter(({ units }) => units > 0).map(({ group }) => group),
    ['messages'],
  );
});

test("§6 count_tokens: Anthropic's own count, else ours, which says so", async () => {
  const { max_tokens: _, ...counted } = hello;
  const own = await gateway.fetch(`${path}/count_tokens?beta=true`, { json: { ...counted, model: 'claude' } });
  assert.equal(own.headers.get('x-culvert-provider'), 'claude');
  assert.equal(own.headers.get('x-culvert-token-count'), null);
  assert.ok((await bodyOf(own)).input_tokens > 0);
  // Until its tables are loaded, by the length of the text.
  await until('the tokenizer counts', async () => {
    const ours = await gateway.fetch(`${path}/count_tokens`, { json: { ...counted, system: 'word '.repeat(1_000) } });
    assert.equal(ours.headers.get('x-culvert-token-count'), 'estimated');
    const { input_tokens } = await bodyOf(ours);
    return input_tokens > 950 && input_tokens < 1_050;
  });
  upstream.script('/v1/messages/count_tokens', ['status=500']);
  const failing = await gateway.fetch(`${path}/count_tokens`, { json: { ...counted, model: 'claude' } });
  assert.deepEqual([failing.status, failing.headers.get('x-culvert-token-count')], [200, 'estimated']);
  const unknown = await gateway.fetch(`${path}/count_tokens`, { json: { ...counted, model: 'nope' } });
  assert.deepEqual([unknown.status, (await bodyOf(unknown)).type], [404, 'error']);
  const wrong = await gateway.fetch(`${path}/count_tokens`, { json: { ...counted, messages: 'x' } });
  assert.equal(wrong.status, 400);
});

test('§6 count_tokens reads a body of several MB, pictures and all', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(3_000_000) };
  const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
  const { input_tokens } = await bodyOf(
    await gateway.fetch(`${path}/count_tokens`, { json: { model: 'gpt', messages } }),
  );
  assert.ok(input_tokens < 3_000, String(input_tokens));
});

test('§6 a request of several MB is answered as any other', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(3_000_000) };
  const content = [
    { type: 'image', source },
    { type: 'text', text: 'What is this?' },
  ];
  for (const model of ['gpt', 'claude']) {
    const thinking = { type: 'adaptive' };
    const response = await post({ ...hello, model, thinking, messages: [{ role: 'user', content }] });
    assert.equal(response.status, 200, model);
    assert.equal((await bodyOf(response)).content.at(-1)?.text, 'Mock answer to: What is this?');
  }
});

test('§6 tools with names that others find too long are called by their own names', async () => {
  const name = `mcp__${'a-long-server-name'.repeat(4)}__get_weather`;
  const tools = [{ name, input_schema: { type: 'object', properties: {} } }];
  const json = { ...hello, tools, tool_choice: { type: 'tool', name } };
  for (const stream of [false, true]) {
    const text = await (await post({ ...json, stream })).text();
    assert.ok(text.includes(name), text);
    const sent = last().body as { tools: { function: { name: string } }[] };
    assert.match(sent.tools[0]!.function.name, /^[\w-]{1,64}$/);
  }
});

test('§6 the same Idempotency-Key on chat and on messages are two', async () => {
  const headers = { 'idempotency-key': 'one-key-for-both' };
  const first = await (await post(hello, headers)).text();
  assert.equal(await (await post(hello, headers)).text(), first);
  const chat = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'gpt', messages: hello.messages },
    headers,
  });
  assert.match(await chat.text(), /chat\.completion/);
});

test('§6 "GET /v1/requests/{id}" explains a request of messages too, to its own account alone', async () => {
  const id = (await post(hello)).headers.get('x-culvert-request-id')!;
  const found = await gateway.fetch(`/v1/requests/${id}`);
  assert.equal(((await found.json()) as { endpoint: string }).endpoint, 'messages');
  const foreign = await gateway.fetch(`/v1/requests/${id}`, { headers: { authorization: `Bearer ${otherKey}` } });
  assert.equal(foreign.status, 404);
});
