import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import { writeFailure } from '../../src/http/delivery.ts';
import { readJsonBody } from '../../src/http/read-body.ts';
import type { Failure, QuotaExceeded } from '../../src/kernel/failure.ts';
import { fakeClock } from '../fake-clock.ts';
import { rawExchange } from '../raw-exchange.ts';
import { answerTo } from '../send-bytes.ts';
import { otherKey, overUpstreams, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startBareServer } from './bare-server.ts';
import { asked, chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway, upstream } = await serve();

async function failed(response: Response) {
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, error, headers: response.headers };
}

const statuses: [what: string, expected: number, type: string, send: () => Promise<Response>][] = [
  ['401', 401, 'authentication_error', () => fetch(gateway.url + chatPath, { method: 'POST' })],
  ['unknown model', 404, 'not_found_error', () => gateway.fetch(chatPath, { json: { ...hello, model: 'x' } })],
  ['unknown path', 404, 'not_found_error', () => gateway.fetch('/v1/nothing')],
  ['wrong method', 405, 'invalid_request_error', () => gateway.fetch(chatPath)],
  ['wrong body', 400, 'invalid_request_error', () => gateway.fetch(chatPath, { json: { ...hello, stream: 'yes' } })],
  [
    'wrong content type',
    415,
    'invalid_request_error',
    () => gateway.fetch(chatPath, { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }),
  ],
];
for (const [what, expected, type, send] of statuses) {
  test(`§7 error body: message is a string, type ${type}, code the integer ${expected} (${what})`, async () => {
    const { status, error, headers } = await failed(await send());
    assert.equal(status, expected);
    assert.equal(error.type, type);
    assert.strictEqual(error.code, expected);
    assert.ok(error.message.length > 10);
    assert.ok('param' in error);
    assert.equal(error.request_id, headers.get('x-culvert-request-id'));
    assert.equal(headers.get('content-type'), 'application/json');
    assert.equal(headers.get('x-should-retry'), 'false', 'final 4xx');
    assert.equal(headers.get('retry-after'), null);
  });
}

test('§7, design §6: 405 says which methods there are', async () => {
  const { error, headers } = await failed(await gateway.fetch(chatPath));
  assert.equal(headers.get('allow'), 'POST');
  assert.match(error.message, /use POST/);
});

test('§7 "502: All upstream providers failed; the gateway already retried automatically", without secrets', async (t) => {
  const [one, two] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([one.close(), two.close()]));
  const pair = await startGateway(t, overUpstreams(one.url, two.url));
  one.script(chatPath, ['always status=500;message=boom']);
  two.script(chatPath, ['always reset']);
  const { status, error, headers } = await failed(await pair.fetch(chatPath, { json: hello }));
  assert.equal(status, 502);
  assert.deepEqual([error.type, error.code], ['upstream_error', 502]);
  assert.match(error.message, /up1: .*500.*; up2: /s);
  assert.ok(!error.message.includes('upstream-secret'));
  assert.ok(!error.message.includes(one.url.slice(7)));
  assert.ok(asked(one).length >= 1 && asked(two).length >= 1);
  assert.deepEqual([headers.get('x-should-retry'), headers.get('retry-after')], ['true', '1']);
});

test('design §6: every target is limited upstream: 429 in its words, marked as the provider’s; Retry-After is exact', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const single = await startGateway(t, overUpstreams(one.url));
  one.script(chatPath, ['always status=429;retry-after=40;message=slow%20down']);
  await (await single.fetch(chatPath, { json: hello })).text();
  await workersKnow();
  const before = asked(one).length;
  const { status, error, headers } = await failed(await single.fetch(chatPath, { json: hello }));
  assert.deepEqual([status, error.type, error.code], [429, 'rate_limit_error', 429]);
  assert.equal(asked(one).length, before, 'nothing could be tried');
  assert.equal(headers.get('x-culvert-limited-by'), 'upstream');
  assert.equal(headers.get('x-culvert-cost'), '0');
  assert.match(error.message, /up1: answered 429: slow down/);
  const stranger = await single.fetch(chatPath, { json: hello, headers: { authorization: `Bearer ${otherKey}` } });
  const told = await failed(stranger);
  assert.deepEqual([told.status, /slow down/.test(told.error.message)], [429, false], 'what was said to another key');
  const afterS = Number(headers.get('retry-after'));
  assert.ok(afterS >= 38 && afterS <= 41, `${afterS}`);
  const afterMs = Number(headers.get('retry-after-ms'));
  assert.ok(Math.ceil(afterMs / 1_000) === afterS);
});

