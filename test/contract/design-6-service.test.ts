import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { otherKey, overUpstreams, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { asked, chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway, upstream } = await serve({ server: { cors_origins: ['https://app.example'] } });

interface Explained {
  id: string;
  client_request_id: string | null;
  model: string;
  target: string | null;
  status: number;
  class: string;
  units: number;
  user: string | null;
  route: { attempts: { target: string; class: string }[]; verdicts: { target: string; verdict: string }[] };
}

test('`GET /v1/requests/{id}` takes our id or the caller\'s: "the caller\'s own request with its route explanation"', async () => {
  const sent = await gateway.fetch(chatPath, {
    json: { ...hello, user: 'person-7' },
    headers: { 'x-request-id': 'mine-1' },
  });
  await sent.text();
  const id = sent.headers.get('x-culvert-request-id');
  for (const by of [id, 'mine-1']) {
    const response = await gateway.fetch(`/v1/requests/${by}`);
    assert.equal(response.status, 200);
    const told = (await response.json()) as Explained;
    assert.deepEqual(
      [told.id, told.client_request_id, told.model, told.target, told.status, told.class, told.units, told.user],
      [id, 'mine-1', 'chat', 'up1/mock/ok', 200, 'ok', 1, 'person-7'],
    );
    assert.deepEqual(
      told.route.attempts.map((attempt) => [attempt.target, attempt.class]),
      [['up1/mock/ok', 'ok']],
    );
    assert.ok(told.route.verdicts.length > 0);
    assert.ok(!JSON.stringify(told).includes('upstream-secret'));
  }
});

test('`GET /v1/requests/{id}` "within the account": another account gets the 404 of an id that never was', async () => {
  const sent = await gateway.fetch(chatPath, { json: hello, headers: { 'x-request-id': 'mine-2' } });
  await sent.text();
  const messages = new Set<string>();
  for (const by of [sent.headers.get('x-culvert-request-id')!, 'mine-2', 'never']) {
    const response = await gateway.fetch(`/v1/requests/${by}`, { headers: { authorization: `Bearer ${otherKey}` } });
    assert.equal(response.status, 404);
    messages.add(((await response.json()) as ErrorBody).error.message.replace(by, 'ID'));
  }
  assert.equal(messages.size, 1);
});

test('"a repeated caller\'s id never joins two requests": the newest is found, both by our id', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    const sent = await gateway.fetch(chatPath, { json: hello, headers: { 'x-request-id': 'twice' } });
    await sent.text();
    ids.push(sent.headers.get('x-culvert-request-id')!);
  }
  const found = (await (await gateway.fetch('/v1/requests/twice')).json()) as Explained;
  assert.equal(found.id, ids[1]);
  assert.equal(((await (await gateway.fetch(`/v1/requests/${ids[0]}`)).json()) as Explained).id, ids[0]);
});

test('a failed request is explained too: every attempt with its class, and nothing charged', async () => {
  upstream.script(chatPath, ['9x status=500']);
  const sent = await gateway.fetch(chatPath, { json: hello });
  upstream.clear();
  assert.equal(sent.status, 502);
  const found = (await (
    await gateway.fetch(`/v1/requests/${sent.headers.get('x-culvert-request-id')}`)
  ).json()) as Explained;
  assert.deepEqual([found.status, found.class, found.units, found.target], [502, 'upstreams-failed', 0, null]);
  assert.ok(found.route.attempts.length >= 1);
});

for (const id of ['%', '%zz', '..', '%2e%2e', "' OR 1=1 --", 'x'.repeat(600), '%00', '%F0%9F%91%8B', '*']) {
  test(`an odd request id is 404: ${id.slice(0, 20)}`, async () => {
    const response = await gateway.fetch(`/v1/requests/${id}`);
    assert.equal(response.status, 404);
  });
}

test('`GET /healthz` (alive) is 200 whatever the upstreams do', async () => {
  assert.deepEqual(await (await fetch(`${gateway.url}/healthz`)).json(), { status: 'ok' });
});

test('`/readyz` (can serve): 503 when no target is healthy, and says which check fails', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const single = await startGateway(t, overUpstreams(one.url));
  const ready = async () => {
    const response = await fetch(`${single.url}/readyz`);
    return { code: response.status, ...((await response.json()) as { checks: Record<string, boolean> }) };
  };
  assert.equal((await ready()).code, 200);
  one.script(chatPath, ['always status=429;retry-after=60']);
  await (await single.fetch(chatPath, { json: hello })).text();
  await workersKnow();
  const down = await ready();
  assert.equal(down.code, 503);
  assert.deepEqual(down.checks, { accepting: true, stores: true, targets: false });
});

