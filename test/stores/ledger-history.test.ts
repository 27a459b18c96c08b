import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger, RequestQuery, UsageEvent, UsageGroup, UsageRow } from '../../src/books/metering/ledger.ts';
import { refusalEvent } from '../../src/books/metering/refusal.ts';
import { FailureError } from '../../src/kernel/failure.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { assertWithin } from '../machine-load.ts';
import { drivers } from './drivers.ts';
import { everything, reservationRow, usageEvent } from './rows.ts';

const dayMs = 86_400_000;
/** Noon, so that hours are whole and a few minutes stay within one. */
const noonMs = Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs + dayMs / 2;

/** Forty requests of four days, accounts, aliases and statuses mixed. */
async function fill(ledger: Ledger): Promise<UsageEvent[]> {
  const events: UsageEvent[] = [];
  for (let at = 0; at < 40; at += 1) {
    const account = at % 4 === 0 ? 'ops' : 'dev';
    const row = reservationRow({
      atMs: noonMs - (at % 4) * dayMs + at * 1_000,
      account,
      tenant: `${account}/k`,
      keyId: `k${at % 3}`,
      alias: at % 5 === 0 ? '100%_' : 'smart',
      endpoint: at % 2 === 0 ? 'chat' : 'messages',
    });
    await ledger.open(row);
    const target = at % 7 === 0 ? null : at % 2 === 0 ? 'openai/gpt-x' : 'claude/claude-x';
    const status = at % 7 === 0 ? 502 : at % 11 === 0 ? 429 : 200;
    const event = usageEvent(row, {
      target,
      status,
      class: status === 200 ? 'ok' : 'failed',
      settledMs: row.atMs + 5,
      costMilli: 1_000 + at,
      costUsd: at % 3 === 0 ? null : at / 1_000,
      user: at % 6 === 0 ? null : `user-${at % 6}`,
      tag: at % 5 === 0 ? null : `tag-${at % 5}`,
      usageSource: at % 8 === 0 ? 'estimated' : at % 3 === 1 ? 'counted' : 'upstream',
    });
    ledger.close(event);
    events.push(event);
  }
  return events.toSorted((a, b) => b.atMs - a.atMs);
}

