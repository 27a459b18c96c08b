import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageEvent } from '../../src/books/metering/ledger.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const hourMs = 3_600_000;

async function settle(admin: OpenAdmin, at: string, over: Partial<UsageEvent> = {}): Promise<UsageEvent> {
  const row = reservationRow({ atMs: Date.parse(at), account: over.account ?? 'dev', alias: over.alias ?? 'smart' });
  await admin.ledger.open(row);
  const event = usageEvent(row, { costUsd: 0.5, settledMs: row.atMs, ...over });
  admin.ledger.close(event);
  await admin.ledger.flush();
  return event;
}

test('a statement has each account by model, in the month of a time zone', async (t) => {
  const admin = await openAdmin(t, { accounts: { dev: { name: '<Dev> & co' }, other: {} } });
  // In Berlin, May begins two hours before it does in UTC, and in Kolkata with the first full hour of UTC.
  await settle(admin, '2025-04-30T22:30:00Z');
  await settle(admin, '2025-05-10T12:00:00Z', { alias: 'small', costUsd: null });
  await settle(admin, '2025-05-31T21:59:00Z', { account: 'other' });
  await settle(admin, '2025-05-31T22:00:00Z', { account: 'other' });
  const of = async (zone: string) =>
    (await admin.ok('GET', `/statements?month=2025-05&time_zone=${zone}`)).data.map((row: Record<string, unknown>) => [
      row.account,
      row.requests,
      row.cost_usd,
      row.unpriced_requests,
    ]);
  assert.deepEqual(await of('Europe/Berlin'), [
    ['dev', 2, 0.5, 1],
    ['other', 1, 0.5, 0],
  ]);
  assert.deepEqual(await of('UTC'), [
    ['dev', 1, 0, 1],
    ['other', 2, 1, 0],
  ]);
  const { from, to } = await admin.ok('GET', '/statements?month=2025-05&time_zone=Asia/Kolkata');
  assert.deepEqual([from, to], ['2025-04-30T19:00:00.000Z', '2025-05-31T19:00:00.000Z']);
  const berlin = await admin.ok('GET', '/statements?month=2025-05&time_zone=Europe/Berlin&account=dev');
  assert.deepEqual([berlin.status, berlin.totals.requests, berlin.totals.cost_usd], ['open', 2, 0.5]);
  assert.deepEqual(
    berlin.data[0].lines.map((line: Record<string, unknown>) => [line.model, line.requests, line.cost_usd]),
    [
      ['small', 1, 0],
      ['smart', 1, 0.5],
    ],
  );
  const csv = (await admin.call('GET', '/statements.csv?month=2025-05&time_zone=Europe/Berlin')).text.split('\r\n');
  assert.match(csv[0]!, /^month,time_zone,status,account,name,model,requests,.*,cost_usd,unpriced_requests,/);
  assert.equal(csv.length, 5);
  const page = (await admin.call('GET', '/statements.html?month=2025-05&time_zone=Europe/Berlin')).text;
  assert.match(page, /&lt;Dev&gt; &amp; co \(dev\)/);
  assert.match(page, /0\.50 \+ 1 without a price/);
  assert.doesNotMatch(page, /<Dev>|<script/);
});

test('a closed statement never changes, whatever is recalculated or settled later', async (t) => {
  const price = { input: 100, output: 100 };
  const admin = await openAdmin(t, {
    accounts: { dev: {}, other: {} },
    providers: { openai: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-x' } },
    models: { smart: { targets: [{ provider: 'openai', model: 'gpt-x', price }] } },
  });
  const event = await settle(admin, '2025-05-10T12:00:00Z', { costUsd: null, route: { attempts: [] } });
  const month = { month: '2025-05', time_zone: 'UTC' };
  const path = '/statements?month=2025-05';
  const closed = await admin.ok('POST', '/statements/close', month);
  assert.deepEqual([closed.status, closed.closed_by, closed.totals.unpriced_requests], ['closed', 'test', 1]);
  const again = await admin.ok('POST', '/statements/close', month);
  assert.deepEqual(again, closed);
  const applied = await admin.ok('POST', '/usage/recalculate', { apply: true, from: '2025-05-01' });
  assert.equal(applied.requests, 1);
  const late = await settle(admin, '2025-05-31T23:59:00Z');
  assert.deepEqual(await admin.ok('GET', path), closed);
  assert.deepEqual(await admin.ok('GET', `${path}&time_zone=utc`), closed, 'in another spelling of its zone too');
  // Another zone is not closed: it says what was charged at first.
  const { totals } = await admin.ok('GET', `${path}&time_zone=Africa/Abidjan`);
  assert.deepEqual([totals.requests, totals.unpriced_requests], [2, 0]);
  const usd = (event.inputTokens + event.outputTokens) * 1e-4;
  assert.ok(Math.abs(totals.recalculated_usd - usd) < 1e-12);
  assert.ok(Math.abs(totals.cost_usd - totals.recalculated_usd - (late.costUsd ?? 0)) < 1e-9);
  const { data } = await admin.ok('GET', '/statements/closed');
  assert.deepEqual(
    data.map((row: Record<string, unknown>) => [row.month, row.time_zone, row.closed_by]),
    [['2025-05', 'UTC', 'test']],
  );
  const audit = await admin.ok('GET', '/audit?action=statement.close');
  assert.equal(audit.data.length, 1);
});

test('a month that is not over cannot be closed, and a month or a zone that is none is refused', async (t) => {
  const admin = await openAdmin(t);
  const running = await admin.ok('GET', '/statements?month=2025-06');
  assert.equal(running.status, 'running');
  const [status, param, message] = await admin.refused('POST', '/statements/close', { month: '2025-06' });
  assert.deepEqual([status, param], [400, 'month']);
  assert.match(message, /2025-07-01T02:00:00/);
  admin.clock.advance(Date.parse('2025-07-01T02:00:00Z') - admin.clock.wallMs() + hourMs);
  assert.equal((await admin.ok('POST', '/statements/close', { month: '2025-06' })).status, 'closed');
  for (const [query, field] of [
    ['month=2025-13', 'month'],
    ['month=June', 'month'],
    ['month=2025-06&time_zone=Mars/Olympus', 'time_zone'],
  ] as const)
    assert.deepEqual((await admin.refused('GET', `/statements?${query}`)).slice(0, 2), [400, field]);
});
