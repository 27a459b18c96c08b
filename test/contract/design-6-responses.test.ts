import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { assertBalanced, assertPublished, assertPublishedWhole, eventsOf } from '../conversion/responses-frames.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/* Design §6, Responses: what `POST /v1/responses` promises beyond what OpenAI's SDK looks at. */

interface World {
  gateway: TestGateway;
  upstream: Upstream;
}

/** Aliases: `native` speaks Responses, `chat` and `claude` do not, `both` is native first and chat next. */
async function open(t: TestContext, more: Record<string, unknown> = {}): Promise<World> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const base_url = `${upstream.url}/v1`;
  const gateway = await startGateway(t, {
    providers: {
      native: { type: 'openai', base_url, api_key: 'k', dialects: ['openai-chat', 'openai-responses'] },
      chat: { type: 'openai', base_url, api_key: 'k' },
      claude: { type: 'anthropic', base_url, api_key: 'k' },
    },
    models: {
      native: { targets: [{ provider: 'native', model: 'mock/ok', max_output_tokens: 5_000 }] },
      chat: { targets: [{ provider: 'chat', model: 'mock/ok' }] },
      claude: { targets: [{ provider: 'claude', model: 'mock/ok' }] },
      both: {
        targets: [
          { provider: 'chat', model: 'mock/ok', priority: 1 },
          { provider: 'native', model: 'mock/ok', priority: 2 },
        ],
      },
    },
    ...more,
  });
  return { gateway, upstream };
}

const asJson = { 'content-type': 'application/json' };

const respond = (gateway: TestGateway, json: JsonObject, headers: Record<string, string> = {}) =>
  gateway.fetch('/v1/responses', { json, headers });

/** Upstream requests for callers' requests, without those for the list of models. */
const sentBy = (upstream: Upstream) => upstream.requests().filter(({ method }) => method === 'POST');

const errorOf = async (response: Response) => ((await response.json()) as { error: JsonObject }).error;

for (const model of ['native', 'chat', 'claude']) {
  test(`whole and streamed answers are as OpenAI's description has them (${model})`, async (t) => {
    const { gateway } = await open(t);
    const body = { model, input: 'Hello there', reasoning: { effort: 'low' } };
    const whole = await respond(gateway, body);
    assert.equal(whole.status, 200);
    assert.equal(whole.headers.get('content-type'), 'application/json');
    assertPublishedWhole(await whole.json());

    const streamed = await respond(gateway, { ...body, stream: true });
    assert.match(streamed.headers.get('content-type')!, /^text\/event-stream/);
    const frames = await streamed.text();
    assertPublished(frames);
    const response = assertBalanced(frames, 'whole')!;
    assert.equal(response.status, 'completed');
    assert.ok((response.usage as JsonObject).total_tokens);
  });
}

test('a provider that speaks Responses gets the caller’s own bytes, unknown fields too, and its answer passes as bytes', async (t) => {
  const { gateway, upstream } = await open(t);
  const raw =
    '{ "model" : "native", "input":[{"type":"some_future_item","x":1e2}, {"role":"user","content":"Hi"}],\n "future_field": {"a":[1,2]}, "store":false,"tools":[{"type":"web_search"}] }';
  const answer = await gateway.fetch('/v1/responses', { method: 'POST', body: raw, headers: asJson });
  assert.equal(answer.status, 200);
  assert.match(((await answer.json()) as JsonObject).id as string, /^resp_sim/);
  const [sent] = sentBy(upstream);
  assert.equal(sent!.path, '/v1/responses');
  assert.deepEqual(sent!.body, { ...(JSON.parse(raw) as JsonObject), model: 'mock/ok' });
  assert.equal(answer.headers.get('x-culvert-dropped'), null);
});

test('the same provider answers callers of chat in chat', async (t) => {
  const { gateway, upstream } = await open(t);
  const json = { model: 'native', messages: [{ role: 'user', content: 'Hi' }] };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  assert.equal(sentBy(upstream)[0]!.path, '/v1/chat/completions');
});

test('previous_response_id goes to a provider that keeps responses, also behind one that does not', async (t) => {
  const { gateway, upstream } = await open(t);
  const { id } = (await (await respond(gateway, { model: 'native', input: 'Hi' })).json()) as { id: string };
  const answer = await respond(gateway, { model: 'both', input: 'And?', previous_response_id: id });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('x-culvert-provider'), 'native');
  assert.equal((sentBy(upstream)[1]!.body as JsonObject).previous_response_id, id);
});

