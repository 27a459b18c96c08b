import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { linesPerSecond, recordsPerHour } from '../../src/books/metering/refusals.ts';
import { headerBytesMax } from '../../src/kernel/limits.ts';
import { answerTo } from '../send-bytes.ts';
import { adminKey, otherKey, overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

const chatPath = '/v1/chat/completions';
const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const asAdmin = { authorization: `Bearer ${adminKey}` };

interface Line {
  msg: string;
  requestId: string;
  status: number;
  class: string;
  requests: Record<string, number>;
}

/** A gateway whose account `other` may ask once, with its log. */
async function setup(t: Parameters<typeof startGateway>[0]) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const over = overUpstreams(upstream.url) as { models: Record<string, object> };
  const logged = new PassThrough();
  const lines: Line[] = [];
  logged.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line) as Line);
  });
  const gateway = await startGateway(
    t,
    {
      ...over,
      models: { ...over.models, costly: over.models.chat },
      server: { body_limit: '2kb' },
      plans: {
        default: { windows: 'off', rpm: 'off', models: ['chat'] },
        tight: { windows: { '5h': 1 }, rpm: 'off' },
      },
      accounts: { other: { plan: 'tight' } },
    },
    { log: pino({ level: 'info' }, logged) },
  );
  await gateway.modelsKnown;
  return { gateway, lines };
}

const adminGet = (gateway: TestGateway, path: string) => gateway.fetch(`/admin/v1${path}`, { headers: asAdmin });

async function refusedWith(response: Response): Promise<{ status: number; id: string }> {
  const { error } = (await response.json()) as { error: { code: number; request_id: string } };
  assert.equal(error.code, response.status);
  return { status: response.status, id: error.request_id };
}

