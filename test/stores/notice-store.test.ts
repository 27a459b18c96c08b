import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Crossing, Notice } from '../../src/books/metering/notices/notice-store.ts';
import { createAlertStore } from '../../src/stores/answers/alert-store.ts';
import { createNoticeStore, noticeHistory } from '../../src/stores/answers/notice-store.ts';
import { openCulvertTables } from '../../src/stores/sqlite/stores.ts';
import { drivers } from './drivers.ts';

const nowMs = 1_750_000_000_000;
const crossing: Crossing = { scope: 'a:dev', limit: '5h', share: 0.8, crossedMs: nowMs };

function notice(id: string, createdMs = nowMs): Notice {
  return { id, plan: 'pro', body: `{"id":"${id}"}`, createdMs, tries: 0 };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a crossing is told once, whichever process notes it, and again once it was rearmed`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const processes = await Promise.all([1, 2, 3, 4].map(() => store.notices()));
    const told = await Promise.all(
      Array.from({ length: 16 }, (_, at) => processes[at % 4]!.cross(crossing, notice(`msg_${at}`))),
    );
    assert.equal(told.filter(Boolean).length, 1);
    const [first, second] = [processes[0]!, processes[1]!];
    assert.equal((await first.due(nowMs, nowMs + 1, 100)).length, 1, 'one notice with it');
    assert.deepEqual(await second.crossed(crossing.scope), [crossing]);
    assert.equal(await first.cross({ ...crossing, share: 0.95 }, notice('msg_95')), true, 'another share');
    assert.equal(await first.cross({ ...crossing, scope: 'a:other' }, notice('msg_other')), true, 'another scope');
    await first.rearm(crossing.scope, crossing.limit, crossing.share);
    await first.rearm(crossing.scope, crossing.limit, crossing.share);
    assert.equal(await second.cross({ ...crossing, crossedMs: nowMs + 9 }, notice('msg_again')), true);
    for (const one of processes) await one.close();
  });

  test(`${driver.name}: crossings are read page by page, each once, whatever two have in common`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const notices = await store.notices();
    const names = ['a:dev', 'a:other'].flatMap((scope) =>
      ['5h', 'month'].flatMap((limit) => [0.8, 0.95].map((share) => ({ scope, limit, share }))),
    );
    for (const [at, one] of names.entries()) await notices.cross({ ...crossing, ...one }, notice(`msg_${at}`));
    const found: Crossing[] = [];
    for (;;) {
      const page = await notices.crossings(found.at(-1) ?? null, 3);
      assert.ok(page.length <= 3);
      found.push(...page);
      if (page.length < 3) break;
    }
    assert.deepEqual(
      found,
      names.map((one) => ({ ...crossing, ...one })),
    );
    assert.equal((await notices.crossed('a:other')).length, 4, 'of one scope');
    await notices.close();
  });

  test(`${driver.name}: a due notice is leased to one process until its lease ends`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [one, other] = [await store.notices(), await store.notices()];
    for (const at of [3, 1, 2]) await one.cross({ ...crossing, share: at / 10 }, notice(`msg_${at}`, nowMs + at));
    assert.deepEqual(await one.due(nowMs, nowMs + 100, 10), [], 'not before its time');
    assert.deepEqual(await one.due(nowMs + 5, nowMs + 100, 2), [
      notice('msg_1', nowMs + 1),
      notice('msg_2', nowMs + 2),
    ]);
    assert.deepEqual(await other.due(nowMs + 5, nowMs + 100, 10), [notice('msg_3', nowMs + 3)]);
    assert.deepEqual(await other.due(nowMs + 99, nowMs + 200, 10), []);
    const ids = (await other.due(nowMs + 100, nowMs + 200, 10)).map(({ id }) => id);
    assert.deepEqual(ids, ['msg_1', 'msg_2', 'msg_3'], 'its process died');
    await one.close();
    await other.close();
  });

  test(`${driver.name}: plans take turns, however many notices one has, and some can be left out`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const notices = await store.notices();
    const queue = (id: string, plan: string, at: number) =>
      notices.cross({ ...crossing, scope: id }, { ...notice(id, nowMs + at), plan });
    for (let at = 0; at < 6; at += 1) await queue(`msg_a${at}`, 'a', at);
    await queue('msg_b', 'b', 10);
    await queue('msg_c', 'c', 11);
    const ids = async (limit: number, but?: readonly string[]) =>
      (await notices.due(nowMs + 20, nowMs + 1_000, limit, but)).map(({ id }) => id);
    assert.deepEqual(await ids(2), ['msg_a0', 'msg_b']);
    assert.deepEqual(await ids(9, ['a', 'b']), ['msg_c']);
    assert.deepEqual(await ids(9, ['a']), []);
    assert.equal((await ids(9)).length, 5);
    await notices.close();
  });

  test(`${driver.name}: of parallel askers each due notice goes to one`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const processes = await Promise.all([1, 2, 3, 4].map(() => store.notices()));
    for (let at = 0; at < 20; at += 1) await processes[0]!.cross({ ...crossing, share: at / 100 }, notice(`msg_${at}`));
    const got = await Promise.all(processes.map((one) => one.due(nowMs, nowMs + 1_000, 20)));
    const ids = got.flat().map(({ id }) => id);
    assert.equal(ids.length, 20);
    assert.equal(new Set(ids).size, 20);
    for (const one of processes) await one.close();
  });

  test(`${driver.name}: a delivered notice is gone, a failed one comes back with its tries, a hopeless one does not`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const notices = await store.notices();
    for (const at of [1, 2, 3]) await notices.cross({ ...crossing, share: at / 10 }, notice(`msg_${at}`));
    await notices.due(nowMs, nowMs + 10, 10);
    await notices.end('msg_1', { state: 'delivered', tries: 1, reason: null, endedMs: nowMs });
    await notices.retry('msg_2', { tries: 1, nextMs: nowMs + 60, reason: 'it answered 500' });
    await notices.end('msg_3', { state: 'given_up', tries: 8, reason: 'it answered 500', endedMs: nowMs });
    assert.deepEqual(await notices.due(nowMs + 59, nowMs + 1_000, 10), []);
    assert.deepEqual(await notices.due(nowMs + 60, nowMs + 1_000, 10), [{ ...notice('msg_2'), tries: 1 }]);
    // Reported notices stay reported.
    assert.equal((await notices.crossed(crossing.scope)).length, 3);
    await notices.close();
  });

  test(`${driver.name}: the list has what waits and what ended, newest first, page by page, of one kind too`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [notices, other] = [await store.notices(), await store.notices()];
    for (const at of [1, 2, 3]) await notices.cross({ ...crossing, share: at / 10 }, notice(`msg_${at}`, nowMs + at));
    await notices.cross({ ...crossing, share: 0.9 }, { ...notice('msg_4', nowMs + 3), plan: 'alert pager' });
    await notices.end('msg_1', { state: 'delivered', tries: 1, reason: null, endedMs: nowMs + 5 });
    await notices.retry('msg_2', { tries: 1, nextMs: nowMs + 60, reason: 'it answered 500' });
    await notices.end('msg_3', { state: 'given_up', tries: 8, reason: 'it answered 502', endedMs: nowMs + 6 });
    const all = await other.list({ limit: 10, before: null, plans: null });
    assert.deepEqual(
      all.map(({ id, state, tries, reason, nextMs, endedMs }) => [id, state, tries, reason, nextMs, endedMs]),
      [
        ['msg_4', 'waiting', 0, null, nowMs + 3, null],
        ['msg_3', 'given_up', 8, 'it answered 502', null, nowMs + 6],
        ['msg_2', 'waiting', 1, 'it answered 500', nowMs + 60, null],
        ['msg_1', 'delivered', 1, null, null, nowMs + 5],
      ],
    );
    const pages = [all.slice(0, 1), all.slice(1, 3), all.slice(3)];
    for (const [at, page] of pages.entries()) {
      const before = at === 0 ? null : pages[at - 1]!.at(-1)!;
      assert.deepEqual(await other.list({ limit: page.length, before, plans: null }), page);
    }
    assert.deepEqual(await other.list({ limit: 10, before: null, plans: { beginWith: 'alert ' } }), all.slice(0, 1));
    assert.deepEqual(await other.list({ limit: 2, before: all[1]!, plans: 'quota' }), all.slice(2));
    for (const one of [notices, other]) await one.close();
  });

  test(`${driver.name}: the history ends after its time`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const notices = await store.notices();
    for (const at of [1, 2, 3]) await notices.cross({ ...crossing, share: at / 10 }, notice(`msg_${at}`));
    const ended = { state: 'delivered', tries: 1, reason: null } as const;
    const { ageMaxMs } = noticeHistory;
    for (const [at, endedMs] of [nowMs, nowMs + ageMaxMs, nowMs + ageMaxMs + 1].entries()) {
      await notices.end(`msg_${at + 1}`, { ...ended, endedMs });
    }
    const left = await notices.list({ limit: 10, before: null, plans: null });
    assert.deepEqual(left.map(({ id }) => id).toSorted(), ['msg_2', 'msg_3']);
    await notices.close();
  });
}

test('a notice that a machine sends is not sent by another whose clock is 90 s ahead', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-notices-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const tables = () => openCulvertTables(join(folder, 'culvert.db'));
  // Ours has the time of the store, the other's store is 90 s behind it.
  const [ours, other] = [createNoticeStore(tables()), createNoticeStore(tables(), () => -90_000)];
  const aheadMs = nowMs + 90_000;
  await other.cross(crossing, notice('msg_1', aheadMs));
  assert.equal((await ours.due(nowMs, nowMs + 30_000, 10)).length, 1, 'due at once');
  assert.deepEqual(await other.due(aheadMs + 1, aheadMs + 30_000, 10), []);
  await other.retry('msg_1', { tries: 1, nextMs: aheadMs + 5_000, reason: 'refused' });
  assert.deepEqual(await ours.due(nowMs + 4_999, nowMs + 30_000, 10), []);
  assert.equal((await ours.due(nowMs + 5_000, nowMs + 30_000, 10)).length, 1);
  const alerts = createAlertStore(tables(), () => -90_000);
  await alerts.change(() => ({ write: [], forget: [], notices: [notice('msg_2', aheadMs)] }));
  assert.deepEqual(
    (await ours.due(nowMs, nowMs + 30_000, 10)).map(({ id }) => id),
    ['msg_2'],
    'an alert is due at once, too',
  );
  await alerts.close();
  await ours.close();
  await other.close();
});