test('previous_response_id without such a provider is 404 in OpenAI’s own word', async (t) => {
  const { gateway, upstream } = await open(t);
  const answer = await respond(gateway, { model: 'chat', input: 'Hi', previous_response_id: 'resp_1' });
  assert.equal(answer.status, 404);
  const error = await errorOf(answer);
  assert.equal(error.param, 'previous_response_id');
  assert.equal(error.code, 'previous_response_not_found');
  assert.deepEqual(sentBy(upstream), []);
});

test('tools that the provider runs are dropped and listed, custom ones become functions of one string', async (t) => {
  const { gateway, upstream } = await open(t);
  const answer = await respond(gateway, {
    model: 'chat',
    input: 'Please call apply_patch',
    text: { verbosity: 'low' },
    client_metadata: {},
    store: false,
    include: ['reasoning.encrypted_content'],
    tools: [
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      { type: 'tool_search' },
      { type: 'code_interpreter' },
    ],
  });
  assert.equal(answer.headers.get('x-culvert-dropped'), 'tools[0].format, tools.tool_search, tools.code_interpreter');
  assert.equal((sentBy(upstream)[0]?.body as JsonObject | undefined)?.verbosity, 'low');
  const { output } = (await answer.json()) as { output: JsonObject[] };
  assert.deepEqual([output[0]!.type, output[0]!.input], ['custom_tool_call', 'mock']);
  const [tool] = (sentBy(upstream)[0]!.body as { tools: { function: JsonObject }[] }).tools;
  assert.deepEqual((tool!.function.parameters as JsonObject).required, ['input']);
});

test('max_output_tokens above the model’s limit is clamped and listed by its own name', async (t) => {
  const { gateway, upstream } = await open(t);
  const answer = await respond(gateway, { model: 'native', input: 'Hi', max_output_tokens: 128_000 });
  assert.equal(answer.headers.get('x-culvert-dropped'), 'max_output_tokens');
  assert.equal((sentBy(upstream)[0]!.body as JsonObject).max_output_tokens, 5_000);
});

test('thoughts that were converted do not go to a provider that would refuse them', async (t) => {
  const { gateway, upstream } = await open(t);
  const first = await respond(gateway, { model: 'claude', input: 'Hi', reasoning: { effort: 'low' } });
  const { output } = (await first.json()) as { output: JsonObject[] };
  assert.equal(output[0]!.type, 'reasoning');
  const input = [{ role: 'user', content: 'Hi' }, ...output, { role: 'user', content: 'And?' }];
  const second = await respond(gateway, { model: 'native', input });
  assert.equal(second.headers.get('x-culvert-dropped'), 'input.reasoning');
  const sent = sentBy(upstream).at(-1)!.body as { input: JsonObject[] };
  assert.deepEqual(
    sent.input.map((item) => item.type ?? 'message'),
    ['message', 'message', 'message'],
  );
});

for (const model of ['native', 'chat', 'claude']) {
  const path = { native: '/v1/responses', chat: '/v1/chat/completions', claude: '/v1/messages' }[model]!;
  for (const fault of ['eof=9events', 'fin=9events', 'error=4']) {
    test(`a stream broken by ${fault} ends in response.failed that continues it, with nothing after (${model})`, async (t) => {
      const { gateway, upstream } = await open(t);
      upstream.script(path, [`chunks=20;${fault}`]);
      const answer = await respond(gateway, { model, input: 'Hello there', stream: true });
      const events = eventsOf(await answer.text());
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_, at) => at),
      );
      const last = events.at(-1)!;
      assert.equal(last.type, 'response.failed');
      const [begun, ended] = [events[0]!.response, last.response] as [JsonObject, JsonObject];
      assert.equal(ended.id, begun.id, 'the SDK refuses a change of identity');
      assert.equal((ended.error as JsonObject).code, 'server_error');
      assert.equal(events.filter(({ type }) => type === 'response.completed').length, 0);
    });
  }

  test(`an upstream that fails before content is replaced unseen (${model})`, async (t) => {
    const { gateway, upstream } = await open(t);
    upstream.script(path, ['status=503']);
    upstream.script(path, ['error=0']);
    const answer = await respond(gateway, { model, input: 'Hello there', stream: true });
    assert.equal(assertBalanced(await answer.text(), 'whole')!.status, 'completed');
    assert.equal(answer.headers.get('x-culvert-attempts'), '2');
  });
}