test('`/readyz` is 503 while a store cannot be reached, and whoever could enter still can', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  // Each worker finds it by its own look.
  const single = await startGateway(t, { ...overUpstreams(one.url), server: { processes: 1 } });
  const database = new DatabaseSync(join(single.dataDir, 'culvert.db'));
  database.exec('ALTER TABLE store_version RENAME TO away');
  const storesReady = async () =>
    ((await (await fetch(`${single.url}/readyz`)).json()) as { checks: { stores: boolean } }).checks.stores;
  while (await storesReady()) await pause(50);
  assert.equal((await fetch(`${single.url}/readyz`)).status, 503);
  assert.equal((await single.fetch(chatPath, { json: hello })).status, 200);
  database.exec('ALTER TABLE away RENAME TO store_version');
  database.close();
  while (!(await storesReady())) await pause(50);
});

test('`/readyz` is 503 while the server finishes its streams, and those go on', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  // It is told when to end; of several processes the primary is (test/processes/processes.long.test.ts).
  const single = await startGateway(t, { ...overUpstreams(one.url), server: { processes: 1 } });
  one.script(chatPath, ['chunks=10;interval=60ms']);
  const stream = await single.fetch(chatPath, { json: { ...hello, stream: true } });
  const closing = single.close(5_000);
  const response = await fetch(`${single.url}/readyz`);
  assert.equal(response.status, 503);
  assert.equal(((await response.json()) as { checks: { accepting: boolean } }).checks.accepting, false);
  assert.ok((await stream.text()).endsWith('data: [DONE]\n\n'));
  await closing;
});

test('HEAD is answered as GET is, without the body, and as strictly', async () => {
  for (const path of ['/healthz', '/readyz', '/v1/models', '/v1/models/chat', '/v1/models/none']) {
    const [head, get] = [await gateway.fetch(path, { method: 'HEAD' }), await gateway.fetch(path)];
    assert.equal(head.status, get.status, path);
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
    assert.equal(await head.text(), '');
    await get.text();
  }
  assert.equal((await fetch(`${gateway.url}/v1/models`, { method: 'HEAD' })).status, 401);
  const refused = await gateway.fetch('/v1/models', { method: 'DELETE' });
  assert.equal(refused.headers.get('allow'), 'GET, HEAD');
  await refused.text();
});

test('CORS: an origin that is named may call from a browser, preflight without a key', async () => {
  const origin = 'https://app.example';
  const preflight = await fetch(gateway.url + chatPath, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/);
  for (const init of [{ json: hello }, { json: { ...hello, model: 'none' } }, { json: { ...hello, stream: true } }]) {
    const response = await gateway.fetch(chatPath, { ...init, headers: { origin } });
    await response.text();
    assert.equal(response.headers.get('access-control-allow-origin'), origin);
    assert.equal(response.headers.get('vary'), 'origin');
    assert.match(response.headers.get('x-culvert-request-id') ?? '', /^req_/);
  }
});

test('CORS: another origin gets no permission, and none is given "unless `server.cors_origins` names origins"', async (t) => {
  const closed = await startGateway(t, overUpstreams(upstream.url));
  for (const [url, origin] of [
    [gateway.url, 'https://evil.example'],
    [gateway.url, 'https://app.example.evil.example'],
    [gateway.url, 'null'],
    [closed.url, 'https://app.example'],
  ] as const) {
    const response = await fetch(`${url}/v1/models`, { headers: { origin, authorization: `Bearer ${testKey}` } });
    assert.equal(response.headers.get('access-control-allow-origin'), null, origin);
    const preflight = await fetch(url + chatPath, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.headers.get('access-control-allow-origin'), null, origin);
    assert.equal(preflight.status, 403);
    assert.match(await preflight.text(), /server\.cors_origins does not name it/);
  }
});

test('a refused request leaves no charge, and its record says so', async () => {
  upstream.clear();
  const refused = await gateway.fetch(chatPath, { json: { ...hello, n: 0 } });
  assert.equal(refused.status, 400);
  const record = await gateway.fetch(`/v1/requests/${refused.headers.get('x-culvert-request-id')}`);
  const { units, usage } = (await record.json()) as { units: number; usage: { source: string } };
  assert.deepEqual([units, usage.source], [0, 'refused']);
  assert.deepEqual(asked(upstream), []);
});