async function pages(ledger: Ledger, query: Partial<RequestQuery>): Promise<UsageEvent[][]> {
  const all: UsageEvent[][] = [];
  let cursor: string | null = null;
  do {
    const page: { events: readonly UsageEvent[]; next: string | null } = await ledger.list({
      ...everything,
      ...query,
      cursor,
    });
    all.push([...page.events]);
    cursor = page.next;
    assert.ok(all.length < 100, 'the pages have no end');
  } while (cursor !== null);
  return all;
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: requests are listed newest first, page by page, whatever comes in between`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const events = await fill(ledger);
    const first = await ledger.list({ ...everything, limit: 15 });
    assert.deepEqual(first.events, events.slice(0, 15), 'its own requests are there at once');
    const late = reservationRow({ atMs: noonMs + dayMs });
    await ledger.open(late);
    ledger.close(usageEvent(late));
    const second = await ledger.list({ ...everything, limit: 15, cursor: first.next });
    assert.deepEqual(second.events, events.slice(15, 30));
    const third = await ledger.list({ ...everything, limit: 15, cursor: second.next });
    assert.deepEqual([third.events, third.next], [events.slice(30), null]);
    assert.deepEqual(
      (await pages(ledger, { limit: 41 })).map((page) => page.length),
      [41],
      'a page that is just full is the last one',
    );
    await ledger.shutdown();
  });

  test(`${driver.name}: filters give what they say, together too`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const events = await fill(ledger);
    const sinceMs = events[25]!.atMs;
    const untilMs = events[5]!.atMs;
    const cases: [Partial<RequestQuery>, (event: UsageEvent) => boolean][] = [
      [{ accounts: ['ops'] }, (event) => event.account === 'ops'],
      [{ where: { alias: '100%_' } }, (event) => event.alias === '100%_'],
      [{ where: { status: 429 } }, (event) => event.status === 429],
      [{ where: { status: 5 } }, (event) => event.status >= 500],
      [{ where: { status: 2 }, accounts: ['dev'] }, (event) => event.status === 200 && event.account === 'dev'],
      [{ sinceMs, untilMs }, (event) => event.atMs >= sinceMs && event.atMs < untilMs],
      [{ where: { class: 'failed' } }, (event) => event.class !== 'ok'],
      [{ where: { provider: 'openai' } }, (event) => event.target?.startsWith('openai/') === true],
      [
        { where: { mcpServer: { name: 'smart', prefix: '100%' } } },
        (event) => ['smart', '100%_'].includes(event.alias),
      ],
      [{ where: { tag: 'tag-1' } }, (event) => event.tag === 'tag-1'],
      [{ where: { user: 'user-2', stream: true } }, (event) => event.user === 'user-2' && event.stream],
      [{ where: { costUsdMin: 0.02 } }, (event) => (event.costUsd ?? 0) >= 0.02],
      [{ where: { unitsMin: 1.02 } }, (event) => event.costMilli >= 1_020],
      [{ accounts: ['dev', 'ops'] }, (event) => ['dev', 'ops'].includes(event.account)],
      [{ sinceMs, where: { alias: 'smart' } }, (event) => event.atMs >= sinceMs && event.alias === 'smart'],
    ];
    for (const [query, passes] of cases) {
      const wanted = events.filter(passes);
      assert.ok(wanted.length > 0);
      assert.deepEqual((await pages(ledger, { ...query, limit: 4 })).flat(), wanted, JSON.stringify(query));
    }
    const costly = reservationRow({ atMs: noonMs + 2 * dayMs, costMilli: 16_100 });
    await ledger.open(costly);
    ledger.close(usageEvent(costly));
    const atLeast = async (unitsMin: number) =>
      (await ledger.list({ ...everything, where: { unitsMin } })).events.length;
    assert.deepEqual([await atLeast(16.1), await atLeast(16.1001), await atLeast(1e19)], [1, 0, 0]);
    await ledger.shutdown();
  });

  test(`${driver.name}: what ended since is listed, also where it came before`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now() - 600_000;
    const settled = async (atMs: number, tookMs: number) => {
      const row = reservationRow({ atMs });
      await ledger.open(row);
      const event = usageEvent(row, { ms: tookMs, settledMs: atMs + tookMs });
      ledger.close(event);
      return event;
    };
    await settled(nowMs - 5_000, 100);
    const seen = await settled(nowMs, 100);
    const slow = await settled(nowMs - 60_000, 90_000);
    const fresh = await settled(nowMs + 1_000, 10);
    const { events, next } = await ledger.list({ ...everything, after: seen });
    assert.deepEqual([events, next], [[fresh, slow], null]);
    assert.deepEqual((await ledger.list({ ...everything, after: slow })).events, []);
    assert.deepEqual((await ledger.list({ ...everything, after: seen, limit: 1 })).events, [fresh]);
    await ledger.shutdown();
  });

  test(`${driver.name}: accounts without a request and [] give nothing`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    await fill(ledger);
    const span = {
      where: {},
      groupBy: 'day',
      splitBy: 'user',
      fromMs: noonMs - 9 * dayMs,
      toMs: noonMs + dayMs,
    } as const;
    for (const accounts of [[], ['nobody']]) {
      assert.deepEqual(await ledger.list({ ...everything, accounts }), { events: [], next: null });
      assert.deepEqual(await ledger.usage({ ...span, accounts }), []);
    }
    await ledger.shutdown();
  });

  test(`${driver.name}: F70 a refused request is listed and found, and counts nowhere`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now() - 1_000;
    const [first, last] = [0, 1].map((at) =>
      refusalEvent({
        requestId: newRequestId(nowMs + at),
        clientRequestId: null,
        atMs: nowMs + at,
        ms: 3,
        account: at === 0 ? 'dev' : '',
        keyId: at === 0 ? 'AbCdEf123456' : '',
        tenant: at === 0 ? 'dev/laptop' : '',
        endpoint: 'chat',
        model: at === 0 ? 'smart' : '',
        status: at === 0 ? 429 : 401,
        reason: at === 0 ? 'quota-exceeded' : 'unauthenticated',
        limit: at === 0 ? '5h' : '',
        message: 'No.',
        by: at === 0 ? { kind: 'plan', name: 'small' } : null,
        traceId: null,
      }),
    );
    ledger.note(first!);
    ledger.note(last!);
    assert.deepEqual((await ledger.list({ ...everything, where: { status: 4 } })).events, [last, first]);
    assert.deepEqual(
      (await ledger.list(everything)).events,
      [],
      'beside what was run only where a status is asked for',
    );
    assert.deepEqual((await ledger.list({ ...everything, where: { status: 429 } })).events, [first]);
    const any = { class: 'any' };
    assert.deepEqual((await ledger.list({ ...everything, where: any })).events, [last, first]);
    for (const which of [{ status: 429 }, { status: 4 }, { class: 'quota-exceeded' }, { class: 'failed' }, any]) {
      for (const [its, others] of [
        [{ alias: 'smart' }, { alias: 'nobody' }],
        [{ key: 'AbCdEf123456' }, { key: 'another' }],
        [{ keys: ['AbCdEf123456'] }, { keys: ['another'] }],
        [{ endpoint: 'chat' }, { endpoint: 'messages' }],
      ] as const) {
        const listed = async (where: object) =>
          (await ledger.list({ ...everything, accounts: ['dev'], where: { ...which, ...where } })).events;
        assert.deepEqual(await listed(its), [first], JSON.stringify({ ...which, ...its }));
        assert.deepEqual(await listed(others), [], JSON.stringify({ ...which, ...others }));
      }
    }
    assert.deepEqual(await ledger.find(first!.requestId, 'dev'), first);
    assert.equal(await ledger.find(last!.requestId, 'dev'), null);
    const period = { accounts: null, where: {}, splitBy: null, fromMs: nowMs - dayMs, toMs: nowMs + dayMs };
    for (const groupBy of ['day', 'user', 'account'] as const)
      assert.deepEqual(await ledger.usage({ ...period, groupBy }), [], groupBy);
    assert.deepEqual(await ledger.buckets(['a:dev', 'k:dev/laptop']), []);
    assert.deepEqual(await ledger.recentCalls('dev', nowMs - 1), []);
    await ledger.shutdown();

    const again = await store.ledger('boot-2');
    assert.deepEqual((await again.list({ ...everything, where: { status: 4 } })).events, [last, first]);
    assert.deepEqual(await again.recentCalls('dev', nowMs - 1), []);
    assert.equal(await again.prune(nowMs + 1), 1);
    await again.shutdown();
  });

  test(`${driver.name}: S11 wildcards and SQL in a filter are plain text, answered in less than 50 ms`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    await fill(ledger);
    // The thread's start is not the filter's matter.
    await ledger.list(everything);
    for (const text of ['%', '_%', '%%%%%%%%%%', '100\\%_', "' OR '1'='1", '.*', '[a-z]*', '$1']) {
      for (const query of [{ where: { alias: text } }, { accounts: [text] }]) {
        const beforeMs = performance.now();
        assert.deepEqual(await ledger.list({ ...everything, ...query }), { events: [], next: null }, text);
        assertWithin(performance.now() - beforeMs, 50, text);
      }
    }
    await ledger.shutdown();
  });

  test(`${driver.name}: what was never a cursor is refused as the caller's mistake`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    await fill(ledger);
    for (const cursor of [
      '',
      'x',
      '12',
      '%%%%',
      'MQ==',
      "' OR 1=1",
      'A'.repeat(1_000),
      Buffer.from('-1e400').toString('base64url'),
    ]) {
      await assert.rejects(
        ledger.list({ ...everything, cursor }),
        (error) => error instanceof FailureError && error.failure.kind === 'invalid-request',
        cursor,
      );
    }
    await ledger.shutdown();
  });

  test(`${driver.name}: usage by any group is the sum of its requests, over restarts and pruning`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const first = await store.ledger('boot-1');
    const events = await fill(first);
    const groups: Record<UsageGroup, (event: UsageEvent) => string> = {
      hour: (event) => `${new Date(event.atMs).toISOString().slice(0, 14)}00Z`,
      tag: (event) => event.tag ?? '',
      day: (event) => new Date(event.atMs).toISOString().slice(0, 10),
      model: (event) => event.alias,
      account: (event) => event.account,
      endpoint: (event) => event.endpoint,
      user: (event) => event.user ?? '',
      provider: (event) => event.target?.split('/')[0] ?? '',
      key: (event) => event.keyId,
    };
    const check = async (ledger: Ledger, account: string | null, only: readonly UsageGroup[]) => {
      for (const groupBy of only) {
        const rows = await ledger.usage({
          accounts: account === null ? null : [account],
          where: {},
          splitBy: null,
          groupBy,
          fromMs: noonMs - 9 * dayMs,
          toMs: noonMs + dayMs,
        });
        const ofAccount = events.filter((event) => account === null || event.account === account);
        assert.deepEqual(rows.map(rounded), summed(ofAccount, groups[groupBy], groupBy), `by ${groupBy}`);
      }
    };
    const all = Object.keys(groups) as UsageGroup[];
    await check(first, null, all);
    await check(first, 'dev', all);
    await first.shutdown();
    const next = await store.ledger('boot-2');
    assert.equal(await next.prune(noonMs + 10 * dayMs), 40);
    // Days are added up by then, by user and tag too.
    await check(next, null, all);
    await check(next, 'dev', all);
    assert.deepEqual((await next.list(everything)).events, []);
    await next.shutdown();
  });

  test(`${driver.name}: usage takes whole hours: from is rounded down and to up`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    await fill(ledger);
    const query = { accounts: null, where: {}, splitBy: null, groupBy: 'account' as const };
    const requests = (rows: readonly UsageRow[]) => rows.reduce((sum, row) => sum + row.requests, 0);
    assert.equal(requests(await ledger.usage({ ...query, fromMs: noonMs + 120_000, toMs: noonMs + 120_001 })), 10);
    assert.equal(requests(await ledger.usage({ ...query, fromMs: noonMs - 3_600_000, toMs: noonMs })), 0);
    assert.deepEqual(
      await ledger.usage({ ...query, groupBy: 'user', fromMs: noonMs + 120_000, toMs: noonMs + 120_001 }),
      [],
    );
    await ledger.shutdown();
  });

  test(`${driver.name}: usage has the USD of the largest company's year`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const span = { fromMs: noonMs - dayMs, toMs: noonMs + dayMs };
    for (const user of ['a', 'b', 'c']) {
      const row = reservationRow({ atMs: noonMs + 3_600_000 * user.charCodeAt(0) - 97 * 3_600_000 });
      await ledger.open(row);
      ledger.close(usageEvent(row, { settledMs: row.atMs, costUsd: 4_000_000, user }));
    }
    await ledger.flush();
    for (const where of [{}, { endpoint: 'chat' }]) {
      const query = { ...span, accounts: null, where, splitBy: null };
      const usd = (await ledger.usage({ ...query, groupBy: 'account' })).map(({ costUsd }) => costUsd);
      const ofUsers = (await ledger.usage({ ...query, groupBy: 'user' })).map(({ costUsd }) => costUsd);
      assert.deepEqual([usd, ofUsers], [[12_000_000], [4_000_000, 4_000_000, 4_000_000]]);
    }
    await ledger.shutdown();
  });
}

