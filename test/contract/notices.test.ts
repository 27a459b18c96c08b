import assert from 'node:assert/strict';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { NoticesReply } from '../../src/admin/notices.ts';
import {
  createNoticeDelivery,
  type DeliveryParts,
  retryGapsMs,
} from '../../src/books/metering/notices/notice-delivery.ts';
import type { Notice } from '../../src/books/metering/notices/notice-store.ts';
import type { Plan } from '../../src/books/metering/plan.ts';
import type { PlanBook } from '../../src/books/metering/plan-book.ts';
import { createWebhookPost } from '../../src/upstream/transport/post-webhook.ts';
import { environmentProxies } from '../../src/upstream/transport/proxy.ts';
import { createTransport } from '../../src/upstream/transport/send.ts';
import { fakeClock } from '../fake-clock.ts';
import { listening } from '../listening.ts';
import { memoryNoticeStore } from '../memory-notice-store.ts';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

const secret = 'a secret of thirty-two bytes or more';

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A receiver of webhooks; `answer` by the number of the request, from 0. */
async function startReceiver(t: TestContext, answer: (response: ServerResponse, number: number) => void) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: String(Buffer.concat(chunks)) });
      answer(response, received.length - 1);
    });
  });
  const url = await listening(t, server);
  return { url: `${url}/hook`, received };
}

const status = (code: number) => (response: ServerResponse) => void response.writeHead(code).end();

/** As the Standard Webhooks specification describes it, written apart from the tested code. */
function verify({ headers, body }: Received, key: Buffer): void {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  const [version, signature] = String(headers['webhook-signature']).split(',');
  assert.equal(version, 'v1');
  assert(timingSafeEqual(Buffer.from(signature ?? '', 'base64'), expected));
}

const transport = createTransport();
after(() => transport.destroy());
const postWebhook = createWebhookPost(transport);

function book(webhook: string, signWith = secret): PlanBook {
  const plan = { name: 'pro', notify: { shares: [0.8], webhook, secret: signWith } } as unknown as Plan;
  const has = (name: string) => name === 'pro';
  return { plan: () => plan, has, all: () => [], namesGuards: false, limits: () => assert.fail('not asked') };
}

/** Delivers the queue over real HTTP, as time moves. */
async function setUp(webhook: string, parts: Partial<DeliveryParts> & { secret?: string } = {}) {
  const store = memoryNoticeStore();
  const clock = fakeClock();
  const troubles: string[] = [];
  const plans = () => book(webhook, parts.secret);
  const onTrouble = (message: string) => troubles.push(message);
  const none = () => assert.fail('no alert, no statement');
  const send = { alerts: none, statement: none };
  const make = () => createNoticeDelivery({ store, plans, clock, post: postWebhook, send, onTrouble, ...parts });
  const queue = (id: string) => {
    const notice: Notice = { id, plan: 'pro', body: `{"id":"${id}"}`, createdMs: clock.wallMs(), tries: 0 };
    return store.cross({ scope: 'a:dev', limit: id, share: 0.8, crossedMs: clock.wallMs() }, notice);
  };
  return { store, clock, troubles, make, delivery: make(), queue };
}

test('a notice is posted once, signed as Standard Webhooks has it', async (t) => {
  const { url, received } = await startReceiver(t, status(204));
  const { store, clock, delivery, queue } = await setUp(url);
  await queue('msg_1');
  await delivery.look();
  await delivery.look();
  assert.equal(received.length, 1);
  const { headers, body, path } = received[0]!;
  assert.equal(path, '/hook');
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['webhook-id'], 'msg_1');
  assert.equal(headers['webhook-timestamp'], String(Math.floor(clock.wallMs() / 1_000)));
  assert.equal(body, '{"id":"msg_1"}');
  verify(received[0]!, Buffer.from(secret));
  assert.deepEqual(store.queued(), []);
});

test('a whsec_ secret signs with the bytes that it stands for', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const key = Buffer.alloc(24, 7);
  const { delivery, queue } = await setUp(url, { secret: `whsec_${key.toString('base64')}` });
  await queue('msg_1');
  await delivery.look();
  verify(received[0]!, key);
});

test('S9 with an empty or short secret nothing is signed and nothing is posted', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  for (const short of ['', 'x'.repeat(31), `whsec_${Buffer.alloc(8).toString('base64')}`]) {
    const { delivery, queue, store } = await setUp(url, { secret: short });
    await queue('msg_1');
    await delivery.look();
    assert.equal(store.queued()[0]?.tries, 1);
  }
  assert.equal(received.length, 0);
});

