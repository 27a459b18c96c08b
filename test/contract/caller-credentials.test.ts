import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, afterEach, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { pino } from 'pino';
import WebSocket from 'ws';
import type { RequestReply } from '../../src/admin/request-schema.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { callAdmin } from '../call-admin.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startOtlpReceiver } from '../telemetry/otlp-receiver.ts';
import { until } from '../until.ts';

/* Issue 31 §1.6: a caller's own subscription, by the caller's own header. */

const upstream = await startUpstream();
const receiver = await startOtlpReceiver({ after });
after(() => upstream.close());
let lines = '';
const sink = new Writable({
  write(chunk, _, done) {
    lines += String(chunk);
    done();
  },
});
const gateway = await startGateway(
  { after } as TestContext,
  {
    telemetry: {
      log: { bodies: ['*'], level: 'debug' },
      otlp: { endpoint: receiver.url, content: ['*'] },
    },
    providers: {
      plans: { type: 'anthropic', base_url: `${upstream.url}/v1`, caller_credential: true },
      house: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'operators-secret' },
      chatgpt: {
        type: 'openai',
        base_url: `${upstream.url}/v1`,
        dialects: ['openai-responses', 'openai-chat'],
        caller_credential: true,
      },
    },
    models: {
      claude: { targets: ['plans/mock/ok'] },
      either: { targets: ['plans/mock/ok', { provider: 'house', model: 'mock/ok', priority: 2 }] },
      gpt: { targets: ['chatgpt/mock/ok'] },
      shadowed: { targets: ['house/mock/ok'], shadow: { model: 'claude', share: '100%' } },
    },
  },
  { log: pino({ base: null, level: 'debug' }, sink) },
);
const annes = 'sk-ant-oat01-the-subscription-of-anne';
const bertas = 'sk-ant-oat01-the-subscription-of-berta';
const claras = 'clara-likes-cats';
const chatgpts = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0aGUtbG9naW4tb2YtYW5uZSJ9.c2lnbmF0dXJl';
const account = 'acct-0f2c-of-anne';

const anthropic = (authToken: string | null, key = testKey, more: object = {}) =>
  new Anthropic({
    ...{ apiKey: null, authToken, baseURL: gateway.url, maxRetries: 0 },
    defaultHeaders: {
      ...(authToken === null && { authorization: null, 'x-api-key': null }),
      ...{ 'x-culvert-key': key, 'user-agent': 'claude-cli/2.0.1 (external, cli)', 'x-app': 'cli', ...more },
    },
  });
const openai = (apiKey: string, key = testKey) =>
  new OpenAI({
    ...{ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 },
    defaultHeaders: { 'x-culvert-key': key, 'chatgpt-account-id': account, originator: 'codex_cli_rs' },
  });
const question = { model: 'claude', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };
const betas = { 'anthropic-beta': 'oauth-2025-04-20,claude-code-20250219' };

async function record(requestId: string | null): Promise<RequestReply> {
  return (await callAdmin<RequestReply>(gateway, 'GET', `/requests/${requestId}`)).body;
}

/** Without lists of models, which the operator's credential is asked for. */
const asked = () => upstream.requests().filter(({ method }) => method === 'POST');

afterEach(() => upstream.clear());

