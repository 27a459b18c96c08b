import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerTo } from '../send-bytes.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { asked, chatPath, type ErrorBody, hello, serve } from './served.ts';

const suspendedKey = 'sk-cv-test-key-suspended';
const expiredKey = 'sk-cv-test-key-expired';
const { gateway, upstream } = await serve({
  accounts: { frozen: { status: 'suspended' } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
    { key: suspendedKey, account: 'frozen', name: 'test' },
    { key: expiredKey, account: 'dev', name: 'old', expires: '2020-01-01' },
  ],
});

/** Without the key that `gateway.fetch` would add. */
async function call(path: string, headers: Record<string, string>, method = 'POST') {
  const body = method === 'POST' ? JSON.stringify(hello) : null;
  const type = method === 'POST' ? { 'content-type': 'application/json' } : undefined;
  const response = await fetch(gateway.url + path, { method, body, headers: { ...type, ...headers } });
  const text = await response.text();
  return { status: response.status, error: (JSON.parse(text) as ErrorBody).error, headers: response.headers };
}

const endpoints = [
  ['POST', chatPath],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/chat'],
] as const;

for (const [method, path] of endpoints) {
  test(`§5.1 "Every request carries the account's API key": ${method} ${path}`, async () => {
    assert.equal((await call(path, {}, method)).status, 401);
    assert.equal((await call(path, { authorization: `Bearer ${testKey}` }, method)).status, 200);
  });

  test(`§5.2, §5.3, design §6: bearer, x-api-key and api-key, on every endpoint: ${method} ${path}`, async () => {
    for (const headers of [
      { authorization: `Bearer ${testKey}` },
      { authorization: `bearer ${testKey}` },
      { 'x-api-key': testKey },
      { 'api-key': testKey },
    ])
      assert.equal((await call(path, headers, method)).status, 200, JSON.stringify(headers));
  });
}

test('§5.1 "Keys begin with the prefix `sk-cv-`": no other value opens anything', async () => {
  const { status, error } = await call(chatPath, { authorization: 'Bearer sk-proj-somebody' });
  assert.equal(status, 401);
  assert.equal(error.type, 'authentication_error');
});

