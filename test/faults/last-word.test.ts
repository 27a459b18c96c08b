import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { overUpstreams, startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { closedPlace } from './dead-places.ts';
import { explained } from './read-answer.ts';

const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const chatPath = '/v1/chat/completions';

interface ErrorBody {
  error: { message: string; type: string; code: number };
}

test('F1 every provider dead: 502 in less than a second, naming each, nothing charged', async (t) => {
  const gateway = await startGateway(t, overUpstreams(await closedPlace(), await closedPlace()));
  const startedMs = performance.now();
  const response = await gateway.fetch(chatPath, { json: hello });
  const { error } = (await response.json()) as ErrorBody;
  assertWithin(performance.now() - startedMs, 1_000);
  assert.equal(response.status, 502);
  assert.equal(error.type, 'upstream_error');
  assert.match(error.message, /up1: .*refused.*up2: .*refused/);
  assert.doesNotMatch(error.message, /127\.0\.0\.1|upstream-secret/);
  assert.equal(response.headers.get('x-should-retry'), 'true');
  assert.equal(response.headers.get('retry-after'), '1');
  const record = await explained(gateway, response);
  assert.equal(record.status, 502);
  assert.equal(record.units, 0);
  assert.equal(record.usage.output_tokens, 0);
});

for (const [form, spec] of [
  ['seconds', 'retry-after=20'],
  // Dates have no fractions of a second: the wait may be told a second less.
  ['a date', 'retry-after-date=20s'],
  ['milliseconds', 'retry-after-ms=20000'],
] as const) {
  test(`F10 every target rate-limited with Retry-After in ${form}: 429 with that wait, and no storm`, async (t) => {
    const { gateway, upstreams } = await overTwo(t);
    for (const upstream of upstreams) upstream.script('*', [`always status=429;${spec}`]);
    for (let request = 0; request < 10; request++) {
      const response = await gateway.fetch(chatPath, { json: hello });
      const { error } = (await response.json()) as ErrorBody;
      assert.equal(response.status, 429);
      assert.equal(error.type, 'rate_limit_error');
      assert.equal(response.headers.get('x-culvert-limited-by'), 'upstream');
      const retryAfterS = Number(response.headers.get('retry-after'));
      // As long as the machine takes for ten requests, and no longer than promised.
      assert.ok(retryAfterS >= 10 && retryAfterS <= 20, `Retry-After: ${retryAfterS}`);
      if (request === 0) await workersKnow();
    }
    // The first request asked each once; the nine others knew.
    assert.deepEqual(upstreams.map(chats), [1, 1]);
  });
}

test('F10 one target rate-limited: the next answers, and the cooling one is left alone until its time', async (t) => {
  const { gateway, upstreams } = await overTwo(t);
  upstreams[0]?.script(chatPath, ['status=429;retry-after=20']);
  for (let request = 0; request < 10; request++) {
    const response = await gateway.fetch(chatPath, { json: hello });
    assert.equal(response.headers.get('x-culvert-provider'), 'up2');
    await response.text();
    if (request === 0) await workersKnow();
  }
  assert.deepEqual(upstreams.map(chats), [1, 10]);
});

test('a caller fault passes through with the provider named: no retry, breaker untouched, no secret', async (t) => {
  const { gateway, upstreams } = await overTwo(t);
  upstreams[0]?.script(chatPath, ['9x status=400;echo-auth;message=temperature%20must%20be%20lower']);
  for (let request = 0; request < 9; request++) {
    const response = await gateway.fetch(chatPath, { json: hello });
    const { error } = (await response.json()) as ErrorBody;
    assert.equal(response.status, 400);
    assert.equal(error.type, 'invalid_request_error');
    assert.match(error.message, /^up1: .*temperature must be lower/);
    assert.doesNotMatch(error.message, /upstream-secret/);
    assert.equal(response.headers.get('x-should-retry'), 'false');
  }
  const healthy = await gateway.fetch(chatPath, { json: hello });
  assert.equal(healthy.headers.get('x-culvert-provider'), 'up1', 'nine caller faults say nothing against it');
  assert.deepEqual(upstreams.map(chats), [10, 0]);
});

test('a 400 from an Anthropic target is asked once more of one that reads the request as it came', async (t) => {
  const { gateway, upstreams } = await overTwo(t, 'anthropic');
  upstreams[0]?.script('*', ['always status=400']);
  const response = await gateway.fetch(chatPath, { json: hello });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-provider'), 'up2');

  upstreams[1]?.script('*', ['always status=400;message=the%20second%20one']);
  const refused = await gateway.fetch(chatPath, { json: hello });
  assert.equal(refused.status, 400);
  assert.match(((await refused.json()) as ErrorBody).error.message, /^up1: /, 'the first one is the answer');
  assert.deepEqual(upstreams.map(chats), [2, 2]);
});

test('x-culvert-no-fallback: the first failure is the answer', async (t) => {
  const { gateway, upstreams } = await overTwo(t);
  upstreams[0]?.script('*', ['always status=500']);
  const response = await gateway.fetch(chatPath, { json: hello, headers: { 'x-culvert-no-fallback': '1' } });
  assert.equal(response.status, 502);
  assert.deepEqual(upstreams.map(chats), [1, 0]);
});

test('x-culvert-timeout-ms ends everything, a target that hangs too: 502', async (t) => {
  const { gateway, upstreams } = await overTwo(t);
  for (const upstream of upstreams) upstream.script('*', ['always hang']);
  const startedMs = performance.now();
  const response = await gateway.fetch(chatPath, { json: hello, headers: { 'x-culvert-timeout-ms': '300' } });
  assert.equal(response.status, 502);
  assertWithin(performance.now() - startedMs, 1_000);
  assert.equal((await explained(gateway, response)).route.attempts[0]?.class, 'deadline');
});

function chats(upstream: Upstream): number {
  return upstream.requests().filter(({ method }) => method === 'POST').length;
}

async function overTwo(t: TestContext, firstType: 'openai' | 'anthropic' = 'openai') {
  const upstreams = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all(upstreams.map((upstream) => upstream.close())));
  const config = overUpstreams(...upstreams.map(({ url }) => url)) as { providers: Record<string, { type: string }> };
  config.providers.up1!.type = firstType;
  return { gateway: await startGateway(t, config), upstreams };
}