test('F70 every refusal is found by the id that its error printed, and has its log line and its metric', async (t) => {
  const { gateway, lines } = await setup(t);
  const asOther = { authorization: `Bearer ${otherKey}` };
  const asNobody = { authorization: 'Bearer sk-cv-no' };
  assert.equal((await gateway.fetch(chatPath, { json: hello, headers: asOther })).status, 200);
  const chat = (more: object, headers = {}) => gateway.fetch(chatPath, { json: { ...hello, ...more }, headers });
  const bytes = (type: string, body: string | ReadableStream) =>
    gateway.fetch(chatPath, { method: 'POST', headers: { 'content-type': type }, body, duplex: 'half' } as RequestInit);
  const large = 'x'.repeat(3_000);
  const cases: [status: number, reason: string, endpoint: string, account: string, response: Promise<Response>][] = [
    [401, 'unauthenticated', 'chat', '', chat({}, asNobody)],
    [403, 'forbidden', '/v1/models', '', gateway.fetch('/v1/models', { headers: asAdmin })],
    [403, 'model-not-in-plan', 'chat', 'dev', chat({ model: 'costly' })],
    [404, 'not-found', '', '', gateway.fetch('/v1/nothing')],
    [404, 'model-unknown', 'chat', 'dev', chat({ model: 'nobody' })],
    [405, 'method-not-allowed', '', '', gateway.fetch('/v1/embeddings')],
    [400, 'invalid-request', 'chat', 'dev', chat({ stream: 'yes' })],
    [400, 'invalid-request', 'chat', 'dev', bytes('application/json', '{"model": "chat", "messages": [')],
    [400, 'invalid-request', 'chat', 'dev', bytes('application/json', '')],
    [413, 'body-too-large', 'chat', 'dev', chat({ user: large })],
    [413, 'body-too-large', 'chat', 'dev', bytes('application/json', new Blob([`{"user": "${large}"}`]).stream())],
    [415, 'unsupported-media-type', 'chat', 'dev', bytes('text/xml', '<chat/>')],
    [429, 'quota-exceeded', 'chat', 'other', chat({}, asOther)],
  ];
  const counts = new Map<string, number>();
  const ids: string[] = [];
  for (const [status, reason, endpoint, account, response] of cases) {
    const refused = await refusedWith(await response);
    assert.equal(refused.status, status, reason);
    ids.push(refused.id);
    await isFound(gateway, refused, reason, account);
    const line = lines.find(({ requestId }) => requestId === refused.id);
    assert.deepEqual([line?.msg, line?.status, line?.class], ['refused', status, reason]);
    const labels = `endpoint="${endpoint}",status="${status}",reason="${reason}",limit="${status === 429 ? '5h' : ''}"`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);

    // A caller sees its own key's refusals, and nobody else's.
    if (account === '') continue;
    const own = account === 'dev' ? {} : asOther;
    assert.equal((await gateway.fetch(`/v1/requests/${refused.id}`, { headers: own })).status, 200);
    const others = account === 'dev' ? asOther : {};
    assert.equal((await gateway.fetch(`/v1/requests/${refused.id}`, { headers: others })).status, 404);
  }
  const metrics = await (await gateway.fetch('/metrics', { headers: asAdmin })).text();
  for (const [labels, count] of counts)
    assert.ok(metrics.includes(`culvert_refused_requests_total{${labels}} ${count}\n`), labels);

  // As the operator looks for it, who got only the id.
  const there = { cwd: temporaryFolder(t), env: { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey } };
  const listed = await runCommand(['requests', 'list', '--status', '429'], there);
  const { data } = JSON.parse(listed.stdout) as { data: { id: string; account: string; model: string }[] };
  assert.deepEqual(
    data.map(({ id, account, model }) => [id, account, model]),
    [[ids.at(-1), 'other', 'chat']],
  );
  const shown = JSON.parse((await runCommand(['requests', 'show', ids.at(-1)!], there)).stdout) as { class: string };
  assert.equal(shown.class, 'quota-exceeded');

  // Whose setting it was.
  const refusers = await Promise.all(
    cases.map(async ([, reason], at) => {
      const { route } = (await (await adminGet(gateway, `/requests/${ids[at]}`)).json()) as {
        route: { refused: { by?: { kind: string; name: string } } };
      };
      return [reason, route.refused.by] as const;
    }),
  );
  assert.deepEqual(
    refusers.filter(([, by]) => by !== undefined),
    [
      ['model-not-in-plan', { kind: 'plan', name: 'default' }],
      ['quota-exceeded', { kind: 'plan', name: 'tight' }],
    ],
  );
});