test('every upstream failed: 502 with a string code', async (t) => {
  const { gateway, upstream } = await open(t);
  upstream.script(
    '/v1/chat/completions',
    Array.from({ length: 8 }, () => 'status=500'),
  );
  const answer = await respond(gateway, { model: 'chat', input: 'Hi' });
  assert.equal(answer.status, 502);
  assert.equal((await errorOf(answer)).code, 'server_error');
});

test('limits: rpm is rate_limit_exceeded with Retry-After, a spent window insufficient_quota without', async (t) => {
  const plans = { default: { windows: { week: 2 }, rpm: 'off' }, brief: { windows: 'off', rpm: 1 } };
  const keys = [
    { key: testKey, account: 'dev', name: 'a' },
    { key: 'sk-cv-brief-key-1', account: 'brief', name: 'b' },
  ];
  const { gateway } = await open(t, { plans, keys, accounts: { brief: { plan: 'brief' } } });
  const brief = { authorization: 'Bearer sk-cv-brief-key-1' };
  await respond(gateway, { model: 'chat', input: 'Hi' }, brief);
  const often = await respond(gateway, { model: 'chat', input: 'Hi' }, brief);
  assert.equal(often.status, 429);
  assert.ok(Number(often.headers.get('retry-after')) <= 120);
  assert.equal((await errorOf(often)).code, 'rate_limit_exceeded');

  for (let i = 0; i < 2; i++) await respond(gateway, { model: 'chat', input: 'Hi' });
  const spent = await respond(gateway, { model: 'chat', input: 'Hi' });
  assert.equal(spent.status, 429);
  assert.equal(spent.headers.get('retry-after'), null);
  const error = await errorOf(spent);
  assert.equal(error.code, 'insufficient_quota');
  assert.deepEqual([error.limit, error.window, error.used, error.allowed], ['week', 'week', 2, 2]);
});

test('input_tokens: the provider’s own count where it has one, else ours; free', async (t) => {
  const { gateway, upstream } = await open(t, { plans: { default: { windows: { week: 1 }, rpm: 1 } } });
  const count = (json: JsonObject) => gateway.fetch('/v1/responses/input_tokens', { json });
  for (let i = 0; i < 3; i++) {
    const own = await count({ model: 'native', input: 'Hello there', instructions: 'Be brief.' });
    assert.equal(own.headers.get('x-culvert-token-count'), null);
    assert.deepEqual(await own.json(), { object: 'response.input_tokens', input_tokens: 17 });
  }
  assert.equal(sentBy(upstream)[0]!.path, '/v1/responses/input_tokens');
  const ours = await count({ model: 'claude', input: 'Hello there' });
  assert.equal(ours.headers.get('x-culvert-token-count'), 'estimated');
  assert.ok(((await ours.json()) as { input_tokens: number }).input_tokens > 1);
  const earlier = await count({ model: 'claude', input: 'Hi', previous_response_id: 'resp_1' });
  assert.deepEqual([earlier.status, (await errorOf(earlier)).param], [400, 'previous_response_id']);
  assert.equal((await respond(gateway, { model: 'chat', input: 'Hi' })).status, 200, 'nothing was used');
});

test('it costs what costs.responses says', async (t) => {
  const { gateway } = await open(t, { costs: { responses: 3 } });
  const answer = await respond(gateway, { model: 'chat', input: 'Hi' });
  assert.equal(answer.headers.get('x-culvert-cost'), '3');
});

