import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startReplicas } from '../faults/replicas.ts';
import { adminKey, type TestGateway, testKey, testProcesses } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { ask, type Format, formats, type Question } from './formats.ts';

/* Two gateways over one PostgreSQL and one Redis share their answers, and the death of a part costs an answer at most. */

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;
const every = Object.keys(formats) as Format[];
const path = '/v1/chat/completions';

async function started(t: TestContext) {
  const redis = await startRedis(t);
  const replicas = await startReplicas(t, 2, {
    ...{ postgres: postgres!, redis },
    models: {
      chat: { targets: [{ provider: 'up1', model: 'mock/ok' }], cache: { ttl: '1h', scope: 'account' }, attempts: 1 },
    },
  });
  const { upstream, urls } = replicas;
  const [one, two] = urls.map((url) => (format: Format, question: Question) => ask(over(url), format, question));
  const asked = () => upstream.requests().filter(({ method }) => method === 'POST').length;
  return { redis, ...replicas, one: one!, two: two!, asked };
}

/** What `ask` needs of a gateway. */
function over(url: string): TestGateway {
  const own = (at: string, { json, headers, ...init }: RequestInit & { json?: unknown } = {}) =>
    fetch(url + at, {
      ...init,
      method: 'POST',
      body: JSON.stringify(json),
      headers: { 'content-type': 'application/json', ...(headers as object) },
    });
  return { key: testKey, fetch: own } as unknown as TestGateway;
}

/** Until each of `count` equal requests at this gateway has asked the upstream, as one of each process does, or waits. */
async function come(url: string, asked: () => number, count: number): Promise<void> {
  await until(`${count} ask or wait`, async () => {
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } });
    const [, waiting] = (await metrics.text()).match(/^culvert_cache_waiting_requests (\d+)$/m) ?? [];
    return Number(waiting) + asked() === count;
  });
}

test('an answer that one gateway keeps is a hit at the other, in every format, until its key is revoked', {
  skip,
}, async (t) => {
  const { urls, one, two } = await started(t);
  for (const stream of [false, true]) {
    const text = `shared ${stream}`;
    const first = await one('messages', { text, stream });
    assert.equal(first.cache, 'miss', first.body);
    await until('the answer is kept', async () => (await two('chat', { text })).cache === 'hit');
    for (const format of every) {
      for (const streamed of [false, true]) {
        // Under load a look may take longer than the 20 ms that it has.
        await until(`${format} ${streamed} hits`, async () => {
          const hit = await two(format, { text, stream: streamed });
          return hit.cache === 'hit' && hit.text === first.text;
        });
      }
    }
  }
  const admin = async (method: string, at: string, body?: object) => {
    const response = await fetch(`${urls[0]}/admin/v1${at}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${at} ${response.status}`);
    return (await response.json().catch(() => ({}))) as { id: string; key: string };
  };
  await admin('POST', '/accounts', { id: 'acme' });
  const gone = await admin('POST', '/keys', { account: 'acme', name: 'gone' });
  const stays = await admin('POST', '/keys', { account: 'acme', name: 'stays' });
  const text = 'of a key';
  await until('the key is known', async () => (await two('chat', { text, key: gone.key })).status === 200);
  const headers = { 'x-culvert-cache': 'only' };
  const others = async () => (await one('chat', { text, key: stays.key, headers })).status;
  await until('the other hits', async () => (await others()) === 200);
  await admin('DELETE', `/keys/${gone.id}`);
  await until('the key is refused', async () => (await two('chat', { text, key: gone.key, headers })).status === 401);
  for (let n = 0; n < 5; n += 1) assert.equal(await others(), 504);
});

test('kill -9 of the gateway that asks for all leaves no part of an answer, and the other one asks anew', {
  skip,
}, async (t) => {
  const { all, urls, upstream, one, two, asked } = await started(t);
  upstream.script(path, Array(testProcesses + 1).fill('tokens=40;interval=100ms'));
  const text = 'killed';
  const callers = [true, true, false].map((stream) => one('chat', { text, stream }).catch(() => null));
  await come(urls[0]!, asked, callers.length);
  const askedByOne = asked();
  const beside = two('messages', { text, stream: true });
  await until('both ask', () => asked() === askedByOne + 1);
  all[0]!.process.kill('SIGKILL');
  for (const caller of callers) assert.ok(!(await caller)?.body.includes('[DONE]'));
  const whole = await beside;
  assert.deepEqual([whole.status, whole.cache], [200, 'miss']);
  const kept = await two('chat', { text });
  assert.deepEqual([kept.cache, kept.text], ['hit', whole.text], kept.body);
  assert.equal(asked(), askedByOne + 1);
});

test('kill -9 of Redis while many wait for one answer: who asked gets it, and the others are told to come again', {
  skip,
}, async (t) => {
  const { redis, urls, upstream, one, two, asked } = await started(t);
  await one('chat', { text: 'warm' });
  upstream.clear();
  upstream.script(path, Array(testProcesses).fill('delay=2s'));
  const text = 'redis dies';
  const callers = Array.from({ length: 20 }, (_, n) => one(every[n % 4]!, { text, stream: n % 8 > 3 }));
  await come(urls[0]!, asked, callers.length);
  await redis.kill();
  const answers = await Promise.all(callers);
  const passed = answers.filter(({ status }) => status === 200);
  assert.ok(passed.length >= asked(), answers.map(({ status }) => status).join());
  for (const { text: said } of passed) assert.equal(said, passed[0]!.text);
  // The others' share of the limits is counted in Redis, and nobody passes uncounted.
  for (const { status, body } of answers)
    if (status !== 200) assert.match(`${status} ${body}`, /^503 .*(?:retry|again)/s);
  assert.ok(asked() <= testProcesses, `${asked()} asked`);
  await redis.restart();
  await until('requests pass again', async () => (await one('chat', { text: 'back' })).status === 200);
  await until('the other hits', async () => (await two('chat', { text: 'back' })).cache === 'hit');
});