/** Sums of floats depend on their order in the last digits. */
function rounded(row: UsageRow): UsageRow {
  const nano = (usd: number) => Math.round(usd * 1e9) / 1e9;
  return {
    ...row,
    costUsd: nano(row.costUsd),
    countedCostUsd: nano(row.countedCostUsd),
    estimatedCostUsd: nano(row.estimatedCostUsd),
  };
}

function summed(
  events: readonly UsageEvent[],
  groupOf: (event: UsageEvent) => string,
  groupBy: UsageGroup,
): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const event of events) {
    const group = groupOf(event);
    const row = rows.get(group) ?? {
      group,
      split: null,
      requests: 0,
      milliUnits: 0,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
      errors: 0,
      countedTokens: 0,
      estimatedTokens: 0,
      countedCostUsd: 0,
      estimatedCostUsd: 0,
      unpriced: 0,
    };
    row.requests += 1;
    row.milliUnits += event.costMilli;
    row.inputTokens += event.inputTokens;
    row.outputTokens += event.outputTokens;
    row.costUsd += event.costUsd ?? 0;
    row.errors += event.class === 'ok' ? 0 : 1;
    row.unpriced += event.costUsd === null && event.target !== null ? 1 : 0;
    const { usageSource: source } = event;
    if (source === 'counted' || source === 'estimated') {
      row[`${source}Tokens`] += event.inputTokens + event.outputTokens;
      row[`${source}CostUsd`] += event.costUsd ?? 0;
    }
    rows.set(group, row);
  }
  const byName = (a: UsageRow, b: UsageRow) => (a.group < b.group ? -1 : 1);
  const byUnits = (a: UsageRow, b: UsageRow) => b.milliUnits - a.milliUnits || byName(a, b);
  return [...rows.values()].map(rounded).toSorted(groupBy === 'day' || groupBy === 'hour' ? byName : byUnits);
}
