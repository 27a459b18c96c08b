import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport, UpstreamRequest } from '../../upstream/transport/upstream-call.ts';
import { catalog, providersInEnvironment, providerTypes } from './catalog.ts';
import { encodeCountTokens, encodeGet, encodeUpstream } from './encode.ts';
import { type ConnectionFacts, createConnection, type ProviderConnection } from './provider-connection.ts';
import { anthropic } from './services/anthropic.ts';
import { azureOpenAi } from './services/azure-openai.ts';
import { gemini } from './services/gemini.ts';
import { ollama } from './services/ollama.ts';
import { openai } from './services/openai.ts';
import { sagemaker } from './services/sagemaker.ts';
import { vertex } from './services/vertex.ts';

function connect(facts: Partial<ConnectionFacts>): ProviderConnection {
  const result = createConnection({
    name: 'p',
    provider: openai,
    baseUrl: null,
    secrets: ['sk-one'],
    headers: {},
    apiVersion: null,
    ...facts,
  });
  if (!result.ok) assert.fail(result.message);
  return result.connection;
}

function refusal(facts: Partial<ConnectionFacts>): string {
  const result = createConnection({
    name: 'p',
    provider: openai,
    baseUrl: null,
    secrets: [],
    headers: {},
    apiVersion: null,
    ...facts,
  });
  if (result.ok) assert.fail('expected a refusal');
  return result.message;
}

const call = { credential: 'p#0', model: 'gpt-4o', answer: 'whole', callerHeaders: {} } as const;

function headersOf(flat: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) {
    assert.equal(headers[flat[i]!], undefined, `${flat[i]} stands twice`);
    headers[flat[i]!] = flat[i + 1]!;
  }
  return headers;
}

test('a credential that needs an authorizer gives it to every request that it carries', () => {
  const connection = connect({ authorizerOf: (secret) => () => ['authorization', `Proof ${secret}`] });
  const request = { origin: connection.origin, path: '/', method: 'GET' } as UpstreamRequest;
  for (const address of [
    encodeUpstream(connection, call),
    encodeGet(connection, '/v1/models'),
    encodeCountTokens(connection, call.credential, 'openai-responses', {}, 'm'),
  ]) {
    assert.deepEqual(address?.authorize?.(request, {} as Transport), ['authorization', 'Proof sk-one']);
  }
});

test('a chat call goes to the documented address with the credential that was picked', () => {
  const connection = connect({ secrets: ['sk-one', ' sk-two\n'] });
  const address = encodeUpstream(connection, { ...call, credential: 'p#1' });
  assert.equal(address.origin, 'https://api.openai.com');
  assert.equal(address.path, '/v1/chat/completions');
  assert.deepEqual(headersOf(address.headers), {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'culvert',
    authorization: 'Bearer sk-two',
  });
  assert.equal(
    headersOf(encodeUpstream(connection, { ...call, answer: 'stream' }).headers).accept,
    'text/event-stream',
  );
  assert.equal(headersOf(encodeGet(connection, '/v1/models').headers)['content-type'], undefined);
});

test('a region chooses the hosts of Google and AWS', () => {
  const hostsOf = (provider: typeof vertex, region: string | null) => {
    const { origin, listOrigin } = connect({ provider, region, project: 'p' });
    return [origin, listOrigin].map((one) => one.replace('https://', ''));
  };
  for (const [region, host] of [
    [null, 'aiplatform.googleapis.com'],
    ['global', 'aiplatform.googleapis.com'],
    ['eu', 'aiplatform.eu.rep.googleapis.com'],
    ['us', 'aiplatform.us.rep.googleapis.com'],
    ['europe-west4', 'europe-west4-aiplatform.googleapis.com'],
  ] as const) {
    assert.deepEqual(hostsOf(vertex, region), [host, host], String(region));
  }
  for (const [region, domain] of [
    ['eu-central-1', 'amazonaws.com'],
    ['cn-north-1', 'amazonaws.com.cn'],
  ] as const) {
    const hosts = [`runtime.sagemaker.${region}.${domain}`, `api.sagemaker.${region}.${domain}`];
    assert.deepEqual(hostsOf(sagemaker, region), hosts);
  }
});

