import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { UsageEvent } from '../../src/books/metering/ledger.ts';
import { specValidator } from '../spec/validate.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { refusedFor } from './plan-gateway.ts';
import { asked, dataLines, type ErrorBody } from './served.ts';

const endpoints = {
  completions: { path: '/v1/completions', body: { model: 'm', prompt: 'Once upon a time', max_tokens: 64 } },
  moderations: { path: '/v1/moderations', body: { model: 'm', input: ['a kind word', 'a [flag] word'] } },
  rerank: {
    path: '/v1/rerank',
    body: { model: 'm', query: 'red fish', documents: ['a blue bird', 'a red fish', 'a red bird'], top_n: 2 },
  },
} as const;
const each = Object.entries(endpoints) as [keyof typeof endpoints, (typeof endpoints)[keyof typeof endpoints]][];
const { completions, moderations, rerank } = endpoints;
const streamed = { ...completions.body, stream: true };

interface World {
  gateway: TestGateway;
  first: Upstream;
  second: Upstream;
  ask(path: string, json: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The ledger's row of an answer, as its caller may read it. */
  record(response: Response): Promise<UsageEvent & { explanation?: unknown }>;
}

/** Alias `m` over two servers of OpenAI's format at addresses of their own, the second after the first. */
async function world(t: Pick<TestContext, 'after'>, config: Record<string, unknown> = {}): Promise<World> {
  const [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all([first.close(), second.close()]));
  const provider = ({ url }: Upstream) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
  const models = {
    m: {
      targets: [
        { provider: 'one', model: 'mock/ok' },
        { provider: 'two', model: 'mock/ok', priority: 2 },
      ],
    },
    claude: { targets: ['claude/mock/ok'] },
  };
  const gateway = await startGateway(t, {
    ...config,
    providers: {
      one: provider(first),
      two: provider(second),
      claude: { type: 'anthropic', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
      ...(config.providers as object),
    },
    models: { ...models, ...(config.models as object) },
  });
  await gateway.modelsKnown;
  return {
    gateway,
    first,
    second,
    ask: (path, json, headers = {}) => gateway.fetch(path, { json, headers }),
    async record(response) {
      const id = response.headers.get('x-culvert-request-id');
      const found = await gateway.fetch(`/v1/requests/${id}`);
      assert.equal(found.status, 200);
      return (await found.json()) as UsageEvent;
    },
  };
}

async function errorOf(response: Response): Promise<ErrorBody['error']> {
  return ((await response.json()) as ErrorBody).error;
}

test('§6 completions: OpenAI’s answer, by whichever provider, with what it cost and who gave it', async (t) => {
  const { ask, first, record } = await world(t);
  const response = await ask(completions.path, completions.body);
  assert.equal(response.status, 200);
  const answer = (await response.json()) as { choices: { text: string }[]; usage: { total_tokens: number } };
  assert.deepEqual(specValidator('openai', 'CreateCompletionResponse')(answer), []);
  assert.match(answer.choices[0]!.text, /^Mock answer to: Once upon a time/);
  assert.equal(response.headers.get('x-culvert-provider'), 'one');
  assert.equal(response.headers.get('x-culvert-model'), 'mock/ok');
  assert.equal(response.headers.get('x-culvert-cost'), '1');
  const [request] = asked(first);
  assert.equal(request!.path, '/v1/completions');
  assert.deepEqual(request!.body, { ...completions.body, model: 'mock/ok' });
  assert.equal(request!.headers.authorization, 'Bearer upstream-secret');
  const row = JSON.stringify(await record(response));
  assert.ok(row.includes('"completions"') && row.includes('"upstream"'), row);
});

test('§6 completions, streamed: chunks as they came, `[DONE]` last, usage only when asked for', async (t) => {
  const { ask, first } = await world(t);
  const response = await ask(completions.path, streamed);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const lines = dataLines(await response.text());
  assert.equal(lines.pop(), '[DONE]');
  const chunks = lines.map((line) => JSON.parse(line) as { choices: { text: string }[] });
  assert.ok(chunks.length > 2 && chunks.every(({ choices }) => choices.length === 1));
  assert.match(chunks.map(({ choices }) => choices[0]!.text).join(''), /^Mock answer to: Once upon a time/);
  assert.deepEqual((asked(first)[0]!.body as { stream_options: unknown }).stream_options, { include_usage: true });
  const shown = await ask(completions.path, { ...streamed, stream_options: { include_usage: true } });
  const last = JSON.parse(dataLines(await shown.text()).at(-2)!) as { choices: unknown[]; usage: unknown };
  assert.deepEqual(last.choices, []);
  assert.ok(last.usage);
});

test('§6 completions, streamed: the usage that was hidden stands in the books', async (t) => {
  const { ask, record } = await world(t);
  const response = await ask(completions.path, streamed);
  await response.text();
  const row = JSON.stringify(await record(response));
  assert.match(row, /"output_?[tT]okens":[1-9]/, row);
  assert.ok(row.includes('"upstream"'), row);
});

for (const [name, fault, code] of [
  ['a cut connection', 'cut;chunks=5', 502],
  ['an end without [DONE]', 'eof;chunks=5', 502],
  ['an error among the chunks', 'error=2;chunks=5', 'server_error'],
] as const) {
  test(`§6 completions, streamed: ${name} ends with an error frame, never with [DONE]`, async (t) => {
    const { ask, first, second } = await world(t);
    first.script(completions.path, [fault]);
    const text = await (await ask(completions.path, streamed)).text();
    assert.ok(!text.includes('[DONE]'), text);
    const last = JSON.parse(dataLines(text).at(-1)!) as ErrorBody;
    assert.deepEqual([last.error.type, last.error.code], ['upstream_error', code]);
    assert.equal(asked(second).length, 0, 'nothing is started anew once content went out');
  });
}

for (const [name, { path, body }] of each) {
  test(`§6 ${name}: a failure before the answer is invisible, and explained afterwards`, async (t) => {
    for (const fault of ['status=500', 'malformed', 'empty', 'html', 'error=0']) {
      // Three failures in a row would open the first one's breaker.
      const { ask, first, record } = await world(t);
      first.script(path, [fault]);
      const response = await ask(path, body);
      await response.text();
      assert.deepEqual([response.status, response.headers.get('x-culvert-provider')], [200, 'two'], fault);
      assert.equal(response.headers.get('x-culvert-attempts'), '2', fault);
      if (fault === 'status=500') assert.match(JSON.stringify(await record(response)), /answered 500/);
      await first.when(({ method }) => method === 'POST');
    }
  });

  test(`§6 ${name}: all failed is 502 and costs nothing; the provider's words come through, its key does not`, async (t) => {
    const { ask, first, second } = await world(t);
    for (const upstream of [first, second]) upstream.script(path, ['always echo-auth;message=No such luck']);
    const response = await ask(path, body);
    assert.equal(response.status, 502);
    assert.equal(response.headers.get('x-culvert-cost'), '0');
    const { message } = await errorOf(response);
    assert.match(message, /No such luck/);
    assert.ok(!message.includes('upstream-secret'), message);
  });

  test(`§6 ${name}: what the upstream calls the caller's fault ends the request with its status and words`, async (t) => {
    const { ask, first, second } = await world(t);
    first.script(path, ['status=400;message=That is no good']);
    const response = await ask(path, body);
    assert.equal(response.status, 400);
    assert.match((await errorOf(response)).message, /That is no good/);
    assert.equal(asked(second).length, 0);
  });

  test(`§6 ${name}: a model that nobody serves it for is 400 naming both, and nothing is asked`, async (t) => {
    const { ask, first } = await world(t);
    const response = await ask(path, { ...body, model: 'claude' });
    assert.equal(response.status, 400);
    const error = await errorOf(response);
    assert.equal(error.param, 'model');
    assert.ok(error.message.includes("'claude'") && error.message.includes(path), error.message);
    assert.equal(asked(first).length, 0);
  });

  test(`§6 ${name}: a model that is not there for it still chats`, async (t) => {
    const { ask, first, second } = await world(t);
    for (const upstream of [first, second]) upstream.script(path, ['always status=404;message=no such route']);
    await (await ask(path, body)).text();
    const response = await ask('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    await response.text();
    assert.deepEqual([response.status, response.headers.get('x-culvert-provider')], [200, 'one']);
  });

  test(`§11 ${name}: an Idempotency-Key gives the stored reply without a second run`, async (t) => {
    const { ask, first } = await world(t);
    const key = { 'idempotency-key': `once-${name}` };
    const answer = await (await ask(path, body, key)).text();
    const again = await ask(path, body, key);
    assert.ok(again.headers.has('x-culvert-idempotent-replay'));
    assert.equal(await again.text(), answer);
    assert.equal(asked(first).length, 1);
    const other = await ask(path, { ...body, user: 'another' }, key);
    assert.equal(other.status, 409);
  });

  test(`S1 ${name}: fields that would steer a careless upstream stay here, all others go on as they came`, async (t) => {
    const { ask, first } = await world(t);
    await (await ask(path, { ...body, api_base: 'http://evil.example', unknown_field: { deep: [1] } })).text();
    assert.deepEqual(asked(first)[0]!.body, { ...body, model: 'mock/ok', unknown_field: { deep: [1] } });
  });

  test(`§6 ${name}: its end user is in the books`, async (t) => {
    const { ask, record } = await world(t);
    const answer = await ask(path, { ...body, user: 'ann' });
    await answer.text();
    assert.equal((await record(answer)).user, 'ann');
    const other = await ask(path, body);
    await other.text();
    assert.equal((await record(other)).user, null);
  });

  test(`F23 ${name}: a body above 1 MB is read off the loop, and goes on as it came`, async (t) => {
    const { ask, first } = await world(t);
    const padding = 'x '.repeat(800_000);
    const response = await ask(path, { ...body, padding });
    await response.text();
    assert.equal(response.status, 200);
    const [request] = asked(first);
    assert.equal(request!.headers['content-length'], String(JSON.stringify({ ...body, padding }).length + 6));
    assert.ok(JSON.stringify(request!.body).includes('mock/ok'));
  });

  test(`§10 ${name}: a caller who leaves closes the upstream's connection, and pays no units`, async (t) => {
    const { gateway, first } = await world(t);
    first.script(path, ['hang']);
    const leaving = new AbortController();
    const asking = gateway.fetch(path, { json: body, signal: leaving.signal }).catch(() => null);
    await first.when(({ method }) => method === 'POST');
    leaving.abort();
    await asking;
    await first.when(({ method, aborted }) => method === 'POST' && aborted);
    const usage = (await (await gateway.fetch('/v1/usage')).json()) as { windows: { '5h': { used: number } } };
    assert.equal(usage.windows['5h'].used, 0);
  });

  test(`§8 ${name}: x-culvert-timeout-ms ends it, x-culvert-no-fallback keeps it with the first provider`, async (t) => {
    const { ask, first, second } = await world(t);
    first.script(path, ['hang']);
    // On a busy machine a connection that takes too long would leave time for the second one.
    const late = await ask(path, body, { 'x-culvert-timeout-ms': '100', 'x-culvert-no-fallback': '1' });
    assert.equal(late.status, 502);
    await late.text();
    first.clear();
    first.script(path, ['status=500']);
    const alone = await ask(path, body, { 'x-culvert-no-fallback': '1' });
    assert.equal(alone.status, 502);
    await alone.text();
    assert.equal(asked(second).length, 0);
  });
}

test('§6 bad input is 400 in OpenAI’s shape, and nothing is asked', async (t) => {
  const { gateway, first } = await world(t);
  const rows: [string, string, string | null][] = [];
  for (const [, { path }] of each) {
    rows.push([path, '', null], [path, '{', null], [path, '[]', null], [path, '"x"', null], [path, 'null', null]);
    rows.push([path, '{"model":5}', 'model'], [path, '{"model":""}', 'model'], [path, '{"model":[]}', 'model']);
    rows.push([path, `{"model":"${'x'.repeat(257)}"}`, 'model'], [path, '{"model":"m","model":"m"}', 'model']);
    rows.push([path, `{"model":"m","user":"${'x'.repeat(257)}"}`, 'user']);
    if (path !== moderations.path) rows.push([path, '{}', 'model'], [path, '{"model":null}', 'model']);
  }
  for (const input of ['5', '[]', '{}', 'true'])
    rows.push([moderations.path, `{"model":"m","input":${input}}`, 'input']);
  for (const input of ['[[]]', '[1]']) rows.push([moderations.path, `{"model":"m","input":${input}}`, 'input[0]']);
  rows.push([moderations.path, '{"model":"m","input":["kind",null]}', 'input[1]']);
  rows.push([completions.path, '{"model":"m","stream":"yes"}', 'stream']);
  rows.push([completions.path, '{"model":"m","stream":true,"stream_options":1}', 'stream_options']);
  rows.push([completions.path, '{"model":"m","stream_options":{}}', 'stream_options']);
  for (const [path, body, param] of rows) {
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.fetch(path, { method: 'POST', body, headers });
    const error = await errorOf(response);
    assert.deepEqual([response.status, error.type, error.code], [400, 'invalid_request_error', 400], `${path} ${body}`);
    assert.equal(error.param, param, `${path} ${body}`);
  }
  assert.equal(asked(first).length, 0);
});

test('§6 unknown models are 404 with what there is', async (t) => {
  const { ask } = await world(t);
  for (const [, { path, body }] of each) {
    const response = await ask(path, { ...body, model: 'nothing' });
    assert.equal(response.status, 404);
    assert.match((await errorOf(response)).message, /\bm\b/);
  }
});

test('§6 where no provider serves an endpoint, the answer names the keys that would', async (t) => {
  const keys = { moderations: ['OPENAI_API_KEY', 'MISTRAL_API_KEY'], rerank: ['COHERE_API_KEY', 'JINA_API_KEY'] };
  const { url } = await mockUpstream(t);
  const providers = { claude: { type: 'anthropic', base_url: `${url}/v1`, api_key: 'upstream-secret' } };
  const chats = { providers, models: { chat: { targets: ['claude/mock/ok'] } } };
  for (const [config, model, status] of [
    [{ server: { unknown_models: 'refuse' } }, 'omni-moderation-latest', 404],
    [chats, 'omni-moderation-latest', 404],
    [chats, 'chat', 400],
  ] as const) {
    const gateway = await startGateway(t, config);
    await gateway.modelsKnown;
    for (const id of ['moderations', 'rerank'] as const) {
      const { path, body } = endpoints[id];
      const response = await gateway.fetch(path, { json: { ...body, model } });
      const { error } = (await response.json()) as ErrorBody;
      assert.equal(response.status, status, error.message);
      assert.equal(error.param, 'model');
      for (const key of keys[id]) assert.ok(error.message.includes(key), error.message);
      assert.match(error.message, new RegExp(`serves ${path}\\.`));
    }
    await gateway.close(0);
  }
  // When a provider serves it, the model is wrong.
  const { gateway } = await world(t, { models: { small: { targets: ['claude/mock/ok'] } } });
  const unknown = await gateway.fetch(moderations.path, { json: { ...moderations.body, model: 'nope' } });
  assert.match(((await unknown.json()) as ErrorBody).error.message, /does not exist/);
});

async function mockUpstream(t: Pick<TestContext, 'after'>): Promise<Upstream> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

test('§11 completions and rerank cost 1 unit, moderations none; all are counted', async (t) => {
  const { gateway, ask } = await world(t);
  for (const [name, { path, body }] of each) {
    const response = await ask(path, body);
    await response.text();
    assert.equal(response.headers.get('x-culvert-cost'), name === 'moderations' ? '0' : '1');
  }
  const usage = (await (await gateway.fetch('/v1/usage?group_by=endpoint')).json()) as {
    data: { group: string; requests: number; units: number; input_tokens: number }[];
  };
  const rows = Object.fromEntries(usage.data.map(({ group, requests, units }) => [group, [requests, units]]));
  assert.deepEqual(rows, { completions: [1, 1], moderations: [1, 0], rerank: [1, 1] });
  assert.ok(usage.data.every(({ input_tokens }) => input_tokens > 0));
});

test('§11 a reached window refuses the next rerank with 429, its headers before that', async (t) => {
  const { ask } = await world(t, { plans: { default: { rpm: 'off', windows: { '5h': 1 } } } });
  const response = await ask(rerank.path, rerank.body);
  await response.text();
  assert.match(response.headers.get('ratelimit') ?? '', /"5h";r=0/);
  const error = await refusedFor('5h', ask(rerank.path, rerank.body));
  assert.deepEqual([error.used, error.allowed], [1, 1]);
  const free = await ask(moderations.path, moderations.body);
  await free.text();
  assert.equal(free.status, 200, 'moderations cost nothing');
});

test('§6 moderations: a body without a model asks for OpenAI’s default', async (t) => {
  const { ask, first } = await world(t, { models: { 'omni-moderation-latest': { targets: ['one/mock/ok'] } } });
  const response = await ask(moderations.path, { input: 'a [flag] word' });
  const answer = (await response.json()) as { results: { flagged: boolean }[] };
  assert.deepEqual(specValidator('openai', 'CreateModerationResponse')(answer), []);
  assert.deepEqual(
    answer.results.map(({ flagged }) => flagged),
    [true],
  );
  assert.deepEqual(asked(first)[0]!.body, { model: 'mock/ok', input: 'a [flag] word' });
});

test('§6 rerank: each kind of provider at its own path; its usage in the books', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = upstream;
  const kinds = {
    cohere: { at: '/v2/rerank', provider: { type: 'cohere', base_url: `${url}/compatibility/v1`, api_key: 'k' } },
    jina: { at: '/v1/rerank', provider: { type: 'jina', base_url: `${url}/v1`, api_key: 'k' } },
    vllm: { at: '/v1/rerank', provider: { type: 'vllm', base_url: `${url}/v1` } },
    llamacpp: { at: '/v1/rerank', provider: { type: 'llamacpp', base_url: `${url}/v1` } },
    infinity: { at: '/rerank', provider: { type: 'openai', base_url: url, api_key: 'k' } },
  };
  const { ask, record } = await world(t, {
    providers: Object.fromEntries(Object.entries(kinds).map(([name, { provider }]) => [name, provider])),
    models: Object.fromEntries(
      Object.keys(kinds).map((name) => [`by-${name}`, { type: 'rerank', targets: [`${name}/mock/ok`] }]),
    ),
  });
  for (const [name, { at }] of Object.entries(kinds)) {
    upstream.clear();
    const response = await ask(rerank.path, { ...rerank.body, model: `by-${name}` });
    const answer = (await response.json()) as { results: { index: number; relevance_score: number }[] };
    assert.deepEqual(
      answer.results.map(({ index, relevance_score }) => [index, relevance_score]),
      [
        [1, 1],
        [2, 0.5],
      ],
      name,
    );
    assert.equal(asked(upstream)[0]!.path, at, name);
    const row = JSON.stringify(await record(response));
    if (name === 'cohere') assert.ok(row.includes('"searchUnits":1') && row.includes('"counted"'), row);
    else assert.ok(row.includes('"upstream"'), row);
  }
});

test('§6 an OpenAI account at OpenAI’s own address has no rerank', async (t) => {
  const { ask } = await world(t, {
    providers: { own: { type: 'openai', api_key: 'k' } },
    models: { gpt: { targets: ['own/gpt'] } },
  });
  const response = await ask(rerank.path, { ...rerank.body, model: 'gpt' });
  assert.equal(response.status, 400);
  await response.text();
});

test('§13 without any provider the simulator answers, and says so', async (t) => {
  const gateway = await startGateway(t, { server: { host: '127.0.0.1' } });
  for (const [, { path, body }] of each) {
    const response = await gateway.fetch(path, { json: { ...body, model: 'sim/chat' } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.equal(response.headers.get('x-culvert-simulated'), 'true');
    assert.equal(response.headers.get('x-culvert-cost'), '0');
    if (path === completions.path) assert.match(text, /\[simulated\]/);
  }
});
