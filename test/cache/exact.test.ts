import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, type Format, formats, withoutIds } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const up = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
const claude = { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' };
const sibling = 'sk-cv-test-key-0003';
const elsewhere = 'sk-cv-test-key-0004';
const cached = (cache: object, model = 'mock/ok', provider = 'up') => ({
  targets: [{ provider, model }],
  cache: { ttl: '1h', ...cache },
});
const gateway = await startGateway({ after } as TestContext, {
  providers: { up, claude },
  models: {
    chat: cached({}),
    claude: cached({}, 'mock/ok', 'claude'),
    account: cached({ scope: 'account' }),
    plan: cached({ scope: 'plan' }),
    all: cached({ scope: 'all' }),
    tools: cached({ tool_calls: true }, 'mock/call=f'),
    'no-tools': cached({}, 'mock/call=f'),
    long: cached({}, 'mock/finish=length'),
    filtered: cached({}, 'mock/finish=content_filter'),
    cut: cached({}, 'mock/eof=120'),
    broken: cached({}, 'mock/status=500'),
    plain: { targets: [{ provider: 'up', model: 'mock/ok' }] },
  },
  plans: { default: { windows: 'off', rpm: 'off' }, other: { windows: 'off', rpm: 'off' } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: sibling, account: 'dev', name: 'sibling' },
    { key: otherKey, account: 'other', name: 'test' },
    { key: elsewhere, account: 'third', name: 'test', plan: 'other' },
  ],
});
beforeEach(() => upstream.clear());
const asked = () => upstream.requests().filter(({ method }) => method === 'POST').length;
const all = Object.keys(formats) as Format[];

for (const model of ['chat', 'claude']) {
  for (const first of all) {
    for (const [stream, how] of [[false, 'whole'] as const, [true, 'streamed'] as const]) {
      test(`an answer of ${model} to ${first}, ${how}, is the answer in all formats, whole and streamed`, async () => {
        const text = `question ${model} ${first} ${how}`;
        const miss = await ask(gateway, first, { model, stream, text });
        assert.equal(miss.status, 200, miss.body);
        assert.equal(miss.cache, 'miss');
        assert.ok(miss.text.length > 5, miss.body);
        for (const format of all) {
          for (const streamed of [false, true]) {
            const hit = await ask(gateway, format, { model, stream: streamed, text });
            assert.equal(hit.cache, 'hit', `${format} ${streamed} ${hit.body}`);
            assert.equal(hit.text, miss.text, hit.body);
            if (format === first && streamed === stream) assert.equal(withoutIds(hit.body), withoutIds(miss.body));
          }
        }
        assert.equal(asked(), 1);
      });
    }
  }
}

test('a hit has a new id, says how old it is, costs nothing, and has usage where it is wanted', async () => {
  const text = 'new id';
  const first = await ask(gateway, 'chat', { text });
  const [one, two] = [await ask(gateway, 'chat', { text }), await ask(gateway, 'chat', { text })];
  const ids = [first, one, two].map(({ body }) => JSON.parse(body).id);
  assert.equal(new Set(ids).size, 3, ids.join());
  assert.match(one.headers.get('x-culvert-cache') ?? '', /^hit; age=\d+$/);
  assert.equal(one.headers.get('x-culvert-cost'), '0');
  assert.equal(one.headers.get('x-culvert-attempts'), '0');
  assert.equal(first.headers.get('x-culvert-cost'), '1');
  const streamed = await ask(gateway, 'chat', { text, stream: true });
  assert.ok(!streamed.body.includes('"usage":{'), streamed.body);
  const counted = await ask(gateway, 'chat', { text, stream: true, more: { stream_options: { include_usage: true } } });
  assert.ok(counted.body.includes('"usage":{'), counted.body);
  assert.deepEqual([streamed.cache, counted.cache], ['hit', 'hit']);
});

const changes: Record<string, unknown> = {
  temperature: 0.1,
  top_p: 0.5,
  seed: 7,
  n: 2,
  stop: ['x'],
  max_tokens: 99,
  presence_penalty: 0.1,
  frequency_penalty: 0.1,
  logprobs: true,
  response_format: { type: 'json_object' },
  reasoning_effort: 'low',
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  parallel_tool_calls: false,
  logit_bias: { 1: 1 },
  prediction: { type: 'content', content: 'x' },
  verbosity: 'low',
  unheard_of: { deep: [1] },
};
for (const [name, value] of Object.entries(changes)) {
  test(`a request with another ${name} is another one`, async () => {
    const text = 'changes';
    await ask(gateway, 'chat', { text });
    const changed = await ask(gateway, 'chat', { text, more: { [name]: value } });
    assert.equal(changed.status, 200, changed.body);
    assert.notEqual(changed.cache, 'hit', name);
    const inside = [{ role: 'user', content: text, [name]: value }];
    const within = await ask(gateway, 'chat', { text, more: { messages: inside } });
    assert.notEqual(within.cache, 'hit', `${name} of a message`);
  });
}

test('Gemini: what is cached there and its safety settings make another request', async () => {
  const text = 'gemini settings';
  await ask(gateway, 'gemini', { text });
  for (const more of [{ safetySettings: [{ category: 'A', threshold: 'B' }] }, { cachedContent: 'cachedContents/1' }]) {
    assert.notEqual((await ask(gateway, 'gemini', { text, more })).cache, 'hit', JSON.stringify(more));
  }
});