test('§5.5 "A missing … key returns 401", and says where one is expected', async () => {
  const { status, error, headers } = await call(chatPath, {});
  assert.deepEqual([status, error.type, error.code, error.param], [401, 'authentication_error', 401, null]);
  assert.match(error.message, /Authorization, as 'Bearer sk-cv-/);
  assert.equal(headers.get('www-authenticate'), 'Bearer');
  assert.equal(headers.get('x-should-retry'), 'false');
});

const invalidKeys = [
  { authorization: 'Bearer sk-cv-nobody' },
  { authorization: `Bearer ${testKey}x` },
  { authorization: `Bearer ${testKey.slice(0, -1)}` },
  { authorization: `Basic ${testKey}` },
  { authorization: testKey },
  { authorization: 'Bearer' },
  { 'x-api-key': testKey.toUpperCase() },
  { 'api-key': `sk-cv-${'x'.repeat(5_000)}` },
];
for (const headers of invalidKeys) {
  test(`§5.5 "A … invalid key returns 401": ${JSON.stringify(headers).slice(0, 60)}`, async () => {
    const { status, error } = await call(chatPath, headers);
    assert.equal(status, 401);
    assert.ok(!error.message.includes('test-key'), 'no part of a key stands in the answer');
  });
}

test('§5.5 an expired key is 401', async () => {
  const { status, error } = await call(chatPath, { authorization: `Bearer ${expiredKey}` });
  assert.equal(status, 401);
  assert.match(error.message, /expired/);
});

test('§5.5 "An inactive or unauthorized account returns 403"', async () => {
  for (const [method, path] of endpoints) {
    const { status, error } = await call(path, { authorization: `Bearer ${suspendedKey}` }, method);
    assert.deepEqual([status, error.type, error.code], [403, 'permission_error', 403]);
    assert.match(error.message, /suspended/);
  }
});

test('§5.7 "Provider credentials are never passed by callers": stray vendor keys beside ours are ignored', async () => {
  upstream.clear();
  const { status } = await call(chatPath, {
    authorization: 'Bearer sk-ant-stray',
    'x-api-key': testKey,
    'api-key': 'azure-stray',
  });
  assert.equal(status, 200);
  assert.ok(!JSON.stringify(asked(upstream)).includes('stray'));
});

test("Portkey's SDKs send the key in a header of theirs, which stays here", async () => {
  upstream.clear();
  const sent = {
    ...{ authorization: 'Bearer OPENAI_API_KEY', 'x-portkey-api-key': testKey, 'x-portkey-provider': '@openai' },
    ...{ 'x-portkey-metadata': '{"_user":"ada"}', 'x-portkey-strict-open-ai-compliance': 'false' },
  };
  for (const headers of [sent, { 'x-portkey-api-key': testKey }])
    assert.equal((await call(chatPath, headers)).status, 200);
  assert.doesNotMatch(JSON.stringify(asked(upstream)), /portkey|test-key|OPENAI_API_KEY/);
});

test('design §6: "two different candidates are 401", the same one twice is one', async () => {
  const two = await call(chatPath, { authorization: `Bearer ${testKey}`, 'x-api-key': otherKey });
  assert.equal(two.status, 401);
  assert.match(two.error.message, /two different/);
  assert.equal((await call(chatPath, { authorization: `Bearer ${testKey}`, 'x-api-key': testKey })).status, 200);
});

test('design §6: two different Authorization headers are two candidates, though node shows the first alone', async () => {
  const ask = (second: string) =>
    answerTo(
      gateway.url,
      `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\nAuthorization: ${second}\r\n\r\n`,
    );
  for (const second of [`Bearer ${otherKey}`, 'Bearer sk-cv-nobody', 'Basic x']) {
    const { status, text } = await ask(second);
    assert.equal(status, 401, second);
    assert.match(text, /"type":"authentication_error"/);
  }
  assert.equal((await ask(`Bearer ${testKey}`)).status, 200, 'some proxies double a header');
});

test('design §5: the admin key on /v1 is 403 naming `culvert keys create`, and opens /metrics', async () => {
  const { status, error } = await call(chatPath, { authorization: `Bearer ${adminKey}` });
  assert.equal(status, 403);
  assert.match(error.message, /culvert keys create/);
  const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } });
  assert.equal(metrics.status, 200);
  assert.equal((await call('/metrics', { authorization: `Bearer ${testKey}` }, 'GET')).status, 403);
  assert.equal((await call('/metrics', {}, 'GET')).status, 401);
});

test('design §6: admin key and user key together are two candidates: 401', async () => {
  const { status } = await call(chatPath, { authorization: `Bearer ${adminKey}`, 'x-api-key': testKey });
  assert.equal(status, 401);
});

test('design §6, order of refusal: key, account, then everything about the body', async () => {
  const oddities = { 'content-type': 'text/plain', 'x-culvert-timeout-ms': 'never' };
  assert.equal((await call(chatPath, oddities)).status, 401);
  assert.equal((await call(chatPath, { ...oddities, 'x-api-key': suspendedKey })).status, 403);
  assert.equal((await call(chatPath, { 'content-type': 'text/plain', 'x-api-key': testKey })).status, 415);
});

test('design §6, order of refusal: 400 for the body before 404 for the model, and that before a target is asked', async () => {
  upstream.clear();
  const ask = (json: object) => gateway.fetch(chatPath, { json: { ...hello, ...json } });
  assert.equal((await ask({ model: 'nope', stream: 'yes' })).status, 400);
  assert.equal((await ask({ model: 'nope' })).status, 404);
  assert.deepEqual(asked(upstream), []);
});

test('design §7, §17: a key taken out of the configuration opens nothing after the reload', async (t) => {
  const config = { keys: [{ key: testKey, account: 'dev', name: 'test' }] };
  const reloaded = await startGateway(t, config);
  assert.equal((await reloaded.fetch('/v1/models')).status, 200);
  await reloaded.reload({ keys: [{ key: otherKey, account: 'dev', name: 'test' }] });
  assert.equal((await reloaded.fetch('/v1/models')).status, 401);
});