test('OpenAI speaks Responses as well; at an address of its own only what the configuration says', () => {
  const dialectsOf = (facts: Parameters<typeof connect>[0]) => connect(facts).dialects;
  assert.deepEqual(dialectsOf({}), ['openai-chat', 'openai-responses']);
  assert.deepEqual(dialectsOf({ baseUrl: 'http://eu.example/v1' }), ['openai-chat']);
  assert.deepEqual(dialectsOf({ baseUrl: 'http://eu.example/v1', dialects: ['openai-responses'] }), [
    'openai-responses',
  ]);
  assert.deepEqual(dialectsOf({ provider: anthropic, dialects: ['openai-responses'] }), ['anthropic-messages']);
  const connection = connect({ baseUrl: 'http://eu.example/v1', dialects: ['openai-chat', 'openai-responses'] });
  assert.equal(encodeUpstream(connection, { ...call, dialect: 'openai-responses' }).path, '/v1/responses');
  assert.equal(encodeUpstream(connection, { ...call, dialect: 'openai-chat' }).path, '/v1/chat/completions');
  assert.equal(
    encodeCountTokens(connection, call.credential, 'openai-responses', {}, 'm')?.path,
    '/v1/responses/input_tokens',
  );
  assert.equal(encodeCountTokens(connection, call.credential, 'openai-chat', {}, 'm'), null);
});

test('the header list is shared between requests, not rebuilt', () => {
  const connection = connect({});
  assert.equal(encodeUpstream(connection, call).headers, encodeUpstream(connection, call).headers);
});

test('Anthropic gets x-api-key, its version, and the operator’s betas joined with the caller’s', () => {
  const connection = connect({ provider: anthropic, headers: { 'Anthropic-Beta': 'a-2025' } });
  const headers = headersOf(
    encodeUpstream(connection, {
      ...call,
      callerHeaders: { 'anthropic-beta': 'b-2026', 'anthropic-version': '1999-01-01' },
    }).headers,
  );
  assert.equal(headers['x-api-key'], 'sk-one');
  assert.equal(headers['anthropic-version'], '2023-06-01');
  assert.equal(headers['anthropic-beta'], 'a-2025,b-2026');
  assert.equal(headers.authorization, undefined);
  assert.equal(
    headersOf(encodeUpstream(connection, call).headers)['anthropic-beta'],
    'a-2025',
    'a caller’s beta stays with its request',
  );
  const plain = connect({});
  assert.equal(
    headersOf(encodeUpstream(plain, { ...call, callerHeaders: { 'anthropic-beta': 'b' } }).headers)['anthropic-beta'],
    undefined,
  );
});

test('Azure: a deployment path with an API version, the v1 path without; a pasted /openai/v1 is not doubled', () => {
  const versioned = connect({
    provider: azureOpenAi,
    baseUrl: 'https://x.openai.azure.com/',
    apiVersion: '2026-05-01',
  });
  const address = encodeUpstream(versioned, { ...call, model: 'my gpt/4' });
  assert.equal(address.path, '/openai/deployments/my%20gpt%2F4/chat/completions?api-version=2026-05-01');
  assert.equal(headersOf(address.headers)['api-key'], 'sk-one');
  const v1 = connect({ provider: azureOpenAi, baseUrl: 'https://x.openai.azure.com/openai/v1/' });
  assert.equal(encodeUpstream(v1, call).path, '/openai/v1/chat/completions');
});