test('a receiver that fails is tried eight times in an hour, with one id and a new signature, then given up', async (t) => {
  const { url, received } = await startReceiver(t, status(500));
  const { store, clock, delivery, queue, troubles } = await setUp(url);
  await queue('msg_1');
  await delivery.look();
  for (const [i, gapMs] of retryGapsMs.entries()) {
    clock.advance(gapMs - 1);
    await delivery.look();
    assert.equal(received.length, i + 1, `not before ${gapMs} ms`);
    clock.advance(1);
    await delivery.look();
    assert.equal(received.length, i + 2);
  }
  assert.equal(received.length, 8);
  const hoursMs = retryGapsMs.reduce((sum, gapMs) => sum + gapMs, 0);
  assert(hoursMs > 55 * 60_000 && hoursMs <= 60 * 60_000, `${hoursMs} ms`);
  for (const each of received) verify(each, Buffer.from(secret));
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-signature'])).size, 8);
  assert.deepEqual(store.queued(), []);
  assert.equal(troubles.length, 2, 'the first failure, and the end');
  assert.match(troubles[0]!, /^notices of plan pro do not arrive, and are tried again: 127\.0\.0\.1:\d+ answered 500$/);
  assert.match(troubles[1]!, /msg_1 .*given up after 8 tries: 127\.0\.0\.1:\d+ answered 500$/);
});

test('a receiver that recovers gets it then, and not again', async (t) => {
  const { url, received } = await startReceiver(t, (response, number) => status(number < 2 ? 503 : 200)(response));
  const { store, clock, delivery, queue, troubles } = await setUp(url);
  await queue('msg_1');
  for (let i = 0; i < 6; i++) {
    await delivery.look();
    clock.advance(120_000);
  }
  assert.equal(received.length, 3);
  assert.deepEqual(store.queued(), []);
  assert.deepEqual(
    troubles.map((told) => told.replace(/:.*/, '')),
    ['notices of plan pro do not arrive, and are tried again', 'notices of plan pro arrive again'],
  );
});

test('a redirect is not followed and is no receipt', async (t) => {
  const elsewhere = await startReceiver(t, status(200));
  const { url, received } = await startReceiver(t, (response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  );
  const { store, delivery, queue } = await setUp(url);
  await queue('msg_1');
  await delivery.look();
  assert.deepEqual([received.length, elsewhere.received.length, store.queued()[0]?.tries], [1, 0, 1]);
});

test('a webhook out of this machine is posted through the proxy of the environment', async (t) => {
  const proxy = await startReceiver(t, status(204));
  const proxied = createTransport({ proxyOf: environmentProxies({ HTTP_PROXY: proxy.url }) });
  t.after(() => proxied.destroy());
  const { store, delivery, queue } = await setUp('http://hooks.test/quota?of=us', { post: createWebhookPost(proxied) });
  await queue('msg_1');
  await delivery.look();
  assert.deepEqual([proxy.received[0]?.path, store.queued()], ['http://hooks.test/quota?of=us', []]);
});

test('a receiver that never answers, hangs up or is not there counts as a failed try', async (t) => {
  const silent = await startReceiver(t, () => undefined);
  const rude = await startReceiver(t, (response) => response.socket?.destroy());
  for (const webhook of [silent.url, rude.url, 'http://127.0.0.1:1/']) {
    // The wait is cut short here; its value in service is tested below.
    let askedMs = 0;
    const { store, delivery, queue } = await setUp(webhook, {
      post(url, headers, body, timeoutMs) {
        askedMs = timeoutMs;
        return postWebhook(url, headers, body, 50);
      },
    });
    await queue('msg_1');
    await delivery.look();
    assert.deepEqual([askedMs, store.queued()[0]?.tries], [10_000, 1], webhook);
  }
});

test('an endless answer is not read to its end', async (t) => {
  const { url } = await startReceiver(t, (response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    };
    response.on('drain', more);
    more();
  });
  const { store, delivery, queue } = await setUp(url);
  await queue('msg_1');
  await delivery.look();
  assert.deepEqual(store.queued(), []);
});