test('what only names the caller, and headers for a session, make no other request', async () => {
  const text = 'beside';
  await ask(gateway, 'chat', { text });
  const more = { user: 'u1', metadata: { a: 'b' }, service_tier: 'auto', prompt_cache_key: 'p' };
  const hit = await ask(gateway, 'chat', { text, more, headers: { 'x-culvert-session': 's' } });
  assert.equal(hit.cache, 'hit');
  for (const headers of [{ 'x-culvert-no-fallback': 'true' }, { 'anthropic-beta': 'context-1m' }]) {
    assert.equal((await ask(gateway, 'chat', { text, headers })).cache, 'miss', JSON.stringify(headers));
  }
});

const shared: Record<string, { sibling: string; stranger: string; elsewhere: string }> = {
  chat: { sibling: 'miss', stranger: 'miss', elsewhere: 'miss' },
  account: { sibling: 'hit', stranger: 'miss', elsewhere: 'miss' },
  plan: { sibling: 'hit', stranger: 'hit', elsewhere: 'miss' },
  all: { sibling: 'hit', stranger: 'hit', elsewhere: 'hit' },
};
for (const [model, expected] of Object.entries(shared)) {
  test(`scope of model ${model}: ${JSON.stringify(expected)}`, async () => {
    const text = `scope ${model}`;
    assert.equal((await ask(gateway, 'chat', { model, text })).cache, 'miss');
    assert.equal((await ask(gateway, 'chat', { model, text })).cache, 'hit');
    assert.equal((await ask(gateway, 'messages', { model, text, key: sibling })).cache, expected.sibling);
    assert.equal((await ask(gateway, 'chat', { model, text, key: otherKey })).cache, expected.stranger);
    assert.equal((await ask(gateway, 'gemini', { model, text, key: elsewhere })).cache, expected.elsewhere);
  });
}

for (const model of ['long', 'filtered', 'cut', 'broken', 'no-tools']) {
  for (const stream of [false, true]) {
    test(`what ${model} answers is not kept, ${stream ? 'streamed' : 'whole'}`, async () => {
      const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
      const question = { model, stream, text: model, more: { tools } };
      for (let n = 0; n < 2; n += 1) assert.notEqual((await ask(gateway, 'chat', question)).cache, 'hit');
    });
  }
}

test('answers that call tools are kept where the model says so, and hit in every format', async () => {
  const of = (format: Format, more: object) =>
    ask(gateway, format, { model: 'tools', text: 'tools', more: { ...more } });
  const parameters = { type: 'object', properties: {} };
  const tools = { tools: [{ type: 'function', function: { name: 'f', parameters } }] };
  const first = await of('chat', tools);
  assert.equal(JSON.parse(first.body).choices[0].finish_reason, 'tool_calls', first.body);
  const hit = await of('chat', tools);
  assert.equal(hit.cache, 'hit');
  assert.deepEqual(
    JSON.parse(hit.body).choices[0].message.tool_calls[0].function,
    JSON.parse(first.body).choices[0].message.tool_calls[0].function,
  );
  const claudes = await of('messages', { tools: [{ name: 'f', input_schema: parameters }] });
  assert.equal(claudes.cache, 'hit');
  assert.equal(JSON.parse(claudes.body).stop_reason, 'tool_use', claudes.body);
});

test('responses that are kept, continued or in the background go around the cache', async () => {
  const text = 'kept';
  assert.equal((await ask(gateway, 'responses', { text, more: { store: true } })).cache, 'bypass');
  assert.equal((await ask(gateway, 'responses', { text })).cache, 'miss');
  assert.equal((await ask(gateway, 'responses', { text, more: { store: true } })).cache, 'bypass');
});

test('a model without cache says nothing of it', async () => {
  assert.equal((await ask(gateway, 'chat', { model: 'plain' })).cache, null);
});

test('bodies above 1 MB, which a thread reads, are kept too, and one changed letter is another body', async () => {
  const text = `${'long '.repeat(240_000)}a`;
  assert.equal((await ask(gateway, 'chat', { text })).cache, 'miss');
  assert.equal((await ask(gateway, 'messages', { text })).cache, 'hit');
  assert.equal((await ask(gateway, 'chat', { text: `${text.slice(0, -1)}b` })).cache, 'miss');
});

test('an Idempotency-Key keeps its reply, whatever the cache would say', async () => {
  const headers = { 'idempotency-key': 'k-1' };
  const first = await ask(gateway, 'chat', { text: 'idempotent', headers });
  const again = await ask(gateway, 'chat', { text: 'idempotent', headers });
  assert.equal(again.body, first.body);
  const other = await ask(gateway, 'chat', { text: 'idempotent', headers: { 'idempotency-key': 'k-2' } });
  assert.equal(other.cache, 'hit');
  assert.notEqual(JSON.parse(other.body).id, JSON.parse(first.body).id);
});

test('several choices in one call are kept together, and each other order of members hits', async () => {
  const text = 'order';
  const messages = [
    { content: 'be good', role: 'system' },
    { content: text, role: 'user' },
  ];
  await ask(gateway, 'chat', { text });
  const turned = await gateway.fetch('/v1/chat/completions', { json: { max_tokens: 100, messages, model: 'chat' } });
  assert.match(turned.headers.get('x-culvert-cache') ?? '', /^hit/);
  const two = { text, more: { n: 2 } };
  const first = await ask(gateway, 'chat', two);
  const second = await ask(gateway, 'chat', two);
  assert.equal(JSON.parse(second.body).choices.length, 2);
  assert.equal(second.cache, 'hit');
  assert.equal(withoutIds(second.body), withoutIds(first.body));
});
