import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pruneByTime } from './by-time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

test('F28 a clock that leaps forward removes nothing old for a day, nor when it is set right again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let monotonicMs = 0;
  let aheadMs = 1_750_000_000_000;
  const clock = { wallMs: () => monotonicMs + aheadMs, monotonicMs: () => monotonicMs };
  const reported: unknown[] = [];
  const log = { error: (facts: unknown) => reported.push(facts) };
  const pruned: number[] = [];
  const prune = (nowMs: number) => {
    pruned.push(nowMs);
    return [];
  };
  t.after(pruneByTime({ prune, clock, log: log as never }));
  const prunes = (ms: number) => {
    pruned.length = 0;
    for (let passed = 0; passed < ms; passed += hourMs) {
      monotonicMs += hourMs;
      t.mock.timers.tick(hourMs);
    }
    return pruned.length;
  };
  assert.ok(prunes(hourMs) > 0);
  aheadMs += 2 * hourMs;
  assert.equal(prunes(hourMs), 1, 'a small step');

  aheadMs += 400 * dayMs;
  assert.equal(prunes(20 * hourMs), 0);
  assert.deepEqual(reported, [{ days: 400 }]);
  aheadMs -= 400 * dayMs;
  assert.equal(prunes(hourMs), 1, 'it was set right');

  aheadMs += 3 * dayMs;
  assert.equal(prunes(23 * hourMs), 0);
  assert.ok(prunes(3 * hourMs) > 0, 'it holds for a day, so it is right');
  aheadMs -= 3 * dayMs;
  assert.equal(prunes(hourMs), 1);
});