test('two processes over one store post once; what a dead one had taken comes when its lease is over', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const { store, clock, delivery, make, queue } = await setUp(url);
  await Promise.all(Array.from({ length: 20 }, (_, i) => queue(`msg_${i}`)));
  const other = make();
  await Promise.all([delivery.look(), other.look(), delivery.look()]);
  while (store.queued().length > 0) await Promise.all([delivery.look(), other.look()]);
  assert.equal(received.length, 20);
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 20);

  await queue('msg_lost');
  await store.due(clock.wallMs(), clock.wallMs() + 30_000, 1);
  await delivery.look();
  assert.equal(received.length, 20);
  clock.advance(30_000);
  await delivery.look();
  assert.equal(received.at(-1)?.headers['webhook-id'], 'msg_lost');
});

test('a notice that is queued while the queue is being read goes out without a further look', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const { store, delivery, queue } = await setUp(url);
  const due = store.due;
  store.due = async (...args) => {
    store.due = due;
    const found = await due(...args);
    await queue('msg_1');
    void delivery.look();
    return found;
  };
  await delivery.look();
  assert.deepEqual([received.length, store.queued()], [1, []]);
});

test('at most four tries of a receiver are under way at a time, and all come through', async (t) => {
  let running = 0;
  let most = 0;
  const { url, received } = await startReceiver(t, status(200));
  const { store, delivery, queue } = await setUp(url, {
    async post(...request) {
      most = Math.max(most, ++running);
      try {
        return await postWebhook(...request);
      } finally {
        running--;
      }
    },
  });
  await Promise.all(Array.from({ length: 50 }, (_, i) => queue(`msg_${i}`)));
  await delivery.look();
  while (store.queued().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([received.length, most], [50, 4]);
});

test('a notice of a plan that has no webhook any more is dropped with a word to the operator', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const gone: PlanBook = { ...book(url), has: () => false };
  const { store, delivery, queue, troubles } = await setUp(url, { plans: () => gone });
  await queue('msg_1');
  await delivery.look();
  assert.deepEqual([received.length, store.queued()], [0, []]);
  assert.match(troubles.join(), /msg_1 was dropped/);
});

test('the path of a webhook is not shown when it is given up', async () => {
  const { clock, delivery, queue, troubles } = await setUp('http://127.0.0.1:1/secret-path?token=abc');
  await queue('msg_1');
  for (const gapMs of [0, ...retryGapsMs]) {
    clock.advance(gapMs);
    await delivery.look();
  }
  assert.equal(troubles.length, 2);
  assert.doesNotMatch(troubles.join(), /secret-path|token/);
});

test('a plan with notify tells its webhook as callers use up a window, across a restart, once', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    ...overUpstreams(upstream.url),
    plans: { default: { rpm: 'off', windows: { '5h': 10, week: 1_000 }, notify: { webhook: url, secret } } },
    storage: { data_dir: temporaryFolder(t) },
  };
  const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const told = () => received.map(({ body }) => JSON.parse(body).data.share);
  const served = await startGateway(t, config);
  for (let i = 0; i < 8; i++) await (await served.fetch('/v1/chat/completions', { json: hello })).text();
  while (received.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await served.close(1_000);
  const again = await startGateway(t, config);
  for (let i = 0; i < 3; i++) await (await again.fetch('/v1/chat/completions', { json: hello })).text();
  while (received.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(told().sort(), [0.8, 0.95, 1]);
  for (const each of received) verify(each, Buffer.from(secret));
  const { type, data } = JSON.parse(received[0]!.body);
  assert.equal(type, 'quota.threshold');
  const { resets_at, ...rest } = data;
  assert.ok(Date.parse(resets_at) > Date.now());
  assert.deepEqual(rest, {
    account: 'dev',
    plan: 'default',
    limit: '5h',
    window: '5h',
    share: 0.8,
    used: 8,
    allowed: 10,
  });
});

test('the answer that uses up the budget of an end user is reported, since nothing comes after it', async (t) => {
  const { url, received } = await startReceiver(t, status(200));
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const price = { input: 1_000, output: 1_000 };
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    models: { chat: { targets: [{ provider: 'up1', model: 'mock/ok', price }] } },
    plans: {
      default: { rpm: 'off', windows: 'off', budget: { month: 1_000 }, notify: { at: [1], webhook: url, secret } },
    },
    accounts: { dev: { budgets: [{ by: 'user', usd: 0.001, window: 'month' }] } },
  });
  const ask = async (user: string) => {
    const json = { model: 'chat', user, messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    await answer.text();
    return answer.status;
  };
  const users = ['ada', 'bob'];
  assert.deepEqual(await Promise.all(users.map(ask)), [200, 200]);
  assert.deepEqual(await Promise.all(users.map(ask)), [429, 429]);
  const reported = () => received.map(({ body }) => JSON.parse(body).data.user).toSorted();
  await until('both are reported', () => received.length === users.length, 5_000);
  assert.deepEqual(reported(), users);
});

