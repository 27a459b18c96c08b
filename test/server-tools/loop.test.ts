import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type OpenAI from 'openai';
import { noLimits } from '../start-gateway.ts';
import { found, openToolsWorld } from './world.ts';

/* How model and tools take turns: whose call it is, the bounds, and what ends an answer early. */

const world = await openToolsWorld({ after: after as TestContext['after'] });
const { openai, upstream, sent, rows, engine, gateway } = world;
const chat = '/v1/chat/completions';
const tools: OpenAI.Responses.Tool[] = [{ type: 'web_search', search_context_size: 'low' }];
const search = { type: 'web_search_20250305', name: 'web_search' };
const weather: OpenAI.Responses.Tool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

test("a call of the caller's own ends the answer; what was searched beside it is in it too", async () => {
  const response = await openai.responses.create({
    model: 'chat',
    input: 'Please call web_search and call get_weather',
    tools: [...tools, weather],
  });
  assert.deepEqual(response.output.map(({ type }) => type).toSorted(), ['function_call', 'web_search_call']);
  assert.equal(response.status, 'completed');
  const call = response.output.find((item) => item.type === 'function_call')!;
  assert.equal(call.name, 'get_weather');
});

test('a function of the same name stays the caller’s', async () => {
  sent();
  const own: OpenAI.Responses.Tool = { ...weather, name: 'web_search' };
  const response = await openai.responses.create({ model: 'chat', input: 'call web_search', tools: [...tools, own] });
  assert.deepEqual(
    response.output.map(({ type }) => type),
    ['function_call'],
  );
  assert.match(JSON.stringify(sent()[0]), /"web_search_2"/);
});

test('a demanded search is made once, and the model may answer then', async () => {
  sent();
  for (const choice of [{ type: 'web_search_preview' as const }, 'required' as const]) {
    const response = await openai.responses.create({ model: 'chat', input: 'Pandas?', tools, tool_choice: choice });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['web_search_call', 'message'],
    );
  }
  const [first, second] = sent() as { tool_choice?: unknown }[];
  assert.deepEqual(first?.tool_choice, { type: 'function', function: { name: 'web_search' } });
  assert.equal(second?.tool_choice, undefined);
});

test('max_tool_calls: a further call is told that it is not allowed, and the model must answer', async () => {
  sent();
  const asked = engine.asked.length;
  const asking = openai.responses.create({
    model: 'chat',
    input: 'Please call web_search and call file_search',
    tools: [...tools, { type: 'file_search', vector_store_ids: ['none'] }],
    max_tool_calls: 1,
  });
  const { data: response, response: answer } = await asking.withResponse();
  assert.equal(answer.headers.get('x-culvert-dropped'), null);
  assert.deepEqual(
    response.output.map(({ type }) => type),
    ['web_search_call', 'message'],
  );
  assert.ok(engine.asked.length <= asked + 1);
  const [, last] = sent() as { tool_choice?: unknown }[];
  assert.equal(last?.tool_choice, 'none');
  assert.match(JSON.stringify(last), /No further call of it is allowed/);
});

test('a search that fails is told to the model, and the answer goes on', async (t) => {
  t.after(() => {
    engine.says = () => found;
  });
  engine.says = () => ({ status: 500, body: 'no' });
  sent();
  const response = await openai.responses.create({
    model: 'chat',
    input: 'call web_search',
    tools: [{ type: 'web_search', search_context_size: 'low', filters: { allowed_domains: ['never.example'] } }],
  });
  const [search, message] = response.output;
  assert.ok(search?.type === 'web_search_call' && message?.type === 'message');
  assert.equal(search.status, 'failed');
  assert.match(JSON.stringify(sent()[1]), /The search failed/);
});

test('a turn is tried again like a request of its own', async () => {
  const before = (await rows()).length;
  upstream.script(chat, ['ok', 'status=503', 'text=Red.']);
  const response = await openai.responses.create({ model: 'twice', input: 'call web_search', tools });
  assert.equal(response.output_text, 'Red.');
  const made = (await rows()).slice(before).filter(({ endpoint }) => endpoint === 'responses');
  assert.deepEqual(
    made.map(({ class: end }) => end),
    ['ok', 'ok'],
  );
});

test('a later turn that fails ends a whole answer with its status, and a stream with an error', async () => {
  upstream.script(chat, ['ok', 'status=400;message=too bad']);
  const whole = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'call web_search', tools } });
  assert.equal(whole.status, 400);
  assert.match(await whole.text(), /too bad/);
  upstream.script(chat, ['ok', 'status=400;message=too bad']);
  const streamed = await gateway.fetch('/v1/responses', {
    json: { model: 'chat', input: 'call web_search', tools, stream: true },
  });
  const text = await streamed.text();
  assert.equal(streamed.status, 200);
  assert.match(text, /response\.web_search_call\.completed/);
  assert.match(text, /event: (?:error|response\.failed)\n.*too bad/);
  assert.doesNotMatch(text, /response\.completed/);
});