test('S2 a model name cannot leave the deployments’ path', () => {
  const connection = connect({ provider: azureOpenAi, baseUrl: 'https://x.openai.azure.com', apiVersion: '1' });
  for (const model of ['..', '.', '', '../../admin', '..%2f', 'a?b#c', '\ud800', 'a\r\nHost: evil']) {
    const { path } = encodeUpstream(connection, { ...call, model });
    assert.match(path, /^\/openai\/deployments\/[^/?#\s]+\/chat\/completions\?api-version=1$/);
    assert.equal(new URL(path, connection.origin).pathname.split('/').length, 6, model);
  }
});

test('Google: model and streaming stand in the path, the key in its own header', () => {
  const connection = connect({ provider: gemini });
  const whole = encodeUpstream(connection, { ...call, model: 'gemini-2.5-flash', answer: 'whole' });
  assert.equal(whole.origin, 'https://generativelanguage.googleapis.com');
  assert.equal(whole.path, '/v1beta/models/gemini-2.5-flash:generateContent');
  assert.equal(headersOf(whole.headers)['x-goog-api-key'], 'sk-one');
  assert.equal(headersOf(whole.headers).authorization, undefined);
  const streamed = encodeUpstream(connection, { ...call, model: 'tunedModels/mine', answer: 'stream' });
  assert.equal(streamed.path, '/v1beta/tunedModels/mine:streamGenerateContent?alt=sse');
  for (const baseUrl of ['https://gw.example', 'https://gw.example/v1beta/', 'https://gw.example/v1beta/openai']) {
    const encoded = encodeUpstream(connect({ provider: gemini, baseUrl }), {
      ...call,
      model: 'models/g',
      answer: 'whole',
    });
    assert.equal(encoded.path, '/v1beta/models/g:generateContent', baseUrl);
  }
  const alpha = connect({ provider: gemini, baseUrl: 'https://generativelanguage.googleapis.com/v1alpha' });
  assert.equal(
    encodeUpstream(alpha, { ...call, model: 'g', answer: 'whole' }).path,
    '/v1alpha/models/g:generateContent',
  );
});

test("S2 a model name cannot leave Google's models", () => {
  const connection = connect({ provider: gemini });
  for (const model of [
    '..',
    '',
    'models/..',
    'models/../../x',
    '..%2f',
    'a?b#c',
    '\ud800',
    'a\r\nHost: evil',
    'a:b?',
  ]) {
    const { path } = encodeUpstream(connection, { ...call, model, answer: 'whole' });
    assert.match(path, /^\/v1beta\/models\/[^/?#\s]+:generateContent$/);
    assert.equal(new URL(path, connection.origin).pathname.split('/').length, 4, model);
  }
});

test("an Anthropic base URL may be written as Anthropic's own SDK takes it, without /v1", () => {
  const bases = [
    'https://gw.example',
    'https://gw.example/v1',
    'https://gw.example/anthropic',
    'https://gw.example/v1/messages',
  ];
  const paths = bases.map((baseUrl) => {
    const made = createConnection({
      name: 'claude',
      provider: anthropic,
      baseUrl,
      secrets: ['x'],
      headers: {},
      apiVersion: null,
    });
    return made.ok ? made.connection.chatPath : made.message;
  });
  assert.deepEqual(paths, ['/v1/messages', '/v1/messages', '/anthropic/v1/messages', '/v1/messages']);
});

test('a local server may be written without its /v1, and needs no key', () => {
  const connection = connect({ provider: ollama, baseUrl: 'http://gpu-box:11434', secrets: [''] });
  const address = encodeUpstream(connection, call);
  assert.equal(address.origin + address.path, 'http://gpu-box:11434/v1/chat/completions');
  assert.equal(headersOf(address.headers).authorization, undefined);
  assert.equal(connect({ baseUrl: 'https://eu.example/api/v1/chat/completions' }).basePath, '/api/v1');
});

test('S2 of 200 header names of a caller only the listed ones reach the upstream', () => {
  const passing = ['x-session-id', 'x-session-affinity', 'x-grok-conv-id'];
  const traced = ['traceparent', 'tracestate'];
  const names = [
    'x-portkey-custom-host',
    'x-forwarded-host',
    'host',
    'authorization',
    'x-api-key',
    'api-key',
    'cookie',
    'openai-organization',
    'api_base',
    'x-upstream-url',
    'x-provider-url',
    'content-length',
    'transfer-encoding',
    'anthropic-version',
  ];
  for (let i = names.length; i < 200; i++)
    names.push(`x-${i}-${['host', 'url', 'provider-url', 'target', 'base'][i % 5]}`);
  const callerHeaders = Object.fromEntries([...names, ...traced, ...passing].map((name) => [name, 'evil.example']));
  const connection = connect({});
  const plain = encodeUpstream(connection, call);
  const address = encodeUpstream(connection, { ...call, callerHeaders });
  assert.equal(address.origin + address.path, plain.origin + plain.path);
  const passed = (headers: readonly string[]) => Object.keys(headersOf(headers)).slice(plain.headers.length / 2);
  assert.deepEqual(passed(address.headers), passing);
  const encoded = encodeUpstream({ ...connection, traced: true }, { ...call, callerHeaders });
  assert.deepEqual(passed(encoded.headers), [...traced, ...passing]);
});

test('S23 a caller’s value with CR, LF, NUL or beyond ASCII reaches no upstream header', () => {
  const connection = connect({ provider: anthropic });
  for (const value of ['a\r\nx-evil: 1', 'a\nb', 'a\0b', 'a\u0085b', 'ü', '\u2028', '', 'x'.repeat(3_000)]) {
    const { headers } = encodeUpstream(connection, {
      ...call,
      callerHeaders: { 'x-session-id': value, traceparent: value, 'anthropic-beta': value },
    });
    assert.deepEqual(headers, encodeUpstream(connection, call).headers);
  }
});

test('the operator’s headers win over the provider’s and over the caller’s', () => {
  const connection = connect({
    headers: { 'User-Agent': 'mine', Authorization: 'Bearer other', 'X-Session-Id': 'fixed' },
  });
  const headers = headersOf(
    encodeUpstream(connection, { ...call, callerHeaders: { 'x-session-id': 'caller' } }).headers,
  );
  assert.equal(headers['user-agent'], 'mine');
  assert.equal(headers.authorization, 'Bearer other');
  assert.equal(headers['x-session-id'], 'fixed');
});

test('what cannot be called is refused with a reason and without the secret', () => {
  assert.match(refusal({ provider: azureOpenAi }), /needs a base_url/);
  assert.match(refusal({ baseUrl: 'ftp://x' }), /https:\/\/ or http:\/\//);
  assert.match(refusal({ baseUrl: 'nonsense' }), /not a URL/);
  const withUser = refusal({ baseUrl: 'https://user:hunter2@x' });
  assert.match(withUser, /user or password/);
  assert.doesNotMatch(withUser, /hunter2/);
  assert.match(refusal({ baseUrl: 'https://x/?key=1' }), /\? or #/);
  const badKey = refusal({ secrets: ['sk-\r\nx'] });
  assert.match(badKey, /HTTP header cannot hold/);
  assert.doesNotMatch(badKey, /sk-/);
  assert.match(refusal({ headers: { Host: 'evil' } }), /host cannot be set/);
  assert.match(refusal({ headers: { 'x-a': 'a\r\nb' } }), /x-a has characters/);
  assert.match(refusal({ headers: { 'x a': 'b' } }), /not valid/);
});

test('a connection that is printed or spread does not tell its secrets', () => {
  const connection = connect({ secrets: ['sk-canary-1234'], headers: { 'x-token': 'canary-two' } });
  for (const secret of ['sk-canary-1234', 'canary-two']) assert.ok(connection.secrets.includes(secret));
  assert.doesNotMatch(JSON.stringify(connection) + JSON.stringify({ ...connection }), /canary/);
});

test('the catalog: ids are unique, addresses are https unless local, keys are named as people know them', () => {
  assert.equal(new Set(catalog.map((provider) => provider.id)).size, catalog.length);
  for (const provider of catalog) {
    assert.equal(providerTypes.get(provider.id), provider);
    if (provider.baseUrl === null) continue;
    const url = new URL(provider.baseUrl);
    assert.equal(url.protocol, provider.local ? 'http:' : 'https:', provider.id);
    assert.equal(provider.baseUrl.endsWith('/'), false);
    // A field both omitted and renamed would depend on the order of the two.
    for (const field of provider.quirks.omit)
      assert.equal(field in provider.quirks.rename, false, `${provider.id} ${field}`);
  }
  assert.equal(providerTypes.get('no-such'), undefined);
  assert.deepEqual(
    providersInEnvironment({ OPENAI_API_KEY: 'x', GROQ_API_KEY: ' ', ANTHROPIC_API_KEY: 'y' }).map(
      (provider) => provider.id,
    ),
    ['openai', 'anthropic'],
  );
});

test("a type's own address is that however it is written", () => {
  for (const baseUrl of ['https://api.openai.com/v1', 'https://API.openai.com/v1/chat/completions']) {
    const { dialects, batches, images } = connect({ baseUrl });
    assert.deepEqual(dialects, ['openai-chat', 'openai-responses'], baseUrl);
    assert.ok(batches, baseUrl);
    assert.equal(images, openai.images, baseUrl);
  }
  // As ANTHROPIC_BASE_URL and LiteLLM's `api_base` have it.
  assert.ok(connect({ provider: anthropic, baseUrl: 'https://api.anthropic.com' }).batches);
  assert.equal(connect({ provider: anthropic, baseUrl: 'https://proxy.example' }).batches, null);
});
