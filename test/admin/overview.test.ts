import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageAttempt, UsageEvent } from '../../src/books/metering/ledger.ts';
import { usageRowsMax } from '../../src/kernel/limits.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const minuteMs = 60_000;
const config = {
  accounts: { dev: { plan: 'small' }, other: {} },
  plans: { small: { windows: { '5h': 10 }, budget: { month: 2 } }, default: {} },
};

/** Settles one at the clock's time. */
async function settle(admin: OpenAdmin, over: Partial<UsageEvent>): Promise<void> {
  const { account = 'dev', alias = 'smart', keyId = 'AbCdEf123456', tenant = `${account}/laptop` } = over;
  const atMs = admin.clock.wallMs();
  const row = reservationRow({ atMs, account, alias, keyId, tenant, quotaMs: atMs });
  await admin.ledger.open(row);
  admin.ledger.close(usageEvent(row, { settledMs: row.atMs, ...over }));
}

test('the overview draws requests, errors, spend and how long they took, and compares with the span before', async (t) => {
  const admin = await openAdmin(t, config);
  await settle(admin, { ms: 400, costUsd: 0.5 });
  admin.clock.advance(60 * minuteMs);
  for (const ms of [100, 200, 300, 4_000]) await settle(admin, { ms, firstTokenMs: ms / 2, costUsd: 0.25 });
  admin.clock.advance(2 * minuteMs);
  await settle(admin, { account: 'other', class: 'timeout', status: 504, costUsd: null, firstTokenMs: null });
  const hour = await admin.ok('GET', '/overview?range=1h');
  assert.equal(hour.series.length, 60);
  assert.equal(hour.step_s, 60);
  const drawn = hour.series.filter(({ requests }: { requests: number }) => requests > 0);
  assert.deepEqual(
    drawn.map((point: Record<string, unknown>) => [point.requests, point.errors, point.cost_usd]),
    [
      [4, 0, 1],
      [1, 1, 0],
    ],
  );
  assert.equal(Date.parse(drawn[1].at) - Date.parse(drawn[0].at), 2 * minuteMs);
  assert.deepEqual([hour.totals.requests, hour.totals.errors, hour.totals.cost_usd], [5, 1, 1]);
  assert.equal(hour.before.requests, 1);
  // In bins: 100 and 200 of four are the median, within a third of it.
  assert.ok(Math.abs(hour.totals.total_p50_ms - 200) <= 67, String(hour.totals.total_p50_ms));
  assert.ok(hour.totals.total_p95_ms > 3_000 && hour.totals.total_p95_ms <= 5_000);
  assert.ok(hour.totals.first_token_p50_ms < hour.totals.total_p50_ms);
  assert.equal(drawn[1].total_p50_ms, null, 'what failed took no time that anybody would compare');
  assert.deepEqual(
    hour.top.accounts.map(({ group, requests }: Record<string, unknown>) => [group, requests]),
    [
      ['dev', 4],
      ['other', 1],
    ],
    'top is of the same hour',
  );
  const hourS = 3_600;
  for (const [range, stepS, spanS] of [
    ['6h', 300, 6 * hourS],
    ['24h', 900, 24 * hourS],
    ['7d', 2 * hourS, 7 * 24 * hourS],
    ['30d', 8 * hourS, 30 * 24 * hourS],
    ['90d', 24 * hourS, 90 * 24 * hourS],
  ] as const) {
    const { series, totals, step_s, from, to } = await admin.ok('GET', `/overview?range=${range}`);
    assert.ok(series.length >= 60 && series.length <= 120, range);
    assert.equal(step_s, stepS, range);
    const shortS = spanS - (Date.parse(to) - Date.parse(from)) / 1_000;
    assert.ok(shortS >= 0 && shortS <= Math.max(stepS, hourS), `${range}: ${shortS} seconds short`);
    assert.equal(totals.requests, 6, range);
    assert.equal(
      series.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0),
      6,
      range,
    );
  }
  const other = await admin.ok('GET', '/overview?account=other');
  assert.deepEqual([other.totals.requests, other.totals.errors], [1, 1]);
  assert.equal((await admin.refused('GET', '/overview?account=nobody'))[0], 404);
  assert.equal((await admin.refused('GET', '/overview?range=2h'))[1], 'range');

  admin.clock.advance(58 * minuteMs);
  const later = await admin.ok('GET', '/overview?range=1h');
  assert.deepEqual([later.totals.requests, later.top.accounts.length], [1, 1], 'lists cover what totals do');
});