/** Answer whose third turn fails, and what its parts cost. */
async function failsInThirdTurn(status: number) {
  const before = (await rows()).length;
  upstream.script(chat, ['call=web_search', 'call=web_search', `9x status=${status}`]);
  const whole = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'Pandas?', tools } });
  upstream.clear();
  const parts = (await rows()).slice(before).map(({ endpoint, units }) => `${endpoint} ${units}`);
  return [whole.status, whole.headers.get('x-culvert-cost'), parts.toSorted()];
}

test('a whole answer that fails in a later turn costs the calls of its tools alone', async () => {
  const parts = [...Array(3).fill('responses 0'), 'search 1', 'search 1'];
  assert.deepEqual(await failsInThirdTurn(500), [502, '2', parts]);
});

test('where a provider refuses a later turn, the turns before it stay charged: a tool could make them all free', async () => {
  const parts = ['responses 0', 'responses 1', 'responses 1', 'search 1', 'search 1'];
  assert.deepEqual(await failsInThirdTurn(400), [400, '4', parts]);
});

test('turns before a deadline of the caller that passes cost what callers who leave pay', async (t) => {
  const world = await openToolsWorld(t);
  world.engine.says = () => 'silent';
  const headers = { 'x-culvert-timeout-ms': '1500' };
  const json = { model: 'chat', input: 'call web_search', tools };
  const answer = await world.gateway.fetch('/v1/responses', { headers, json });
  assert.deepEqual([answer.status, (await answer.text()).includes('deadline')], [502, true]);
  const [turn] = (await world.rows()).filter(({ endpoint }) => endpoint === 'responses');
  const { input_tokens, output_tokens } = turn!.usage as Record<string, number>;
  assert.deepEqual([turn!.units, input_tokens! > 0, output_tokens], [0, true, 0]);
});

test("turns before the model's total time passes cost the same, and none where its first turn takes all of it", async (t) => {
  const chatModel = { targets: ['chat/mock/ok'], timeouts: { total: '1500ms' } };
  const world = await openToolsWorld(t, { models: { chat: chatModel } });
  world.engine.says = () => 'silent';
  const json = { model: 'chat', input: 'call web_search', tools };
  assert.equal((await world.gateway.fetch('/v1/responses', { json })).status, 502);
  world.upstream.script(chat, ['delay=5s']);
  assert.equal((await world.gateway.fetch('/v1/responses', { json })).status, 502);
  const turns = (await world.rows()).filter(({ endpoint }) => endpoint === 'responses');
  const paid = turns.map(({ usage, units }) => [(usage as { input_tokens: number }).input_tokens > 0, units]);
  assert.deepEqual(paid.toSorted().reverse(), [[true, 0], ...paid.slice(1).map(() => [false, 0])]);
  assert.ok(paid.length > 1);
});

test('turns of a whole answer count for other requests at once, and no more where it costs nothing', async (t) => {
  const plans = { default: { windows: { '5h': 100 }, tokens: { '5h': 100_000 } } };
  const world = await openToolsWorld(t, { plans });
  const used = async () => {
    const usage = await world.gateway.fetch('/v1/usage');
    const { windows, tokens } = (await usage.json()) as Record<'windows' | 'tokens', { '5h': { used: number } }>;
    return [windows['5h'].used, tokens['5h'].used];
  };
  const search = Promise.withResolvers<void>();
  world.engine.says = () => {
    search.resolve();
    return 'silent';
  };
  world.upstream.script(chat, ['call=web_search;tokens=100', '9x status=500']);
  const whole = world.gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'Pandas?', tools } });
  await search.promise;
  const [units, tokens] = await used();
  assert.deepEqual([units, tokens! > 100], [2, true]);
  assert.equal((await whole).status, 502);
  const after = (await world.rows()).map(({ endpoint, units }) => `${endpoint} ${units}`);
  assert.deepEqual(await used(), [after.includes('search 1') ? 1 : 0, 0], `${after}`);
});

test('turns of a whole answer count in budgets before they are settled, and stay charged where one is used up', async (t) => {
  const plans = { default: { ...noLimits.default, tokens: { '5h': 300 } } };
  const { gateway: own, upstream: model, rows: made } = await openToolsWorld(t, { plans });
  model.script(chat, [...Array(8).fill('call=web_search;tokens=100'), 'text=Red.']);
  const whole = await own.fetch('/v1/responses', { json: { model: 'chat', input: 'Pandas?', tools } });
  assert.equal(whole.status, 429);
  const { error } = (await whole.json()) as { error: { used: number; allowed: number; message: string } };
  const charged = await made();
  const turns = charged.filter(({ endpoint }) => endpoint === 'responses');
  assert.ok(turns.every(({ units }) => units === 1));
  assert.equal(whole.headers.get('x-culvert-cost'), `${charged.reduce((sum, { units }) => sum + Number(units), 0)}`);
  const tokens = turns.map(({ usage }) => usage as { input_tokens: number; output_tokens: number });
  const sums = tokens.map((usage) => usage.input_tokens + usage.output_tokens);
  const all = sums.reduce((sum, n) => sum + n, 0);
  assert.deepEqual([error.allowed, error.used, error.used >= 300], [300, all, true], error.message);
});

