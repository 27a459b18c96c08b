import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuotaClock } from './rolling-sum.ts';

function clocks(startMs = 1_000_000) {
  const at = { wallMs: startMs, monotonicMs: 50 };
  const quota = new QuotaClock({ wallMs: () => at.wallMs, monotonicMs: () => at.monotonicMs });
  const pass = (ms: number) => {
    at.wallMs += ms;
    at.monotonicMs += ms;
  };
  return { at, quota, pass };
}

test('quota time is the wall clock while nobody sets it', () => {
  const { quota, pass } = clocks();
  assert.equal(quota.nowMs(), 1_000_000);
  pass(1_234);
  assert.equal(quota.nowMs(), 1_001_234);
  assert.equal(quota.toWallMs(1_001_300), 1_001_300);
});

test('F28 a wall clock set back an hour takes nothing back: quota time goes on by what has really passed', () => {
  const { at, quota, pass } = clocks();
  const before = quota.nowMs();
  at.wallMs -= 3_600_000;
  assert.equal(quota.nowMs(), before);
  pass(60_000);
  assert.equal(quota.nowMs(), before + 60_000);
  assert.equal(quota.toWallMs(before + 61_000), at.wallMs + 1_000, 'people read the clock on their wall');
});

test('F28 a wall clock set forward is followed, and set right again later does not run back', () => {
  const { at, quota, pass } = clocks();
  at.wallMs += 3_600_000;
  assert.equal(quota.nowMs(), 4_600_000);
  at.wallMs -= 3_600_000;
  pass(10);
  assert.equal(quota.nowMs(), 4_600_010);
});

test('fractions of a millisecond are not lost, and answers are whole', () => {
  const { at, quota } = clocks();
  at.wallMs = 0;
  for (let i = 0; i < 1_000; i++) {
    at.monotonicMs += 0.25;
    assert.ok(Number.isInteger(quota.nowMs()));
  }
  assert.equal(quota.nowMs(), 1_000_250);
});

test('it never begins before the newest bucket of an earlier run', () => {
  const { at, quota, pass } = clocks();
  quota.startAt(900_000);
  assert.equal(quota.nowMs(), 1_000_000, 'an old one changes nothing');
  quota.startAt(1_200_000);
  assert.equal(quota.toWallMs(1_200_500), at.wallMs + 500);
  assert.equal(quota.nowMs(), 1_200_000);
  assert.equal(quota.toWallMs(1_200_500), at.wallMs + 500);
  pass(700);
  assert.equal(quota.nowMs(), 1_200_700);
});

test('an instant that people read never comes before quota time has reached it, whatever fraction of a ms lies between', () => {
  for (const leadMs of [0, 0.1, 0.5, 0.9]) {
    const real = { ms: 1_000_000 };
    let behindMs = 0;
    const quota = new QuotaClock({ wallMs: () => Math.floor(real.ms - behindMs), monotonicMs: () => real.ms });
    quota.nowMs();
    // As when the wall clock is set back a little: all that goes on is how far quota time is ahead.
    behindMs = leadMs;
    const read: number[] = [];
    for (let i = 0; i < 40; i++) {
      real.ms += 0.3;
      quota.nowMs();
      read.push(quota.toWallMs(1_000_100));
    }
    // The first readings may not know the fraction yet.
    const earliest = Math.min(...read.slice(10));
    real.ms = earliest + behindMs;
    assert.ok(quota.nowMs() >= 1_000_100, `${leadMs}: ${earliest} is too early`);
    assert.ok(Math.max(...read) <= 1_000_101, `${leadMs}: at most one ms late`);
  }
});