test('two callers at once are each asked with their own subscription, whole and streamed, at a price of zero', async () => {
  const ask = async (token: string, key: string) => {
    const { data, response } = await anthropic(token, key, betas).messages.create(question).withResponse();
    const stream = anthropic(token, key, betas).messages.stream(question);
    const streamed = await stream.finalMessage();
    assert.equal(streamed.content[0]?.type, 'text');
    assert.equal(data.content[0]?.type, 'text');
    return response.headers.get('x-culvert-request-id');
  };
  const ids = await Promise.all(
    [...Array(6).keys()].map((i) => (i % 2 === 0 ? ask(annes, testKey) : ask(bertas, otherKey))),
  );
  const sent = asked();
  assert.equal(sent.length, 12);
  for (const token of [annes, bertas]) {
    assert.equal(sent.filter(({ headers }) => headers.authorization === `Bearer ${token}`).length, 6);
  }
  for (const { headers } of sent) {
    assert.equal(headers['user-agent'], 'claude-cli/2.0.1 (external, cli)');
    assert.equal(headers['x-app'], 'cli');
    assert.equal(headers['anthropic-beta'], betas['anthropic-beta']);
    assert.equal(headers['x-culvert-key'], undefined);
    assert.equal(headers['x-api-key'], undefined);
    assert.ok(!JSON.stringify(headers).includes('sk-cv-'));
  }
  const { cost_usd, usage, route } = await record(ids[0]!);
  assert.equal(cost_usd, 0);
  assert.ok(Number(usage.input_tokens) > 0 && Number(usage.output_tokens) > 0);
  assert.deepEqual(
    route?.attempts.map(({ credential }) => credential),
    ['plans#caller'],
  );
});

test('an API key of the caller passes in x-api-key, and tokens are counted with it', async () => {
  const client = new Anthropic({
    ...{ apiKey: 'sk-ant-api03-of-anne', authToken: null, baseURL: gateway.url, maxRetries: 0 },
    defaultHeaders: { 'x-culvert-key': testKey },
  });
  const { input_tokens: counted } = await client.messages.countTokens({
    model: 'claude',
    messages: question.messages,
  });
  assert.ok(counted > 0);
  const [count] = asked();
  assert.equal(count!.path, '/v1/messages/count_tokens');
  // The SDK sends a key as a bearer token, too.
  const sent = count!.headers['x-api-key'] ?? count!.headers.authorization;
  assert.match(sent ?? '', /sk-ant-api03-of-anne$/);
  upstream.clear();
  const here = await anthropic(null).messages.countTokens({ model: 'claude', messages: question.messages });
  assert.ok(here.input_tokens > 0);
  assert.deepEqual(asked(), []);
});