const refused: readonly (readonly [string, JsonObject, string])[] = [
  ['no input', {}, 'input'],
  ['an empty input', { input: [] }, 'input'],
  ['input of another type', { input: 7 }, 'input'],
  ['an item that is none', { input: ['x'] }, 'input[0]'],
  ['an item without role or type', { input: [{ content: 'x' }] }, 'input[0].role'],
  ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
  ['content that is none', { input: [{ role: 'user', content: null }] }, 'input[0].content'],
  ['a part without a type', { input: [{ role: 'user', content: [{ text: 'x' }] }] }, 'input[0].content[0].type'],
  ['a text that is none', { input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input[0].content[0].text'],
  [
    'a picture over http',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://a.example/a.png' }] }] },
    'input[0].content[0].image_url',
  ],
  ['a call without a name', { input: [{ type: 'function_call', call_id: 'a', arguments: '{}' }] }, 'input[0].name'],
  [
    'arguments that are no string',
    { input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: {} }] },
    'input[0].arguments',
  ],
  [
    'an output of no call',
    { input: [{ type: 'function_call_output', call_id: 'a', output: 'x' }] },
    'input[0].call_id',
  ],
  ['a tool that is none', { input: 'x', tools: ['f'] }, 'tools[0]'],
  ['a function without a name', { input: 'x', tools: [{ type: 'function' }] }, 'tools[0].name'],
  [
    'a choice of a tool that is not there',
    { input: 'x', tool_choice: { type: 'function', name: 'f' } },
    'tool_choice.name',
  ],
  ['a required call without tools', { input: 'x', tool_choice: 'required' }, 'tools'],
  ['a format that is none', { input: 'x', text: { format: { type: 'xml' } } }, 'text.format.type'],
  [
    'a schema without a name',
    { input: 'x', text: { format: { type: 'json_schema', schema: {} } } },
    'text.format.name',
  ],
  ['an effort that is none', { input: 'x', reasoning: { effort: 'very' } }, 'reasoning.effort'],
  ['a temperature out of bounds', { input: 'x', temperature: 3 }, 'temperature'],
  ['a limit of 0', { input: 'x', max_output_tokens: 0 }, 'max_output_tokens'],
  ['stream that is no boolean', { input: 'x', stream: 'yes' }, 'stream'],
  ['a kept prompt', { input: 'x', prompt: { id: 'p' } }, 'prompt'],
  ['a kept item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
];

test('bad input is a 400 that names the field and has a string code, and nothing is sent', async (t) => {
  const { gateway, upstream } = await open(t);
  for (const [what, body, param] of refused) {
    const answer = await respond(gateway, { model: 'chat', ...body });
    const error = await errorOf(answer);
    assert.deepEqual([answer.status, error.param, error.code], [400, param, 'invalid_request_error'], what);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
  }
  assert.deepEqual(sentBy(upstream), []);
});

test('refusals before the body have string codes too', async (t) => {
  const { gateway } = await open(t);
  const wrongKey = await respond(gateway, { model: 'chat', input: 'Hi' }, { authorization: 'Bearer sk-cv-nope-nope' });
  assert.deepEqual([wrongKey.status, (await errorOf(wrongKey)).code], [401, 'invalid_api_key']);
  const noJson = await gateway.fetch('/v1/responses', { method: 'POST', body: '{', headers: asJson });
  assert.deepEqual([noJson.status, (await errorOf(noJson)).code], [400, 'invalid_request_error']);
});

test('the zero-key simulator answers it, and says what it is', async (t) => {
  const gateway = await startGateway(t, { simulator: 'on' });
  const answer = await respond(gateway, { model: 'sim/chat', input: 'Hi' });
  assert.equal(answer.headers.get('x-culvert-simulated'), 'true');
  const { output } = (await answer.json()) as { output: { content: { text: string }[] }[] };
  assert.match(output[0]!.content[0]!.text, /^\[simulated\]/);
});

test('an answer of 3 MB comes whole, though its last event repeats all of it', async (t) => {
  const { gateway, upstream } = await open(t);
  for (const model of ['native', 'claude']) {
    const path = { native: '/v1/responses', claude: '/v1/messages' }[model]!;
    upstream.script(path, ['size=3mb;chunks=50']);
    // Without a limit Messages' own default would cut it.
    const limit = model === 'claude' ? { max_output_tokens: 10_000_000 } : {};
    const answer = await respond(gateway, { model, input: 'Hi', stream: true, ...limit });
    const response = assertBalanced(await answer.text(), 'whole')!;
    const [{ content }] = response.output as [{ content: { text: string }[] }];
    assert.equal(content[0]!.text.length, 3 * 1024 * 1024, model);
  }
});

test('a body above 1 MB, which is read in a worker, is answered alike: custom tools, echoed settings', async (t) => {
  const { gateway } = await open(t);
  const answer = await respond(gateway, {
    model: 'chat',
    input: [
      { role: 'user', content: 'x'.repeat(1_200_000) },
      { role: 'user', content: 'Please call apply_patch' },
    ],
    tools: [{ type: 'custom', name: 'apply_patch' }, { type: 'code_interpreter' }],
    metadata: { a: 'b' },
    temperature: 0.5,
  });
  assert.equal(answer.headers.get('x-culvert-dropped'), 'tools.code_interpreter');
  const response = (await answer.json()) as { output: JsonObject[]; metadata: unknown; temperature: unknown };
  assert.equal(response.output[0]!.type, 'custom_tool_call');
  assert.deepEqual([response.metadata, response.temperature], [{ a: 'b' }, 0.5]);
});
