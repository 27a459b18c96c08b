import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway, upstream } = await serve({
  models: {
    dear: { targets: ['up1/mock/ok'], cost: 2.5 },
    silent: { targets: ['up1/mock/status=500'] },
  },
});

const ours = /^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const everyResponse: [path: string, init: Parameters<typeof gateway.fetch>[1]][] = [
  [chatPath, { json: hello }],
  [chatPath, { json: { ...hello, stream: true } }],
  [chatPath, { json: { ...hello, temperature: 'x' } }],
  [chatPath, {}],
  [chatPath, { headers: { authorization: 'Bearer nobody' } }],
  ['/v1/models', {}],
  ['/v1/models/chat', {}],
  ['/v1/models/none', {}],
  ['/v1/requests/none', {}],
  ['/healthz', {}],
  ['/readyz', {}],
  ['/metrics', {}],
  ['/', {}],
  ['/api/hello', { method: 'HEAD' }],
  ['/nowhere', {}],
];
for (const [path, init] of everyResponse) {
  const { json, ...rest } = init ?? {};
  test(`"Every response carries x-culvert-request-id and x-request-id/request-id": ${path} ${JSON.stringify(json ?? rest).slice(0, 60)}`, async () => {
    const response = await gateway.fetch(path, init);
    await response.text();
    const id = response.headers.get('x-culvert-request-id') ?? '';
    assert.match(id, ours);
    assert.equal(response.headers.get('x-request-id'), id);
    assert.equal(response.headers.get('request-id'), id);
  });
}

test('"(the caller\'s if it sent a sane one, else the same)"', async () => {
  for (const [sent, sane] of [
    ['trace-1.a:b_C', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['with space', false],
    ['<script>', false],
    ['', false],
    ['ümlaut', false],
  ] as const) {
    const response = await gateway.fetch('/v1/models', { headers: { 'x-request-id': encodeLatin1(sent) } });
    const own = response.headers.get('x-culvert-request-id');
    assert.match(own ?? '', ours, 'ours whatever the caller sends');
    assert.equal(response.headers.get('x-request-id'), sane ? sent : own, sent);
    assert.equal(response.headers.get('request-id'), sane ? sent : own, sent);
  }
});

test('answers say how long their connection is kept', async () => {
  for (const [path, init] of everyResponse) {
    const response = await gateway.fetch(path, init);
    await response.text();
    const isKept = response.headers.get('connection') === 'keep-alive';
    assert.equal(response.headers.get('keep-alive'), isKept ? 'timeout=75' : null, path);
  }
});

test('the request_id of an error body is ours', async () => {
  const response = await gateway.fetch(chatPath, { json: {}, headers: { 'x-request-id': 'mine' } });
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(error.request_id, response.headers.get('x-culvert-request-id'));
});

for (const stream of [false, true]) {
  test(`"Inference responses carry x-culvert-provider, -model, -attempts, -cost" (${stream ? 'stream' : 'whole'})`, async () => {
    const response = await gateway.fetch(chatPath, { json: { ...hello, model: 'dear', stream } });
    await response.text();
    const { headers } = response;
    assert.equal(headers.get('x-culvert-provider'), 'up1');
    assert.equal(headers.get('x-culvert-model'), 'mock/ok');
    assert.equal(headers.get('x-culvert-attempts'), '1');
    assert.equal(headers.get('x-culvert-cost'), '2.5');
    assert.equal(headers.get('x-culvert-dropped'), null);
    assert.equal(headers.get('x-culvert-simulated'), null);
  });
}

test('"when something was left out in conversion, `x-culvert-dropped: field, field`"', async (t) => {
  const messages = await startUpstream();
  t.after(() => messages.close());
  const converting = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `${messages.url}/v1`, api_key: 'sk-ant-x' } },
    models: { chat: { targets: ['claude/mock/ok'] } },
  });
  const json = { ...hello, seed: 7, logit_bias: { 5: 1 } };
  const response = await converting.fetch(chatPath, { json });
  await response.text();
  const dropped = (response.headers.get('x-culvert-dropped') ?? '').split(', ').sort();
  assert.deepEqual(dropped, ['logit_bias', 'seed']);
});

test('a refusal says how much was tried and that it cost nothing, as the books do', async () => {
  const response = await gateway.fetch(chatPath, { json: { ...hello, model: 'silent' } });
  await response.text();
  assert.equal(response.status, 502);
  assert.ok(Number(response.headers.get('x-culvert-attempts')) >= 1);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
});

test('"x-culvert-attempts" counts the failed ones too', async (t) => {
  const [one, two] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([one.close(), two.close()]));
  const pair = await startGateway(t, overUpstreams(one.url, two.url));
  one.script(chatPath, ['always status=500']);
  const response = await pair.fetch(chatPath, { json: hello });
  await response.text();
  assert.equal(response.headers.get('x-culvert-provider'), 'up2');
  assert.ok(Number(response.headers.get('x-culvert-attempts')) >= 2);
});

test('"x-culvert-no-fallback": the first target\'s failure is the answer', async (t) => {
  const [one, two] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([one.close(), two.close()]));
  const { providers } = overUpstreams(one.url, two.url);
  const models = { chat: { targets: ['up1/mock/ok'], fallbacks: ['other'] }, other: { targets: ['up2/mock/ok'] } };
  const pair = await startGateway(t, { providers, models });
  one.script(chatPath, ['always status=500']);
  const strict = await pair.fetch(chatPath, { json: hello, headers: { 'x-culvert-no-fallback': '1' } });
  assert.equal(strict.status, 502);
  assert.equal((await pair.fetch(chatPath, { json: hello })).status, 200);
  for (const word of ['no', 'False', '0', 'off']) {
    const headers = { 'x-culvert-no-fallback': word };
    assert.equal((await pair.fetch(chatPath, { json: hello, headers })).status, 200, word);
  }
});

test('design §5: a fallback may be what a pattern matches, and what * stood for carries over', async (t) => {
  const [one, two] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([one.close(), two.close()]));
  const { providers } = overUpstreams(one.url, two.url);
  const models = {
    chat: { targets: ['up1/mock/ok'], fallbacks: ['second-named'] },
    'first-*': { targets: ['up1/mock/ok'], fallbacks: ['second-*'] },
    'second-*': { targets: ['up2/m-*'] },
  };
  const pair = await startGateway(t, { providers, models });
  one.script(chatPath, ['always status=500']);
  for (const [model, upstreamModel] of [
    ['chat', 'm-named'],
    ['first-$&', 'm-$&'],
  ]) {
    const response = await pair.fetch(chatPath, { json: { ...hello, model } });
    assert.equal(response.status, 200, model);
    assert.equal(response.headers.get('x-culvert-model'), upstreamModel);
  }
});

test('"x-culvert-timeout-ms" is an overall deadline: 502 when it passes', async () => {
  upstream.script(chatPath, ['always hang']);
  const response = await gateway.fetch(chatPath, { json: hello, headers: { 'x-culvert-timeout-ms': '80' } });
  upstream.clear();
  assert.equal(response.status, 502);
  assert.equal(((await response.json()) as ErrorBody).error.type, 'upstream_error');
});

for (const value of ['0', '-1', 'soon', '1.5', '1e3x', '', '86400001', 'NaN', '0x10']) {
  test(`x-culvert-timeout-ms: ${JSON.stringify(value)} is 400 naming the header`, async () => {
    const response = await gateway.fetch(chatPath, { json: hello, headers: { 'x-culvert-timeout-ms': value } });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as ErrorBody).error.param, 'x-culvert-timeout-ms');
  });
}

/** Bytes of fetch for characters beyond ASCII. */
function encodeLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
