import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { linesPerSecond, recordsPerHour } from '../../src/metering/refusals.ts';
import { answerTo } from '../send-bytes.ts';
import { adminKey, otherKey, overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

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
  const logged = new PassThrough();
  const lines: Line[] = [];
  logged.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line) as Line);
  });
  const gateway = await startGateway(
    t,
    {
      ...overUpstreams(upstream.url),
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
  assert.equal((await gateway.fetch(chatPath, { json: hello, headers: asOther })).status, 200);
  const cases: [status: number, reason: string, account: string, response: Promise<Response>][] = [
    [
      401,
      'unauthenticated',
      '',
      gateway.fetch(chatPath, { json: hello, headers: { authorization: 'Bearer sk-cv-no' } }),
    ],
    [403, 'forbidden', '', gateway.fetch('/v1/models', { headers: asAdmin })],
    [404, 'not-found', '', gateway.fetch('/v1/nothing')],
    [404, 'model-unknown', 'dev', gateway.fetch(chatPath, { json: { ...hello, model: 'nobody' } })],
    [400, 'invalid-request', 'dev', gateway.fetch(chatPath, { json: { ...hello, temperature: 'hot' } })],
    [413, 'body-too-large', 'dev', gateway.fetch(chatPath, { json: { ...hello, user: 'x'.repeat(3_000) } })],
    [429, 'quota-exceeded', 'other', gateway.fetch(chatPath, { json: hello, headers: asOther })],
  ];
  for (const [status, reason, account, response] of cases) {
    const refused = await refusedWith(await response);
    assert.equal(refused.status, status, reason);
    const shown = await adminGet(gateway, `/requests/${refused.id}`);
    assert.equal(shown.status, 200, `${status} ${reason} is found`);
    const record = (await shown.json()) as Record<string, unknown>;
    assert.deepEqual(
      [record.id, record.status, record.class, record.account, record.units, record.cost_usd],
      [refused.id, status, reason, account, 0, null],
    );
    const { refused: told } = record.route as { refused: { message: string } };
    assert.ok(told.message.length > 10);
    const line = lines.find(({ requestId }) => requestId === refused.id);
    assert.deepEqual([line?.msg, line?.status, line?.class], ['refused', status, reason]);

    // The key's own are the caller's to see, nobody else's.
    if (account === '') continue;
    const own = account === 'dev' ? {} : asOther;
    assert.equal((await gateway.fetch(`/v1/requests/${refused.id}`, { headers: own })).status, 200);
    const others = account === 'dev' ? asOther : {};
    assert.equal((await gateway.fetch(`/v1/requests/${refused.id}`, { headers: others })).status, 404);
  }
  const listed = (await (await adminGet(gateway, '/requests?status=429')).json()) as { data: { model: string }[] };
  assert.deepEqual(
    listed.data.map(({ model }) => model),
    ['chat'],
  );
  const metrics = await (await gateway.fetch('/metrics', { headers: asAdmin })).text();
  for (const labels of [
    'endpoint="chat",status="401",reason="unauthenticated",limit=""',
    'endpoint="",status="404",reason="not-found",limit=""',
    'endpoint="chat",status="413",reason="body-too-large",limit=""',
    'endpoint="chat",status="429",reason="quota-exceeded",limit="5h"',
  ])
    assert.ok(metrics.includes(`culvert_refused_requests_total{${labels}} 1`), labels);
});

test('F70 bytes that are no request are told as well', async (t) => {
  const { gateway, lines } = await setup(t);
  const { text } = await answerTo(gateway.url, 'GARBAGE\r\n\r\n');
  const id = /req_[0-9a-f-]{36}/.exec(text)?.[0];
  assert.ok(id !== undefined, text);
  assert.equal((await adminGet(gateway, `/requests/${id}`)).status, 200);
  assert.equal(lines.find(({ requestId }) => requestId === id)?.status, 400);
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

  // Refusals stand in no sum of what was used.
  const usage = (await (await adminGet(gateway, '/usage?group_by=account')).json()) as { data: unknown[] };
  assert.deepEqual(usage.data, []);
});
