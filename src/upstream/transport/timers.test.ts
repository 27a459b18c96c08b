import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fakeTime } from '../../../test/fake-time.ts';
import { until } from '../../../test/until.ts';
import { AttemptTimers, attemptTime, type ExpiredTimer } from './timers.ts';

function start(limits: { firstTokenMs?: number; idleMs?: number; totalMs?: number } = {}) {
  const time = fakeTime();
  const startMs = time.monotonicMs();
  const expired: [ExpiredTimer, number][] = [];
  const timers = new AttemptTimers(
    {
      firstTokenMs: limits.firstTokenMs ?? 30_000,
      idleMs: limits.idleMs ?? 20_000,
      totalDeadlineMs: startMs + (limits.totalMs ?? 600_000),
    },
    (timer) => expired.push([timer, time.monotonicMs() - startMs]),
    time,
  );
  return { time, timers, expired };
}

test('without content the attempt ends at first-token, once', () => {
  const { time, expired } = start();
  time.advance(29_999);
  assert.deepEqual(expired, []);
  time.advance(1_000_000);
  assert.deepEqual(expired, [['first-token', 30_000]]);
  assert.equal(time.alarms(), 0);
});

test('F5 silence after content ends the attempt at idle, counted from the last content', () => {
  for (const idleMs of [5_000, 30_000, 45_000]) {
    const { time, timers, expired } = start({ idleMs });
    time.advance(1_000);
    timers.content();
    time.advance(idleMs - 1);
    timers.content();
    time.advance(idleMs - 1);
    assert.deepEqual(expired, []);
    time.advance(1);
    assert.deepEqual(expired, [['idle', 1_000 + idleMs - 1 + idleMs]]);
  }
});

test('content for ever ends at total', () => {
  const { time, timers, expired } = start({ totalMs: 60_000 });
  for (let i = 0; i < 100; i++) {
    time.advance(1_000);
    timers.content();
  }
  assert.deepEqual(expired, [['total', 60_000]]);
});

test('total comes first when it is shorter than first-token', () => {
  const { time, expired } = start({ totalMs: 10_000 });
  time.advance(100_000);
  assert.deepEqual(expired, [['total', 10_000]]);
});

test('F19 a slow reader stops idle, and what was waited before counts after', () => {
  const { time, timers, expired } = start();
  timers.content();
  time.advance(15_000);
  timers.pause();
  time.advance(100_000);
  timers.resume();
  time.advance(4_999);
  assert.deepEqual(expired, []);
  time.advance(1);
  assert.deepEqual(expired, [['idle', 120_000]]);
});

test('content that arrives during a pause starts a new wait at resume', () => {
  const { time, timers, expired } = start();
  timers.pause();
  time.advance(7_000);
  timers.content();
  time.advance(50_000);
  timers.resume();
  time.advance(19_999);
  assert.deepEqual(expired, []);
  time.advance(1);
  assert.deepEqual(expired, [['idle', 77_000]]);
});

test('total runs during a pause', () => {
  const { time, timers, expired } = start({ totalMs: 60_000 });
  timers.pause();
  time.advance(60_000);
  assert.deepEqual(expired, [['total', 60_000]]);
});

test('after stop nothing fires and no alarm is left', () => {
  const { time, timers, expired } = start();
  timers.content();
  timers.stop();
  timers.stop();
  timers.pause();
  timers.resume();
  timers.content();
  assert.equal(time.alarms(), 0);
  time.advance(1_000_000);
  assert.deepEqual(expired, []);
});

test('10,000 chunks set a handful of alarms', () => {
  const time = fakeTime();
  let set = 0;
  const counted = {
    ...time,
    after(ms: number, wake: () => void) {
      set += 1;
      return time.after(ms, wake);
    },
  };
  const limits = { firstTokenMs: 30_000, idleMs: 30_000, totalDeadlineMs: time.monotonicMs() + 600_000 };
  const timers = new AttemptTimers(limits, () => assert.fail('nothing is late'), counted);
  for (let i = 0; i < 10_000; i++) {
    time.advance(10);
    timers.content();
  }
  assert.ok(set <= 6, `${set} alarms`);
});

test('alarms of attempts go off when they are due, in that order, and those that are cancelled do not', async () => {
  const went: string[] = [];
  const late = attemptTime.after(60_000, () => went.push('late'));
  const second = attemptTime.after(30, () => went.push('second'));
  const cancelled = attemptTime.after(20, () => went.push('cancelled'));
  attemptTime.after(10, () => {
    went.push('first');
    attemptTime.cancel(cancelled);
    attemptTime.after(40, () => went.push('third'));
  });
  while (!went.includes('third')) await pause(5);
  assert.deepEqual(went, ['first', 'second', 'third']);
  // Cancelled after it went off: nothing else is.
  attemptTime.cancel(second);
  attemptTime.after(1, () => went.push('fourth'));
  while (!went.includes('fourth')) await pause(5);
  attemptTime.cancel(late);
});

test('an alarm that throws keeps no other from going off', async (t) => {
  const errors: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => errors.push(error));
  t.after(() => process.setUncaughtExceptionCaptureCallback(null));
  const went: string[] = [];
  attemptTime.after(5, () => {
    throw new Error('a fault of ours');
  });
  attemptTime.after(5, () => went.push('beside'));
  const later = attemptTime.after(20, () => went.push('later'));
  await until('both others went off', () => went.length === 2);
  attemptTime.cancel(later);
  assert.deepEqual(went, ['beside', 'later']);
  assert.equal(errors.length, 1);
});