test('the overview begins with those that cost most, and without prices with those that used most', async (t) => {
  const admin = await openAdmin(t, config);
  const accountsOf = async () => {
    const { order_by, accounts } = (await admin.ok('GET', '/overview?range=1h')).top;
    return [order_by, ...accounts.map(({ group }: { group: string }) => group)];
  };
  for (let nth = 0; nth < 3; nth += 1) await settle(admin, { costUsd: null });
  await settle(admin, { account: 'other', costUsd: null });
  assert.deepEqual(await accountsOf(), ['units', 'dev', 'other']);
  await settle(admin, { account: 'other', costUsd: 2 });
  await settle(admin, { costUsd: 1 });
  assert.deepEqual(await accountsOf(), ['cost_usd', 'other', 'dev']);
});

test('of more than 10,000 accounts, the one that cost most is there although it used least', async (t) => {
  const admin = await openAdmin(t, config);
  const many = Array.from({ length: usageRowsMax }, (_, at) => ({
    account: `a${at}`,
    costMilli: 2_000,
    costUsd: 0.001,
  }));
  const dear = { account: 'dear', costMilli: 1_000, costUsd: 5 };
  const settled = [...many, dear].map((one) => {
    // Ids of one ms are few.
    admin.clock.advance(1);
    return settle(admin, one);
  });
  await Promise.all(settled);
  await admin.ledger.flush();
  const { accounts } = (await admin.ok('GET', '/overview?range=24h')).top;
  assert.equal(accounts[0].group, 'dear');
});

test('the overview takes any range, and its lists cover what its totals do', async (t) => {
  const admin = await openAdmin(t, config);
  const fromMs = Math.floor(admin.clock.wallMs() / minuteMs) * minuteMs;
  for (let at = 0; at < 6; at += 1) {
    await settle(admin, {});
    admin.clock.advance(10 * minuteMs);
  }
  admin.clock.advance(100 * minuteMs);
  const of = async (from: number, to: number) => {
    const { range, series, totals, top, before } = await admin.ok(
      'GET',
      `/overview?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`,
    );
    assert.equal(range, null);
    assert.ok(series.length > 0 && series.length <= 100);
    return [totals.requests, top.models[0]?.requests ?? 0, before.requests];
  };
  assert.deepEqual(await of(fromMs + 10 * minuteMs, fromMs + 40 * minuteMs), [3, 3, 1]);
  const hour = Math.floor(fromMs / 3_600_000) * 3_600_000;
  assert.deepEqual(await of(hour, fromMs + 15 * minuteMs), [2, 2, 0], 'from a whole hour to within one');
  assert.deepEqual(await of(fromMs - 2 * 3_600_000, fromMs), [0, 0, 0]);
  assert.deepEqual(await of(fromMs - 3 * 86_400_000, fromMs + 4 * 3_600_000), [6, 6, 0]);
  admin.clock.advance(50 * 60 * minuteMs);
  assert.deepEqual(
    await of(fromMs - 60 * minuteMs, fromMs + 60 * minuteMs),
    [6, 6, 0],
    'in hours, as minutes are gone',
  );
});