test('a caller that leaves stops the search, and no further turn is asked for', async (t) => {
  t.after(() => {
    engine.says = () => found;
  });
  let asked = () => {};
  const searching = new Promise<void>((resolve) => {
    asked = resolve;
  });
  engine.says = () => {
    asked();
    return 'silent';
  };
  sent();
  const before = (await rows()).length;
  const leaving = new AbortController();
  const answer = gateway.fetch('/v1/responses', {
    json: {
      model: 'chat',
      input: 'call web_search for otters',
      tools: [{ type: 'web_search', search_context_size: 'high' }],
    },
    signal: leaving.signal,
  });
  await searching;
  leaving.abort();
  await assert.rejects(answer);
  let made: Awaited<ReturnType<typeof rows>>;
  do made = (await rows()).slice(before);
  while (made.length < 2);
  assert.ok(made.some((row) => row.endpoint === 'responses' && row.aborted === true));
  assert.equal(sent().length, 1);
});

test('limits count turns and searches: a budget that is used up in between ends the answer', async (t) => {
  const plans = { default: { ...noLimits.default, windows: { '5h': 2 } } };
  const { openai: limited, engine: own } = await openToolsWorld(t, { plans });
  await assert.rejects(
    limited.responses.create({ model: 'chat', input: 'call web_search', tools }),
    (error: { status?: number }) => error.status === 429,
  );
  assert.equal(own.asked.length, 1);
});

test('without a search engine the tool is left out as before, and a demanded one is refused', async (t) => {
  const { gateway: bare } = await openToolsWorld(t, { tools: {} });
  const asked = (more: object) =>
    bare.fetch('/v1/responses', { json: { model: 'chat', input: 'call web_search', tools, ...more } });
  const left = await asked({});
  assert.equal(left.headers.get('x-culvert-dropped'), 'tools.web_search');
  const demanded = await asked({ tool_choice: { type: 'web_search' } });
  assert.equal(demanded.status, 400);
  assert.match(await demanded.text(), /tools\.search\.providers/);
  const chatAsked = await bare.fetch('/v1/chat/completions', {
    json: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }], tools: [{ type: 'web_search' }] },
  });
  assert.equal(chatAsked.status, 400);
});

test('a wrong tool is refused with the name of its field', async () => {
  const cases: [object, string][] = [
    [{ type: 'web_search', search_context_size: 'huge' }, 'tools[0].search_context_size'],
    [{ type: 'file_search' }, 'tools[0].vector_store_ids'],
    [{ type: 'file_search', vector_store_ids: ['a'], max_num_results: 0 }, 'tools[0].max_num_results'],
    [{ type: 'mcp', server_label: 'no label' }, 'tools[0].server_label'],
    [{ type: 'mcp', server_label: 'a', server_url: 'file:///x' }, 'tools[0].server_url'],
    [
      { type: 'mcp', server_label: 'a', server_url: 'https://a.example', require_approval: 1 },
      'tools[0].require_approval',
    ],
  ];
  for (const [tool, param] of cases) {
    const response = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'Hi', tools: [tool] } });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [400, param]);
    if (param.endsWith('server_url')) assert.match(error.message, /must be an http: or https: URL/);
  }
});

test('a body that only the provider may judge is refused by it, never by a fault of ours', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const [path, body] of [
    ['chat/completions', { messages, web_search_options: {}, tools: 'none' }],
    ['chat/completions', { messages, web_search_options: {}, tools: [null, 1, { function: 'x' }] }],
    [
      'messages',
      { max_tokens: 5, messages: [{ role: 'user', content: [{}] }], tools: [search, 'x'], mcp_servers: [1] },
    ],
    ['responses', { input: 'Hi', tools: [{ type: 'web_search' }, 5], tool_choice: { type: 4 } }],
    ['responses', { input: [{ type: 'mcp_approval_response' }, { type: 'mcp_call', id: 5 }], tools }],
  ] as const) {
    for (const model of ['chat', 'claude', 'native']) {
      const { status } = await gateway.fetch(`/v1/${path}`, { json: { model, ...body } });
      assert.ok(status < 500, `${path} ${model} ${JSON.stringify(body)}: ${status}`);
    }
  }
});

test('a body that is read off the loop runs tools too', async () => {
  const long = `${'long '.repeat(300_000)}. Please call web_search`;
  upstream.script(chat, ['ok', 'text=Red【1】.']);
  const response = await openai.responses.create({ model: 'chat', input: long, tools });
  assert.equal(response.output_text, 'Red ([a.example](https://a.example/one)).');
});

test('a provider that runs the tool itself gets it as it was sent', async (t) => {
  const { gateway: own, upstream: provider } = await openToolsWorld(t);
  await own.reload({
    providers: {
      native: {
        type: 'openai',
        base_url: `${provider.url}/v1`,
        api_key: 'k',
        dialects: ['openai-chat', 'openai-responses'],
      },
    },
    models: { native: { targets: ['native/mock/ok'] } },
  });
  const response = await own.fetch('/v1/responses', { json: { model: 'native', input: 'Hi', tools } });
  assert.equal(response.status, 200);
  const body = provider.requests().at(-1)!.body as { tools: unknown };
  assert.deepEqual(body.tools, tools);
});
