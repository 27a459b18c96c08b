import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantileMs } from '../../src/books/ledger/traffic-queries.ts';
import type { Ledger, UsageAttempt } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

const attempt = (over: Partial<UsageAttempt>): UsageAttempt => ({
  target: 'openai/gpt-x',
  provider: 'openai',
  model: 'gpt-x',
  credential: 'openai#0',
  class: 'ok',
  status: 200,
  startMs: 0,
  ms: 1_000,
  firstTokenMs: 200,
  bytes: 100,
  usage: null,
  usageSource: 'upstream',
  costUsd: null,
  message: null,
  ...over,
});
const dead = { target: 'gone/gpt-x', provider: 'gone', credential: 'gone#0', class: 'unreachable', firstTokenMs: null };

async function settle(ledger: Ledger, atMs: number, attempts: readonly UsageAttempt[]): Promise<void> {
  const row = reservationRow({ atMs, alias: 'smart' });
  await ledger.open(row);
  const answered = attempts.some((one) => one.class === 'ok');
  ledger.close(usageEvent(row, { class: answered ? 'ok' : 'upstreams-failed', route: { attempts } }));
}

for (const driver of drivers) {
  const { skip } = driver;
  test(`${driver.name}: attempts are summed by who was asked, how it ended and when`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Math.floor(Date.now() / hourMs) * hourMs;
    const usage = { inputTokens: 10, outputTokens: 40 };
    await settle(ledger, nowMs, [attempt({ ...dead, ms: 3 }), attempt({ startMs: 3, usage })]);
    await settle(ledger, nowMs + minuteMs, [attempt({ ...dead, ms: 4 })]);
    // The second began while the first was silent, and outran it.
    await settle(ledger, nowMs + minuteMs, [
      attempt({ credential: 'openai#1', startMs: 500, ms: 300, firstTokenMs: 20, usage }),
      attempt({ class: 'cancelled', status: null, ms: 800, firstTokenMs: null }),
    ]);
    await ledger.flush();
    const query = {
      groupBy: 'provider',
      where: {},
      groups: null,
      grain: 'minute',
      fromMs: nowMs,
      toMs: nowMs + hourMs,
      stepMs: null,
    } as const;
    const summed = async (over: object) =>
      (await ledger.attempts({ ...query, ...over })).map((sum) => [sum.group, sum.class, sum.attempts]);
    assert.deepEqual(await summed({}), [
      ['gone', 'unreachable', 2],
      ['openai', 'ok', 2],
      ['openai', 'cancelled', 1],
    ]);
    assert.deepEqual(await summed({ groupBy: 'credential', where: { provider: 'openai' } }), [
      ['openai#0', 'cancelled', 1],
      ['openai#0', 'ok', 1],
      ['openai#1', 'ok', 1],
    ]);
    assert.deepEqual(await summed({ groupBy: 'model', where: { target: 'gone/gpt-x' } }), [
      ['smart', 'unreachable', 2],
    ]);
    assert.deepEqual(await summed({ groups: ['gone'] }), [['gone', 'unreachable', 2]]);
    assert.deepEqual(await summed({ where: { provider: "' OR '1'='1" } }), []);
    assert.deepEqual(await summed({ grain: 'hour' }), await summed({}), 'hours hold what their minutes do');

    const all = await ledger.attempts(query);
    const [gone, answered] = all;
    assert.deepEqual([gone?.retried, gone?.hedges], [1, 0], 'after the other one nobody was asked');
    assert.deepEqual([answered?.retried, answered?.hedges], [0, 1]);
    assert.deepEqual([answered?.outputTokens, answered?.outputMs], [80, 800 + 280]);
    assert.equal(quantileMs(answered?.firstTokens ?? [], 1), 200);
    assert.equal(quantileMs(gone?.firstTokens ?? [], 0.5), null);

    const steps = await ledger.attempts({ ...query, stepMs: minuteMs, groups: ['gone'] });
    assert.deepEqual(
      steps.map(({ fromMs, attempts }) => [fromMs - nowMs, attempts]),
      [
        [0, 1],
        [minuteMs, 1],
      ],
    );
    await ledger.shutdown();

    // Minutes are forgotten before their hour is, and it in the end.
    for (const [boot, hours, left] of [
      ['boot-2', 60, 3],
      ['boot-3', 199 * 24, 3],
      ['boot-4', 201 * 24, 0],
    ] as const) {
      const later = await store.ledger(boot, {
        wallMs: () => nowMs + hours * hourMs,
        monotonicMs: () => performance.now(),
      });
      await later.prune(0);
      assert.deepEqual(await later.attempts(query), []);
      assert.equal((await later.attempts({ ...query, grain: 'hour' })).length, left, boot);
      await later.shutdown();
    }
  });
}