test('the history says what became of a notice, to operators who may see its account', async (t) => {
  const { url } = await startReceiver(t, (response, number) => void response.writeHead(number === 0 ? 500 : 204).end());
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    plans: { default: { rpm: 'off', windows: { '5h': 10 }, notify: { at: [0.1, 0.2], webhook: url, secret } } },
  });
  const admin = async (
    method: string,
    path: string,
    { key = adminKey, json }: { key?: string; json?: object } = {},
  ) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = json === undefined ? null : JSON.stringify(json);
    const answer = await fetch(`${gateway.url}/admin/v1/${path}`, { method, headers, body });
    assert.ok(answer.ok, await answer.clone().text());
    return answer.json();
  };
  const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const ask = async () => (await gateway.fetch('/v1/chat/completions', { json: hello })).text();
  const listed = async (key?: string) =>
    ((await admin('GET', 'notices', { ...(key && { key }) })) as NoticesReply).data;
  await ask();
  await until('the first try has failed', async () => (await listed())[0]?.tries === 1);
  const [waiting] = await listed();
  assert.deepEqual([waiting!.kind, waiting!.receiver, waiting!.state], ['quota', 'default', 'waiting']);
  assert.equal(waiting!.reason, `${new URL(url).host} answered 500`);
  assert.ok(Date.parse(waiting!.next_try_at!) > Date.parse(waiting!.created_at));
  assert.equal(waiting!.subject, 'The account dev used 10% of 5h.');
  await ask();
  await until('the second one arrived', async () => (await listed())[0]?.state === 'delivered');
  const [delivered, still] = await listed();
  assert.deepEqual([delivered!.tries, delivered!.reason, delivered!.next_try_at], [1, null, null]);
  assert.equal(still!.id, waiting!.id);

  await admin('POST', 'accounts', { json: { id: 'elsewhere', plan: 'default' } });
  const first = (await admin('GET', 'notices?limit=1')) as NoticesReply;
  const next = `notices?limit=1&cursor=${encodeURIComponent(first.next_cursor ?? '')}`;
  const second = (await admin('GET', next)) as NoticesReply;
  const pages = [first, second].map(({ data }) => data.map(({ id }) => id));
  assert.deepEqual(pages, [[delivered!.id], [still!.id]]);
  assert.equal(second.next_cursor, null);
  const operator = (name: string, accounts: string[]) =>
    admin('POST', 'operators', { json: { name, role: 'viewer', accounts } }) as Promise<{ key: string }>;
  assert.deepEqual(await listed((await operator('away', ['elsewhere'])).key), []);
  assert.equal((await listed((await operator('here', ['dev', 'elsewhere'])).key)).length, 2);
  const wrong = await fetch(`${gateway.url}/admin/v1/notices?cursor=bm8`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /cursor: expected the next_cursor of an earlier response/);
});

test('an alert goes out at once while a hundred notices to a receiver that hangs wait', async (t) => {
  const { url, received } = await startReceiver(t, () => undefined);
  const alerts: string[] = [];
  const send: DeliveryParts['send'] = {
    async alerts(receiver) {
      alerts.push(receiver);
      return 'sent';
    },
    statement: () => assert.fail('no statement'),
  };
  const { store, clock, delivery, queue } = await setUp(url, { send });
  for (let at = 0; at < 100; at++) await queue(`msg_${at}`);
  void delivery.look();
  await until('its notices are under way', () => received.length >= 4);
  const body = '{"id":"msg_alert"}';
  const late = { id: 'msg_alert', plan: 'alert ops', body, createdMs: clock.wallMs() + 1, tries: 0 };
  clock.advance(1);
  await store.cross({ scope: 'alerts', limit: 'ops', share: 1, crossedMs: clock.wallMs() }, late);
  void delivery.look();
  await until('the alert is sent', () => alerts.length === 1);
  assert.ok(received.length <= 4, `${received.length} notices hang`);
  await delivery.stop();
});