test('F70 what operators get wrong is not among the requests of callers, and who has no right to ask is', async (t) => {
  const { gateway } = await setup(t);
  const mistaken = await refusedWith(await adminGet(gateway, '/accounts/nobody'));
  const wrong = { headers: { authorization: `Bearer ${gateway.key}` } };
  const barred = await refusedWith(await gateway.fetch('/admin/v1/accounts', wrong));
  assert.deepEqual([mistaken.status, barred.status], [404, 403]);
  const listed = async () => {
    const { data } = (await (await adminGet(gateway, '/requests?class=any')).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  await until('the record of a refusal', async () => (await listed()).includes(barred.id));
  assert.deepEqual(await listed(), [barred.id]);
  assert.equal((await adminGet(gateway, `/requests/${mistaken.id}`)).status, 200, 'its id is found all the same');
});

test('F70 a look-up that finds nothing is not what the next one finds', async (t) => {
  const { gateway } = await setup(t);
  const headers = { 'x-request-id': 'mine-7' };
  const look = () => gateway.fetch('/v1/requests/mine-7', { headers });
  const first = await look();
  const { id } = await refusedWith(first);
  assert.deepEqual([first.status, first.headers.get('x-request-id')], [404, 'mine-7']);
  assert.equal((await look()).status, 404);
  await isFound(gateway, { status: 404, id }, 'not-found', 'dev');
  await (await gateway.fetch(chatPath, { json: hello, headers })).text();
  const found = await look();
  assert.deepEqual([found.status, ((await found.json()) as { class: string }).class], [200, 'ok']);
});

/** With the admin key, by the id alone: the refused request, the reason and the caller, without a cost. */
async function isFound(gateway: TestGateway, refused: { status: number; id: string }, reason: string, account: string) {
  const shown = await adminGet(gateway, `/requests/${refused.id}`);
  assert.equal(shown.status, 200, `${refused.status} ${reason} is found`);
  const record = (await shown.json()) as Record<string, unknown>;
  assert.deepEqual(
    [record.id, record.status, record.class, record.account, record.units, record.cost_usd],
    [refused.id, refused.status, reason, account, 0, null],
  );
  const { refused: told } = record.route as { refused: { message: string } };
  assert.ok(told.message.length > 10);
}

test('F70 bytes that are no request, and headers that are too large, are told as well', async (t) => {
  const { gateway, lines } = await setup(t);
  const large = 'x'.repeat(headerBytesMax);
  const cases: [status: number, reason: string, bytes: string][] = [
    [400, 'invalid-request', 'GARBAGE\r\n\r\n'],
    [431, 'headers-too-large', `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nX-Large: ${large}\r\n\r\n`],
    [431, 'headers-too-large', `GET /v1/models?${large} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ];
  for (const [status, reason, bytes] of cases) {
    const { status: answered, text } = await answerTo(gateway.url, bytes);
    assert.equal(answered, status, reason);
    const id = /req_[0-9a-f-]{36}/.exec(text)?.[0];
    assert.ok(id !== undefined, text);
    await isFound(gateway, { status, id }, reason, '');
    const line = lines.find(({ requestId }) => requestId === id);
    assert.deepEqual([line?.msg, line?.status, line?.class], ['refused', status, reason]);
  }
  const metrics = await (await gateway.fetch('/metrics', { headers: asAdmin })).text();
  for (const labels of [
    'status="400",reason="invalid-request",limit=""} 1',
    'status="431",reason="headers-too-large",limit=""} 2',
  ])
    assert.ok(metrics.includes(`culvert_refused_requests_total{endpoint="",${labels}\n`), labels);
});

test('F70 a flood of refusals is counted in full and kept in part; the newest are found all the same', async (t) => {
  const { gateway, lines } = await setup(t);
  const flood = 2_000;
  let last = '';
  for (let sent = 0; sent < flood; sent += 50) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        gateway.fetch(chatPath, { json: hello, headers: { authorization: 'Bearer x' } }),
      ),
    );
    for (const answer of answers) last = (await refusedWith(answer)).id;
  }
  const metrics = await (await gateway.fetch('/metrics', { headers: asAdmin })).text();
  assert.match(metrics, new RegExp(`status="401",reason="unauthenticated",limit=""} ${flood}\n`));
  assert.equal((await adminGet(gateway, `/requests/${last}`)).status, 200, 'the last one is found');
  const { data } = (await (await adminGet(gateway, '/requests?status=401&limit=1000')).json()) as { data: unknown[] };
  assert.ok(data.length >= 1 && data.length <= 2 * recordsPerHour, `${data.length} records`);

  const told = () => lines.filter(({ msg }) => msg === 'more requests were refused');
  const deadlineMs = performance.now() + 3_000;
  const own = () => lines.filter(({ msg }) => msg === 'refused').length;
  const counted = () => told().reduce((sum, { requests }) => sum + (requests['401 unauthenticated'] ?? 0), own());
  while (counted() < flood && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 25));
  assert.equal(counted(), flood, 'the lines account for all of them');
  assert.ok(own() <= flood / 10 && own() >= linesPerSecond, `${own()} lines of their own`);

  // Refusals are in no sum of usage.
  const usage = (await (await adminGet(gateway, '/usage?group_by=account')).json()) as { data: unknown[] };
  assert.deepEqual(usage.data, []);
});