test('what is wrong right now is said in sentences that lead somewhere', async (t) => {
  const admin = await openAdmin(t, config);
  const wrong = async () => {
    // Findings are kept for five seconds.
    admin.clock.advance(5_000);
    return (await admin.ok('GET', '/overview')).wrong;
  };
  assert.deepEqual(await wrong(), []);
  const fix = 'Free some.';
  admin.setFindings([
    { check: 'disk', state: 'warning', message: '2.0 GB of 100 GB are free for the data folder', fix },
    { check: 'provider up', state: 'warning', message: 'has no credential', fix, page: 'providers', id: 'up' },
    { check: 'ledger', state: 'problem', message: 'it is locked', fix },
    { check: 'node', state: 'ok', message: 'Node 24', fix: null },
  ]);
  await settle(admin, { costMilli: 9_500 });
  const found = await wrong();
  assert.deepEqual(
    found.map(({ severity, page, id }: Record<string, unknown>) => [severity, page, id]),
    [
      ['problem', 'settings', null],
      ['warning', 'settings', null],
      ['warning', 'providers', 'up'],
      ['warning', 'accounts', 'dev'],
    ],
  );
  assert.equal(found[0].text, 'Ledger: it is locked.');
  assert.equal(found[1].text, 'Disk: 2.0 GB of 100 GB are free for the data folder.');
  assert.match(found[3].text, /^dev has used 95% of its 5-hour window \(9\.5 of 10 units; the next/);
});

test('of more keys with soft limits than are looked at, those that are used most are', async (t) => {
  const limits = { soft: { budget: { month: 0.1 } } };
  const keys = Array.from({ length: 201 }, (_, at) => ({
    key: `sk-cv-watched-key-${at}`,
    account: 'dev',
    name: `k${String(at).padStart(3, '0')}`,
    limits,
  }));
  const admin = await openAdmin(t, { ...config, keys });
  await settle(admin, { keyId: 'sk-cv-declared:dev/k200', tenant: 'dev/k200', costUsd: 0.5 });
  const { wrong } = await admin.ok('GET', '/overview');
  assert.deepEqual(
    wrong.map(({ text, page, id }: Record<string, unknown>) => [text, page, id]),
    [
      [
        'dev/k200 has passed the soft limit of the budget of its 30-day window ($0.50 of $0.10).',
        'keys',
        'sk-cv-declared:dev/k200',
      ],
    ],
  );
});

test('a window and a budget that are full are problems, said before what is only near', async (t) => {
  const admin = await openAdmin(t, config);
  await settle(admin, { costMilli: 10_000, costUsd: 1.9 });
  const { wrong } = await admin.ok('GET', '/overview');
  assert.equal(wrong[0].severity, 'problem');
  assert.match(wrong[0].text, /100% of its 5-hour window/);
  assert.match(wrong[1].text, /95% of the budget of its 30-day window \(\$1\.90 of \$2\.00/);
  assert.equal(wrong[1].severity, 'warning');
});

test('groups that fail have points, however few their attempts are', async (t) => {
  const admin = await openAdmin(t, config);
  const { route } = usageEvent(reservationRow({}), {});
  const ask = (provider: string, over: Partial<UsageAttempt>) => {
    const attempts = [{ ...route.attempts.at(-1)!, provider, target: `${provider}/x`, ...over }];
    return settle(admin, { route: { ...route, attempts } });
  };
  for (let at = 0; at < 26; at += 1) await ask(`busy-${at % 13}`, {});
  await ask('gone', { class: 'transient' });
  const { data } = await admin.ok('GET', '/attempts?from=1h&points=true');
  const drawn = data.filter(({ points }: { points?: unknown }) => points !== undefined);
  assert.deepEqual([data.length, drawn.length, drawn.at(-1).group], [14, 13, 'gone']);
  assert.equal(drawn.at(-1).points[0].failed, 1);
});

test('attempts are counted by who was asked: a provider that never answered is in the list', async (t) => {
  const admin = await openAdmin(t, config);
  // The first target of each is down, and the second answers.
  for (let at = 0; at < 3; at += 1) await settle(admin, {});
  admin.clock.advance(2 * minuteMs);
  await settle(admin, {});
  const { data, from, to, step_s } = await admin.ok('GET', '/attempts?from=1h&points=true');
  assert.deepEqual(
    data.map((row: Record<string, unknown>) => [row.group, row.attempts, row.failed, row.retried, row.failures]),
    [
      ['claude', 4, 4, 4, { transient: 4 }],
      ['openai', 4, 0, 0, {}],
    ],
  );
  const { data: without } = await admin.ok('GET', '/attempts?from=1h');
  assert.deepEqual(
    data.map(({ points: _, ...row }: Record<string, unknown>) => row),
    without,
    'points change no sum',
  );
  const [dead, well] = data;
  assert.deepEqual([dead.first_token_p95_ms, dead.total_p50_ms, dead.tokens_per_s], [null, null, null]);
  // 80 ms and 800 ms, to the bin; 50 tokens in the 720 ms after the first.
  assert.ok(well.first_token_p50_ms > 70 && well.first_token_p99_ms <= 100, JSON.stringify(well));
  assert.ok(well.total_p50_ms > 700 && well.total_p95_ms <= 1_000);
  assert.equal(well.tokens_per_s, 69.4);
  assert.equal(step_s, 60);
  assert.ok(Date.parse(to) - Date.parse(from) >= 60 * minuteMs && Date.parse(to) - Date.parse(from) <= 61 * minuteMs);
  assert.deepEqual(
    well.points.map(({ attempts }: { attempts: number }) => attempts),
    [3, 1],
  );
  assert.equal(Date.parse(well.points[1].at) - Date.parse(well.points[0].at), 2 * minuteMs);

  const classes = await admin.ok('GET', '/attempts?group_by=class&provider=claude');
  assert.deepEqual([classes.data[0].group, classes.data[0].attempts], ['transient', 4]);
  assert.ok(classes.data[0].total_p95_ms <= 20, 'of a class, its own times');
  assert.equal((await admin.ok('GET', '/attempts?group_by=credential')).data.length, 2);
  assert.deepEqual((await admin.ok('GET', '/attempts?model=nobody')).data, []);
  assert.equal((await admin.ok('GET', '/attempts?from=90d')).data.length, 2);
  assert.equal((await admin.refused('GET', '/attempts?group_by=account'))[1], 'group_by');
  assert.equal((await admin.refused('GET', '/attempts?from=1h&to=2h'))[1], 'from');
});
