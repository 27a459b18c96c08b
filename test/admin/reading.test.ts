import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountScope } from '../../src/books/metering/counter-scope.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { type Answer, type OpenAdmin, openAdmin } from './open-admin.ts';

const config = {
  accounts: { dev: { plan: 'small' }, ops: { plan: 'small' }, other: {} },
  plans: { small: { windows: { '5h': 100, week: 1_000 }, budget: { month: 20 } }, default: {} },
};

async function use(admin: OpenAdmin, account: string, units: number, costUsd: number): Promise<void> {
  const atMs = admin.clock.wallMs();
  const row = reservationRow({ atMs, quotaMs: atMs, account, tenant: `${account}/laptop` });
  await admin.ledger.open(row);
  admin.ledger.close(usageEvent(row, { settledMs: atMs, costMilli: units * 1_000, costUsd }));
}

test('windows say how full they are, when the next of it frees, and how much', async (t) => {
  const admin = await openAdmin(t, config);
  await use(admin, 'dev', 3, 1);
  admin.clock.advance(10 * 60_000);
  await use(admin, 'dev', 4, 1.5);
  const { data, plan, scope } = await admin.ok('GET', '/accounts/dev/windows');
  assert.deepEqual([plan, scope, data.length, data[0].key], ['small', 'account', 1, null]);
  const window = (name: string, measure: string) =>
    data[0].windows.find((one: Answer) => one.window === name && one.measure === measure && one.tier === null);
  const { frees_at: freesAt, ...hours } = window('5h', 'units');
  assert.deepEqual(hours, {
    window: '5h',
    calendar: null,
    measure: 'units',
    tier: null,
    used: 7,
    limit: 100,
    remaining: 93,
    soft: null,
    frees: 3,
  });
  const buckets = await admin.ledger.buckets([accountScope('dev', null)]);
  const first = Math.min(...buckets.filter(({ grainMs }) => grainMs === 60_000).map(({ bucket }) => bucket));
  assert.equal(Date.parse(freesAt), (first + 1) * 60_000 + 5 * 3_600_000, 'a bucket frees when its end has left');
  assert.equal(window('week', 'units').frees, 7, 'what was used within an hour frees together');
  assert.deepEqual([window('month', 'usd').used, window('month', 'usd').limit], [2.5, 20]);
  assert.equal(window('month', 'tokens').limit, null);
  assert.equal((await admin.refused('GET', '/accounts/nobody/windows'))[0], 404);
});

test('a plan is previewed: whom it would stop, and nothing changes', async (t) => {
  const admin = await openAdmin(t, config);
  await use(admin, 'dev', 50, 5);
  await use(admin, 'ops', 5, 0.5);
  const tight = { windows: { '5h': 10 }, budget: { month: 5 } };
  const preview = await admin.ok('POST', '/plans/small/preview', tight);
  assert.deepEqual([preview.plan, preview.accounts, preview.looked_at], ['small', 2, 2]);
  assert.deepEqual(
    preview.data.map(({ account, windows }: Answer) => [
      account,
      windows.map(({ window, measure, used, limit }: Answer) => [window, measure, used, limit]),
    ]),
    [
      [
        'dev',
        [
          ['5h', 'units', 50, 10],
          ['month', 'usd', 5, 5],
        ],
      ],
    ],
  );
  assert.deepEqual((await admin.ok('POST', '/plans/small/preview', { windows: { '5h': 51 } })).data, []);
  assert.equal((await admin.refused('POST', '/plans/small/preview', { windows: { '5h': -1 } }))[1], 'windows.5h');
  assert.equal((await admin.ok('GET', '/plans/small')).definition.windows['5h'], 100);
});

test('a request is explained without being sent: every target, its verdict, and what would be dropped', async (t) => {
  const admin = await openAdmin(t, {
    ...config,
    providers: { up: { type: 'anthropic', base_url: 'http://127.0.0.1:9', api_key: 'k' } },
    models: { smart: { targets: ['up/claude-x'] } },
  });
  const body = { model: 'smart', messages: [{ role: 'user', content: 'hi' }], logit_bias: { 1: 2 } };
  const explained = await admin.ok('POST', '/explain', { body });
  assert.equal(explained.sent, true);
  assert.equal(explained.candidates[0].target, 'up/claude-x');
  assert.equal(explained.candidates[0].sent.answer, 'converted');
  assert.match(explained.candidates[0].sent.dropped, /logit_bias/);
  const unknown = await admin.ok('POST', '/explain', { body: { ...body, model: 'nobody-knows' } });
  assert.equal(unknown.sent, false);
  assert.ok(unknown.error === null || unknown.error.code === 404);
  const key = (await admin.ok('POST', '/keys', { account: 'dev', name: 'laptop', models: ['other-*'] })).id;
  const forbidden = await admin.ok('POST', '/explain', { key, body });
  assert.deepEqual([forbidden.sent, forbidden.error.code], [false, 403]);
  assert.equal((await admin.refused('POST', '/explain', { key: 'key_none', body }))[0], 404);
  assert.equal((await admin.refused('POST', '/explain', {}))[1], 'body');
});

