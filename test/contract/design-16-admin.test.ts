import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../admin/open-admin.ts';
import { adminKey, otherKey, testKey } from '../start-gateway.ts';
import { asked, chatPath, hello, serve } from './served.ts';

const { gateway, upstream } = await serve({
  server: { trusted_proxies: ['127.0.0.1'] },
  plans: { tiny: { windows: { '5h': 2 } } },
});

async function admin(method: string, path: string, body?: unknown, key = adminKey): Promise<Answer> {
  const response = await gateway.fetch(`/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as Answer;
  return { status: response.status, ...json };
}

async function chat(key: string, headers: Record<string, string> = {}, json: object = hello): Promise<Response> {
  return gateway.fetch(chatPath, { json, headers: { authorization: `Bearer ${key}`, ...headers } });
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const answer = await response;
  await answer.text();
  return answer.status;
}

async function account(id: string, plan?: string): Promise<string> {
  await admin('POST', '/accounts', { id, ...(plan === undefined ? {} : { plan }) });
  return (await admin('POST', '/keys', { account: id, name: 'main' })).key;
}

test('§7 a key made through the admin API works from its answer on, and is refused from its revocation on', async () => {
  await admin('POST', '/accounts', { id: 'acme' });
  const made = await admin('POST', '/keys', { account: 'acme', name: 'main' });
  assert.equal(made.status, 'active');
  assert.equal(await statusOf(chat(made.key)), 200);
  const next = await admin('POST', `/keys/${made.id}/rotate`, { grace: '1h' });
  assert.deepEqual([await statusOf(chat(made.key)), await statusOf(chat(next.key))], [200, 200]);
  await admin('POST', `/keys/${made.id}/revoke`);
  assert.deepEqual([await statusOf(chat(made.key)), await statusOf(chat(next.key))], [401, 401]);
});

test('F53 a key revoked while its stream runs: the stream completes, new calls are 401', async () => {
  await admin('POST', '/accounts', { id: 'streaming' });
  const made = await admin('POST', '/keys', { account: 'streaming', name: 'main' });
  upstream.script(chatPath, ['tokens=12;interval=30ms']);
  const stream = await chat(made.key, {}, { ...hello, stream: true });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader !== undefined);
  let text = (await reader.read()).value ?? '';
  await admin('POST', `/keys/${made.id}/revoke`);
  assert.equal(await statusOf(chat(made.key)), 401);
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  assert.match(text, /data: \[DONE\]/);
});

test('§7 a suspended account is 403 at once', async () => {
  const key = await account('frozen');
  await admin('PATCH', '/accounts/frozen', { status: 'suspended' });
  assert.equal(await statusOf(chat(key)), 403);
});

test('a key bound to addresses is 403 from others, whoever the trusted proxy names', async () => {
  await admin('POST', '/accounts', { id: 'office' });
  const { key } = await admin('POST', '/keys', { account: 'office', name: 'main', ips: ['198.51.100.0/24'] });
  assert.equal(await statusOf(chat(key, { 'x-forwarded-for': '198.51.100.7' })), 200);
  assert.equal(await statusOf(chat(key, { 'x-forwarded-for': '198.51.100.7, 203.0.113.1' })), 403);
  const refused = await chat(key);
  assert.equal(refused.status, 403);
  assert.match(((await refused.json()) as Answer).error.message, /address 127\.0\.0\.1/);
});

test('a plan made through the admin API limits from its answer on, and a change of it at once', async () => {
  await admin('PUT', '/plans/two', { windows: { '5h': 2 } });
  const key = await account('limited', 'two');
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push(await statusOf(chat(key)));
  assert.deepEqual(statuses, [200, 200, 429]);
  await admin('PUT', '/plans/two', { windows: { '5h': 3 } });
  assert.equal(await statusOf(chat(key)), 200);
  assert.equal(await statusOf(chat(key)), 429);
  await admin('PATCH', '/accounts/limited', { plan: 'default' });
  assert.equal(await statusOf(chat(key)), 200);
  const usage = await admin('GET', '/usage?account=limited&group_by=model');
  assert.deepEqual([usage.data[0].group, usage.windows['5h'].used], ['chat', 4]);
});

test("S10 another account's request is 404, by our id and the caller's, and the admin sees whose it is", async () => {
  const response = await chat(testKey, { 'x-request-id': 'mine-of-dev' });
  await response.text();
  const id = response.headers.get('x-culvert-request-id') ?? '';
  const as = (key: string, of: string) =>
    statusOf(gateway.fetch(`/v1/requests/${of}`, { headers: { authorization: `Bearer ${key}` } }));
  assert.deepEqual([await as(testKey, id), await as(otherKey, id), await as(otherKey, 'mine-of-dev')], [200, 404, 404]);
  const shown = await admin('GET', `/requests/${id}`);
  assert.deepEqual([shown.account, shown.tenant, shown.status], ['dev', 'dev/test', 200]);
});

test('S7 a user key is 403 below /admin/v1 and changes nothing', async () => {
  upstream.clear();
  for (const route of gateway.routes.filter(({ path }) => path.startsWith('/admin'))) {
    const path = route.path.replace('*', 'keys').replace('/admin/v1', '');
    const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : { account: 'dev', name: 'stolen' };
    assert.equal((await admin(route.method, path, body, testKey)).error.code, 403, `${route.method} ${path}`);
  }
  const { data } = await admin('GET', '/keys?account=dev');
  assert.deepEqual(
    data.map(({ name }: { name: string }) => name),
    ['test'],
  );
  assert.equal(asked(upstream).length, 0);
});

test('every change is in the audit trail with what was before and after', async () => {
  await admin('POST', '/accounts', { id: 'audited' });
  await admin('PATCH', '/accounts/audited', { plan: 'tiny' });
  const [last] = (await admin('GET', '/audit?limit=1')).data;
  assert.deepEqual(
    [last.actor, last.action, last.before.plan, last.after.plan],
    ['admin', 'account.update', 'default', 'tiny'],
  );
});