test('an upstream’s 429 that lasts above 120 s tells the instant and no Retry-After, which would hang clients', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const single = await startGateway(t, overUpstreams(one.url));
  one.script(chatPath, ['always status=429;retry-after=200']);
  const limitedMs = performance.now();
  await (await single.fetch(chatPath, { json: hello })).text();
  const { status, error, headers } = await failed(await single.fetch(chatPath, { json: hello }));
  assert.deepEqual([status, error.type], [429, 'rate_limit_error']);
  assert.match(error.message, /Try again in \d+s/);
  assert.deepEqual([headers.get('retry-after'), headers.get('retry-after-ms')], [null, null]);
  assert.equal(headers.get('x-should-retry'), 'false');
  const waitMs = Date.parse(headers.get('x-culvert-retry-at') ?? '') - Date.now();
  const leastMs = 199_000 - (performance.now() - limitedMs);
  assert.ok(waitMs >= leastMs && waitMs <= 201_000, `${waitMs}, of ${leastMs}`);
});

const quota = (freeInMs: number): Failure => ({
  kind: 'quota-exceeded',
  limit: '5h',
  window: '5h',
  used: 50,
  allowed: 50,
  freeAtMs: 1_750_000_000_000 + freeInMs,
  message: 'Rate limit exceeded: 5-hour window, 50 of 50 requests used.',
});

test('§7 "429: Rate limit exceeded; the body says which window was exceeded", and the used/allowed counts', async (t) => {
  const bare = await startBareServer(t, { admit: () => quota(30_400), clock: fakeClock() });
  const { status, error, headers } = await failed(await fetch(bare.url + chatPath, { method: 'POST' }));
  assert.deepEqual([status, error.type, error.code], [429, 'rate_limit_error', 429]);
  assert.match(error.message, /5-hour window, 50 of 50/);
  const { window, used, allowed, resets_at, retry_after_ms } = error as unknown as Record<string, unknown>;
  assert.deepEqual([window, used, allowed, retry_after_ms], ['5h', 50, 50, 30_400]);
  assert.equal(resets_at, new Date(1_750_000_030_400).toISOString());
  assert.deepEqual([headers.get('retry-after'), headers.get('retry-after-ms')], ['31', '30400']);
  assert.equal(bare.handled(), 0);
});

test('design §6: a wait above 120 s is told by x-culvert-retry-at, without a Retry-After that hangs clients', async (t) => {
  const bare = await startBareServer(t, { admit: () => quota(120_001), clock: fakeClock() });
  const { headers } = await failed(await fetch(bare.url + chatPath, { method: 'POST' }));
  assert.equal(headers.get('retry-after'), null);
  assert.equal(headers.get('retry-after-ms'), null);
  assert.equal(headers.get('x-should-retry'), 'false');
  assert.equal(headers.get('x-culvert-retry-at'), new Date(1_750_000_120_001).toISOString());
});

test('design §6: a limit that no instant frees carries no Retry-After, one of concurrency asks for another try', async (t) => {
  const endless: Failure = { ...(quota(0) as QuotaExceeded), freeAtMs: null };
  const never = await startBareServer(t, { admit: () => endless });
  const { error, headers } = await failed(await fetch(never.url + chatPath, { method: 'POST' }));
  const { resets_at, retry_after_ms } = error as unknown as Record<string, unknown>;
  assert.deepEqual([resets_at, retry_after_ms], [null, null]);
  assert.deepEqual([headers.get('retry-after'), headers.get('x-should-retry')], [null, 'false']);
  assert.equal(headers.get('x-culvert-retry-at'), null);
  const places: Failure = { ...endless, limit: 'concurrency', window: null };
  const busy = await startBareServer(t, { admit: () => places });
  const full = await failed(await fetch(busy.url + chatPath, { method: 'POST' }));
  assert.deepEqual([full.headers.get('retry-after'), full.headers.get('x-should-retry')], ['1', 'true']);
});