test('a login of ChatGPT answers Responses with the account that it names, whole and streamed', async () => {
  const client = openai(chatgpts);
  const { data, response } = await client.responses
    .create({ model: 'gpt', input: 'Hello', store: false })
    .withResponse();
  assert.ok(data.output_text.length > 0);
  let text = '';
  for await (const event of await client.responses.create({ model: 'gpt', input: 'Hi', store: false, stream: true })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.ok(text.length > 0);
  for (const { path, headers } of asked()) {
    assert.equal(path, '/v1/responses');
    assert.equal(headers.authorization, `Bearer ${chatgpts}`);
    assert.equal(headers['chatgpt-account-id'], account);
    assert.equal(headers.originator, 'codex_cli_rs');
  }
  assert.equal(asked().length, 2);
  assert.equal((await record(response.headers.get('x-culvert-request-id'))).cost_usd, 0);
});

test('without a credential next to the key nothing is sent, and the message names the header', async () => {
  const missing = (error: unknown) => {
    assert.ok(error instanceof Anthropic.APIError && error.status === 401, String(error));
    assert.match(error.message, /x-culvert-key.*Authorization/s);
    return true;
  };
  await assert.rejects(anthropic(null).messages.create(question), missing);
  // A key of this server proves nothing to the provider, in whichever header it comes.
  await assert.rejects(anthropic(testKey).messages.create(question), missing);
  const plain = await gateway.fetch('/v1/messages', { json: question, headers: { 'x-api-key': annes } });
  assert.equal(plain.status, 401);
  await plain.arrayBuffer();
  // Two keys of this server are no key.
  await assert.rejects(anthropic(otherKey).messages.create(question), /two different API keys/);
  // A wrong key of this server does not let a credential through.
  await assert.rejects(anthropic(annes, 'sk-cv-nobody-00000000').messages.create(question), /not valid/);
  assert.deepEqual(asked(), []);
});

test("a refused credential and a reached limit are the caller's alone", async () => {
  upstream.script(`/v1/messages ${bertas}`, [
    'always status=429;code=rate_limit_error;message=Your weekly limit is reached;retry-after=17',
  ]);
  for (let i = 0; i < 4; i++) {
    const limited = anthropic(bertas, otherKey).messages.create(question);
    await assert.rejects(limited, (error: unknown) => {
      assert.ok(error instanceof Anthropic.RateLimitError, String(error));
      assert.match(error.message, /Your weekly limit is reached/);
      assert.equal(error.headers?.get('retry-after'), '17');
      return true;
    });
    await anthropic(annes).messages.create(question);
  }
  // Each was asked once, and never with anybody's other credential.
  assert.equal(asked().length, 8);

  upstream.clear();
  // Nothing in its looks shows that it is a secret.
  upstream.script(`/v1/messages ${claras}`, [`always status=401;message=Nobody knows ${claras} here`]);
  for (let i = 0; i < 4; i++) {
    await assert.rejects(anthropic(claras, otherKey).messages.create(question), (error: unknown) => {
      assert.ok(error instanceof Anthropic.AuthenticationError, String(error));
      assert.ok(!error.message.includes(claras), error.message);
      return true;
    });
    await anthropic(annes).messages.create(question);
  }
  const { body } = await callAdmin<{ data: { name: string; status: string }[] }>(gateway, 'GET', '/providers');
  assert.equal(body.data.find(({ name }) => name === 'plans')?.status, 'healthy');
});

const unified = 'anthropic-ratelimit-unified';
const claudeLimits = (used: string) => ({
  [`${unified}-status`]: 'allowed',
  [`${unified}-5h-utilization`]: used,
  [`${unified}-5h-reset`]: '1764100000',
  [`${unified}-representative-claim`]: 'five_hour',
});
const withHeaders = (headers: object) =>
  Object.entries(headers)
    .map(([name, value]) => `header.${name}=${value}`)
    .join(';');

test("answers and refusals have the limits of their caller's subscription, and of nobody else's", async () => {
  const scripted = (token: string, used: string, more = '') =>
    upstream.script(`/v1/messages ${token}`, [`always ${withHeaders(claudeLimits(used))}${more}`]);
  scripted(annes, '0.25');
  scripted(bertas, '0.75');
  upstream.script('/v1/messages operators-secret', [`always ${withHeaders(claudeLimits('0.5'))}`]);
  const shownTo = async (token: string, key: string, stream: boolean) => {
    const asked = anthropic(token, key).messages.create({ ...question, stream });
    const { response } = await asked.withResponse();
    await response.text().catch(() => '');
    return response.headers;
  };
  const calls = [...Array(12).keys()].map(async (at) => {
    const isAnne = at % 2 === 0;
    const headers = await shownTo(isAnne ? annes : bertas, isAnne ? testKey : otherKey, at % 4 < 2);
    assert.equal(headers.get(`${unified}-5h-utilization`), isAnne ? '0.25' : '0.75');
    assert.equal(headers.get(`${unified}-status`), 'allowed');
    assert.equal(headers.get(`${unified}-representative-claim`), 'five_hour');
  });
  await Promise.all(calls);
  // The answer of the operator's key has no limits of anybody.
  const { response } = await anthropic(null)
    .messages.create({ ...question, model: 'either' })
    .withResponse();
  assert.equal(response.headers.get('x-culvert-provider'), 'house');
  assert.equal(response.headers.get(`${unified}-status`), null);

  const rejected = { ...claudeLimits('1'), [`${unified}-status`]: 'rejected' };
  upstream.script(`/v1/messages ${bertas}`, [
    `always status=429;code=rate_limit_error;retry-after=17;${withHeaders(rejected)}`,
  ]);
  await assert.rejects(anthropic(bertas, otherKey).messages.create(question), (error: unknown) => {
    assert.ok(error instanceof Anthropic.RateLimitError, String(error));
    assert.equal(error.headers?.get(`${unified}-status`), 'rejected');
    assert.equal(error.headers?.get(`${unified}-5h-utilization`), '1');
    assert.equal(error.headers?.get('retry-after'), '17');
    return true;
  });
  // Where the operator's key answers in its place, the limits of the other answer are not those of this one.
  const { response: stood } = await anthropic(bertas, otherKey)
    .messages.create({ ...question, model: 'either' })
    .withResponse();
  assert.equal(stood.headers.get('x-culvert-provider'), 'house');
  assert.equal(stood.headers.get(`${unified}-status`), null);
});

const codexLimits = {
  'x-codex-primary-used-percent': '12.5',
  'x-codex-primary-window-minutes': '300',
  'x-codex-primary-reset-at': '1764100000',
  'x-codex-secondary-used-percent': '73',
  'x-ratelimit-remaining-requests': '59',
  'x-request-id': 'req_of_the_vendor',
  'set-cookie': 'a=b',
};

test('answers to Codex have the limits of ChatGPT, and no other header of it', async () => {
  upstream.script('/v1/responses', [withHeaders(codexLimits)]);
  const { response } = await openai(chatgpts)
    .responses.create({ model: 'gpt', input: 'Hello', store: false })
    .withResponse();
  assert.equal(response.headers.get('x-codex-primary-used-percent'), '12.5');
  assert.equal(response.headers.get('x-codex-secondary-used-percent'), '73');
  assert.equal(response.headers.get('x-ratelimit-remaining-requests'), '59');
  assert.notEqual(response.headers.get('x-request-id'), 'req_of_the_vendor');
  assert.equal(response.headers.get('set-cookie'), null);
});

test('over a WebSocket each request is asked with the credential of the connection, and its limits are an event', async () => {
  upstream.script('/v1/responses', [
    withHeaders(codexLimits),
    `status=429;code=usage_limit_reached;${withHeaders({ ...codexLimits, 'x-codex-primary-used-percent': '100' })}`,
  ]);
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: {
      ...{ authorization: `Bearer ${chatgpts}`, 'x-culvert-key': testKey },
      ...{ 'chatgpt-account-id': account, originator: 'codex_cli_rs' },
    },
  });
  const events: Record<string, unknown>[] = [];
  socket.on('message', (data) => events.push(JSON.parse(String(data)) as Record<string, unknown>));
  await once(socket, 'open');
  const ends = /^(response\.completed|error)$/;
  const ask = async () => {
    const before = events.length;
    const create = { type: 'response.create', model: 'gpt', input: 'Hello', store: false };
    socket.send(JSON.stringify(create));
    await until('it has ended', () => events.slice(before).some(({ type }) => ends.test(String(type))));
    return events.slice(before);
  };
  const [first, ...rest] = await ask();
  assert.deepEqual(first, {
    type: 'codex.rate_limits',
    rate_limits: {
      primary: { used_percent: 12.5, window_minutes: 300, reset_at: 1_764_100_000 },
      secondary: { used_percent: 73, window_minutes: null, reset_at: null },
    },
  });
  assert.equal(rest.at(-1)?.type, 'response.completed');
  const [refused] = (await ask()).slice(-1) as { status: number; headers: Record<string, string> }[];
  assert.equal(refused?.status, 429, JSON.stringify(refused));
  assert.equal(refused?.headers['x-codex-primary-used-percent'], '100');
  for (const { headers } of asked()) {
    assert.equal(headers.authorization, `Bearer ${chatgpts}`);
    assert.equal(headers['chatgpt-account-id'], account);
  }
  assert.equal(asked().length, 2);
  socket.close();
  // A connection that brings no credential is asked for nobody.
  const without = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { 'x-culvert-key': testKey },
  });
  await once(without, 'open');
  without.send(JSON.stringify({ type: 'response.create', model: 'gpt', input: 'Hello', store: false }));
  const [message] = (await once(without, 'message')) as [Buffer];
  assert.match(String(message), /x-culvert-key.*Authorization/);
  assert.equal(asked().length, 2);
  without.close();
});