test("the doctor's findings are there, and the audit trail by who, what, whom and when", async (t) => {
  const admin = await openAdmin(t, config);
  const { ok, findings } = await admin.ok('GET', '/doctor');
  assert.deepEqual([ok, findings[0].state], [true, 'ok']);
  await admin.ok('POST', '/accounts', { id: 'one' });
  admin.clock.advance(60_000);
  await admin.ok('PUT', '/plans/big', { windows: { '5h': 1 } });
  await admin.ok('POST', '/accounts', { id: 'two' });
  const actions = async (query: string) =>
    (await admin.ok('GET', `/audit?${query}`)).data.map(({ action, subject }: Answer) => `${action} ${subject}`);
  assert.deepEqual(await actions('action=account.create'), ['account.create two', 'account.create one']);
  assert.deepEqual(await actions('action=plan'), ['plan.create big']);
  assert.deepEqual(await actions('subject=one'), ['account.create one']);
  assert.deepEqual(await actions('since=30s'), ['account.create two', 'plan.create big']);
  assert.deepEqual(await actions('until=30s'), ['account.create one']);
  assert.deepEqual(await actions('actor=nobody'), []);
  const [first] = (await admin.ok('GET', '/audit?limit=1')).data;
  assert.equal((await actions(`actor=${first.actor}`)).length, 3);
});

test('lists come whole in pages of one, each entry once and in their order', async (t) => {
  const provider = { type: 'openai', base_url: 'http://127.0.0.1:9', api_key: 'k' };
  const prompt = { messages: [{ role: 'system', content: 'Be brief.' }] };
  const admin = await openAdmin(t, {
    ...config,
    providers: { one: provider, two: provider, Three: provider },
    models: { one: { targets: ['one/x'] }, two: { targets: ['two/x'] }, Three: { targets: ['Three/x'] } },
    prompts: { one: prompt, two: prompt, Three: prompt },
    routes: { two: { model: 'one' }, one: { model: 'two' }, Three: { model: 'Three' } },
  });
  // At one moment, so that their ids alone have an order.
  for (const name of ['dev', 'ops', 'other']) {
    await admin.ok('POST', '/invitations', { role: 'viewer' });
    await admin.ok('POST', '/body-rules', { of: 'account', name, reason: 'ticket 7' });
    await admin.ok('POST', '/operators', { name, role: 'viewer' });
    await admin.ok('PUT', `/plans/${name}`, { windows: { '5h': 1 } });
  }
  const paths = 'accounts plans providers models prompts routes invitations body-rules operators'.split(' ');
  for (const path of paths) {
    const whole = (await admin.ok('GET', `/${path}`)).data;
    assert.ok(whole.length >= 3, path);
    const paged: Answer[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page: Answer = await admin.ok('GET', `/${path}?limit=1${next && `&cursor=${next}`}`);
      paged.push(...page.data);
      next = page.next_cursor;
    }
    assert.deepEqual(paged, whole, path);
  }
});

test('notices that cannot be read are shown as they are, and hide no other, page by page', async (t) => {
  const admin = await openAdmin(t, config);
  const nowMs = admin.clock.wallMs();
  const bodies = ['no JSON', '{}', 'null', '[1]', '{"type":"alerts"}', '{"type":"statement","data":7}'];
  const rows = [...bodies, '{"type":"quota.threshold","timestamp":"","data":{"account":"dev"}}'];
  for (const [at, body] of rows.entries())
    await admin.notices.cross(
      { scope: `a:${at}`, limit: 'x', share: 1, crossedMs: nowMs },
      { id: `by hand ${at}`, plan: at % 2 === 0 ? 'small' : 'alert chat', body, createdMs: nowMs - at, tries: 0 },
    );
  await admin.notices.cross(
    { scope: 'a:far', limit: 'x', share: 1, crossedMs: nowMs },
    { id: 'far', plan: 'small', body: '{}', createdMs: 9e15, tries: 0 },
  );
  const found: Answer[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Answer = await admin.ok('GET', `/notices?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  assert.deepEqual(
    found.map(({ id }) => id),
    ['far', ...rows.map((_, at) => `by hand ${at}`)],
  );
  assert.match(found[1].subject, /cannot read/);
  assert.equal(found[1].message, 'no JSON');
  const scoped = await admin.call('GET', '/notices', undefined, { name: 'dev', role: 'viewer', accounts: ['dev'] });
  assert.equal(scoped.status, 200, scoped.text);
  assert.deepEqual(
    scoped.json.data.map(({ id }: Answer) => id),
    ['by hand 6'],
  );
});