test('design §6: an error of our own is that one 500, its words stay inside, the server lives (F56)', async (t) => {
  let calls = 0;
  const bare = await startBareServer(t, {
    handle(exchange) {
      calls++;
      if (calls === 1) throw new Error('secret detail');
      exchange.response.end('fine');
    },
  });
  const { status, error, headers } = await failed(await fetch(bare.url + chatPath, { method: 'POST' }));
  assert.deepEqual([status, error.type, error.code], [500, 'api_error', 500]);
  assert.equal(headers.get('ratelimit-policy'), '"minute";q=60;w=60', 'it was let in, so it tells the limits');
  assert.ok(!JSON.stringify(error).includes('secret detail'));
  assert.equal(bare.unexpected.length, 1);
  assert.equal((await fetch(bare.url + chatPath, { method: 'POST' })).status, 200);
});

test('design §6: a body that stops coming is 408 after 60 s, and the connection closes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const bare = await startBareServer(t, {
    async handle(exchange) {
      const reading = readJsonBody(exchange, 1_000_000);
      // A body may come in the turn of its head, without a timer.
      await setImmediate();
      t.mock.timers.tick(60_000);
      const body = await reading;
      assert.ok(body !== null && !Buffer.isBuffer(body));
      writeFailure(exchange, body as Failure, openAiChat, 0);
    },
  });
  const response = fetch(bare.url + chatPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"model":')) }),
    duplex: 'half',
  });
  const { status, error, headers } = await failed(await response);
  assert.deepEqual([status, error.type, error.code], [408, 'invalid_request_error', 408]);
  assert.equal(headers.get('connection'), 'close');
});

test("design §6: an upstream's caller fault passes through with its status, code and message, the provider named", async () => {
  upstream.script(chatPath, ['4x status=400;message=max_tokens is too large;code=bad']);
  const { status, error, headers } = await failed(await gateway.fetch(chatPath, { json: hello }));
  upstream.clear();
  assert.deepEqual([status, error.type, error.code as unknown], [400, 'invalid_request_error', 'bad']);
  assert.match(error.message, /^up1: .*max_tokens is too large/);
  assert.equal(headers.get('x-should-retry'), 'false');
});

test('design §6: 413, declared before a byte is read, and counted when it is chunked', async (t) => {
  const small = await startGateway(t, { ...overUpstreams(upstream.url), server: { body_limit: '1kb' } });
  const declared = await failed(await small.fetch(chatPath, { json: { ...hello, pad: 'x'.repeat(2_000) } }));
  assert.deepEqual([declared.status, declared.error.type, declared.error.code], [413, 'request_too_large', 413]);
  const head = `POST ${chatPath} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${testKey}\r\n`;
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
  const answer = await answerTo(small.url, `${head}transfer-encoding: chunked\r\n\r\n${chunk}${chunk}`);
  assert.equal(answer.status, 413);
});

test('design §6: headers above 16 KB are 431, in the same body shape', async () => {
  const answer = await rawExchange({
    url: gateway.url,
    path: '/v1/models',
    method: 'GET',
    headers: { 'x-big': 'x'.repeat(20_000) },
  });
  assert.equal(answer.status, 431);
  const { error } = JSON.parse(answer.body.toString()) as ErrorBody;
  assert.deepEqual([error.type, error.code], ['invalid_request_error', 431]);
  assert.match(error.request_id, /^req_/);
  assert.match(answer.head, new RegExp(`x-culvert-request-id: ${error.request_id}`, 'i'));
});

test('design §6: a WebSocket upgrade is 426, naming what to use', async () => {
  const answer = await rawExchange({
    url: gateway.url,
    path: '/v1/models',
    method: 'GET',
    headers: { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x', 'sec-websocket-version': '13' },
  });
  assert.equal(answer.status, 426);
  assert.match(answer.head, /\r\nupgrade: /i);
  const { error } = JSON.parse(answer.body.toString()) as ErrorBody;
  assert.deepEqual([error.type, error.code], ['invalid_request_error', 426]);
});

test('an offer of HTTP/2 over plain text (Java sends one) is no WebSocket: answered in HTTP/1.1', async () => {
  const answer = await rawExchange({
    url: gateway.url,
    path: chatPath,
    headers: {
      authorization: `Bearer ${testKey}`,
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAEAAEAAAAIAAAAB',
    },
    body: hello,
  });
  assert.equal(answer.status, 200);
});