test("the operator's credential answers where the model lists it, and no caller's goes there", async () => {
  await anthropic(null).messages.create({ ...question, model: 'either' });
  assert.deepEqual(
    asked().map(({ headers }) => headers['x-api-key'] ?? headers.authorization),
    ['operators-secret'],
  );
  upstream.clear();
  upstream.script(`/v1/messages ${annes}`, ['status=429;code=rate_limit_error']);
  const { response } = await anthropic(annes)
    .messages.create({ ...question, model: 'either' })
    .withResponse();
  assert.equal(response.headers.get('x-culvert-provider'), 'house');
  const [own, operators] = asked();
  assert.equal(own!.headers.authorization, `Bearer ${annes}`);
  assert.equal(operators!.headers['x-api-key'], 'operators-secret');
  assert.equal(operators!.headers.authorization, undefined);
  assert.notEqual(operators!.headers['user-agent'], 'claude-cli/2.0.1 (external, cli)');
});

test('batches, realtime sessions and copies for a comparison cannot use it', async () => {
  const client = new OpenAI({ apiKey: testKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const body = { model: 'claude', messages: question.messages };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
  const file = await client.files.create({ file: new File([line], 'lines.jsonl'), purpose: 'batch' });
  const { id } = await client.batches.create({
    ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' as const },
  });
  let errorFile: string | undefined;
  await until('the batch has ended', async () => {
    const batch = await client.batches.retrieve(id);
    errorFile = batch.error_file_id;
    return batch.status === 'completed';
  });
  assert.match(await (await client.files.content(errorFile!)).text(), /credential.*Batches/);

  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=gpt`, {
    headers: { authorization: `Bearer ${chatgpts}`, 'x-culvert-key': testKey },
  });
  const [, response] = await once(socket, 'unexpected-response');
  assert.equal(response.statusCode, 400);
  let refusal = '';
  for await (const chunk of response) refusal += String(chunk);
  assert.match(refusal, /realtime/);

  const shadowed = await gateway.fetch('/v1/messages', {
    json: { ...question, model: 'shadowed' },
    headers: { authorization: `Bearer ${annes}`, 'x-culvert-key': testKey },
  });
  assert.equal(shadowed.status, 200);
  await shadowed.arrayBuffer();
  assert.ok(asked().every(({ headers }) => headers['x-api-key'] === 'operators-secret'));
});

test('no credential of a caller is in logs, traces, records or any file', async () => {
  await until('spans have come', () => receiver.spans().length > 5);
  const secrets = [annes, bertas, claras, chatgpts, account, 'sk-ant-api03-of-anne'];
  const files = readdirSync(gateway.dataDir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(gateway.dataDir, name))
    .filter((path) => statSync(path).isFile());
  assert.ok(files.length > 0 && lines.length > 1_000);
  const spans = JSON.stringify(receiver.spans());
  for (const secret of secrets) {
    assert.ok(!lines.includes(secret), `in the log: ${secret}`);
    assert.ok(!spans.includes(secret), `in a span: ${secret}`);
    for (const path of files) assert.ok(!readFileSync(path).includes(secret), `${path}: ${secret}`);
  }
});

test('the configuration says what excludes it', () => {
  const problemsOf = (provider: string) => {
    const checked = checkConfigText(`providers:\n  p: ${provider}\n`, 'culvert.yaml', {});
    return checked.ok ? [] : checked.errors.map(({ message }) => message);
  };
  assert.deepEqual(problemsOf('{ type: anthropic, caller_credential: true }'), []);
  assert.match(problemsOf('{ type: gemini, caller_credential: true }').join(), /only types anthropic and openai/);
  for (const more of ['api_key: abc', 'passthrough: true', 'object_apis: [evals]', 'headers: { X-Api-Key: abc }']) {
    const [message = ''] = problemsOf(`{ type: anthropic, caller_credential: true, ${more} }`);
    assert.match(message, /caller_credential excludes/, more);
  }
  const shared = `{ type: anthropic, caller_credential: true }\nmodels:\n  m: { targets: [p/m], cache: { ttl: 5m, scope: all } }`;
  assert.match(problemsOf(shared).join(), /must be key/);
});
