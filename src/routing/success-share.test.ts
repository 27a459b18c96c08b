import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SuccessShare } from './rolling-counts.ts';

const startMs = 1_000_000;

/** One request of `tenant` that fails. */
function fail(share: SuccessShare, tenant: string, nowMs: number): void {
  share.missed(nowMs);
  share.failed(tenant, nowMs);
}

const near = (actual: number, expected: number, slack = 0.01) =>
  assert.ok(Math.abs(actual - expected) <= slack, `${actual} is not about ${expected}`);

test('nothing known is as good as healthy', () => {
  assert.deepEqual([new SuccessShare().at(startMs), new SuccessShare().rightNow(startMs)], [1, 1]);
});

test('an outage shows within nine failures', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 1_000; i++) share.succeeded('dev/laptop', startMs);
  for (let i = 0; i < 8; i++) fail(share, 'dev/laptop', startMs);
  assert.ok(share.at(startMs) > 0.15);
  fail(share, 'dev/laptop', startMs);
  assert.ok(share.at(startMs) < 0.15, `${share.at(startMs)}`);
});

test('the share is that of the last minute while nothing worse happened lately', () => {
  const share = new SuccessShare();
  // Three of ten fail, each failure followed by successes.
  for (let i = 0; i < 300; i++) {
    if (i % 10 === 2 || i % 10 === 5 || i % 10 === 7) fail(share, 'dev/laptop', startMs + i * 100);
    else share.succeeded('dev/laptop', startMs + i * 100);
  }
  near(share.at(startMs + 30_000), 0.7, 0.06);
  assert.deepEqual(share.counts(startMs + 30_000), { succeeded: 210, failed: 90 });
  assert.deepEqual(share.counts(startMs + 90_000), { succeeded: 0, failed: 0 });
});

test('what was bad stands for 5 s and is then forgotten bit by bit, so that it is tried again', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 10; i++) fail(share, 'dev/laptop', startMs);
  const bad = share.at(startMs);
  assert.equal(share.at(startMs + 5_000), bad);
  // Once the minute's own counts are gone only the recent share is left.
  near(share.at(startMs + 66_000), 1 - (1 - 0.8 ** 10) * Math.exp(-61_000 / 30_000), 0.001);
});

test('right after a failure the next attempt is expected to fail too, for half a second', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 200; i++) share.succeeded('dev/laptop', startMs);
  fail(share, 'dev/laptop', startMs);
  const lately = share.at(startMs);
  const after = [1, 2, 3].map(() => {
    const hope = share.rightNow(startMs + 10);
    // A request's second failure is reported as well, and counts once.
    share.missed(startMs + 10);
    return hope;
  });
  assert.ok(after[0]! < lately && after[1]! < after[0]! && after[2]! < after[1]!, `${lately} ${after}`);
  assert.ok(after[2]! < 0.01, 'three in a row of a healthy target: it has gone down');
  assert.equal(share.rightNow(startMs + 10 + 500), share.at(startMs + 510));
  assert.deepEqual(share.counts(startMs + 510), { succeeded: 200, failed: 1 });
});

test('failures in a row of what fails half of the time anyhow say little of the next attempt', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 100; i++) {
    fail(share, 'dev/laptop', startMs);
    share.succeeded('dev/laptop', startMs);
  }
  fail(share, 'dev/laptop', startMs);
  fail(share, 'dev/laptop', startMs);
  assert.ok(share.rightNow(startMs) > share.at(startMs) * 0.8);
});

test('a success ends a row of failures', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 3; i++) fail(share, 'dev/laptop', startMs);
  share.succeeded('dev/laptop', startMs);
  assert.equal(share.rightNow(startMs), share.at(startMs));
});

test('dead is fewer than a fifth of at least ten requests', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 9; i++) fail(share, i % 2 === 0 ? 'a' : 'b', startMs);
  assert.equal(share.isDead(10, startMs), false, 'nine are too few');
  fail(share, 'a', startMs);
  assert.equal(share.isDead(10, startMs), true);
  // 2 of 12 is less than a fifth, 3 of 13 is not.
  for (let i = 0; i < 2; i++) share.succeeded('a', startMs);
  assert.equal(share.isDead(10, startMs), true);
  share.succeeded('a', startMs);
  assert.equal(share.isDead(10, startMs), false);
});

test('exactly a fifth is not dead', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 2; i++) share.succeeded('a', startMs);
  for (let i = 0; i < 8; i++) fail(share, i % 2 === 0 ? 'a' : 'b', startMs);
  assert.equal(share.isDead(10, startMs), false);
  fail(share, 'a', startMs);
  assert.equal(share.isDead(10, startMs), true);
});

test('failures older than a minute do not make it dead', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 20; i++) fail(share, i % 2 === 0 ? 'a' : 'b', startMs);
  assert.equal(share.isDead(10, startMs + 66_000), false);
});

test('S26 one tenant that asks alone can tell that a target is dead, one among others cannot', () => {
  const alone = new SuccessShare();
  for (let i = 0; i < 10; i++) fail(alone, 'poisoned', startMs);
  assert.equal(alone.isDead(10, startMs), true);
  const shared = new SuccessShare();
  for (let i = 0; i < 100; i++) fail(shared, 'poisoned', startMs);
  shared.succeeded('other', startMs);
  assert.equal(shared.isDead(10, startMs), false);
});

test('S26 failures that follow one tenant do not lower the share', () => {
  const share = new SuccessShare();
  fail(share, 'poisoned', startMs);
  for (let i = 0; i < 25; i++) share.succeeded('other', startMs);
  const before = share.at(startMs);
  for (let i = 0; i < 50; i++) fail(share, 'poisoned', startMs);
  assert.equal(share.followsTenant('poisoned', startMs), true);
  assert.equal(share.followsTenant('other', startMs), false);
  assert.ok(share.at(startMs) >= before, `${share.at(startMs)} was ${before}`);
  assert.deepEqual(share.counts(startMs), { succeeded: 25, failed: 51 }, 'people see all of them');
});

test('failures follow a tenant from its second one, when others are served at least five times', () => {
  const share = new SuccessShare();
  fail(share, 'poisoned', startMs);
  for (let i = 0; i < 4; i++) share.succeeded('other', startMs);
  fail(share, 'poisoned', startMs);
  assert.equal(share.followsTenant('poisoned', startMs), false, 'four of others are too few');
  share.succeeded('other', startMs);
  assert.equal(share.followsTenant('poisoned', startMs), true);
});

test('failures that meet others too follow nobody', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 10; i++) {
    fail(share, 'a', startMs);
    if (i % 3 === 0) fail(share, 'b', startMs);
    else share.succeeded('b', startMs);
  }
  assert.equal(share.followsTenant('a', startMs), false);
  assert.equal(share.followsTenant('b', startMs), false);
});

test('who was served most of the time is not to blame', () => {
  const share = new SuccessShare();
  fail(share, 'a', startMs);
  for (let i = 0; i < 20; i++) share.succeeded('b', startMs);
  for (let i = 0; i < 3; i++) share.succeeded('a', startMs);
  fail(share, 'a', startMs);
  assert.equal(share.followsTenant('a', startMs), false);
});

test('at most eight tenants are kept; those whose failures are over make room', () => {
  const share = new SuccessShare();
  const failTwice = (tenant: string, nowMs: number) => {
    for (let i = 0; i < 2; i++) fail(share, tenant, nowMs);
  };
  for (let i = 0; i < 9; i++) failTwice(`t${i}`, startMs);
  for (let i = 0; i < 200; i++) share.succeeded('other', startMs);
  assert.equal(share.followsTenant('t7', startMs), true);
  assert.equal(share.followsTenant('t8', startMs), false, 'the ninth counts for the target alone');
  const laterMs = startMs + 66_000;
  fail(share, 't8', laterMs);
  // Routing reads the share of every target that it might ask: those whose failures are over go then.
  assert.ok(share.at(laterMs) < 1);
  failTwice('t8', laterMs);
  for (let i = 0; i < 5; i++) share.succeeded('other', laterMs);
  assert.equal(share.followsTenant('t8', laterMs), true);
});

test('a fresh start forgets everything', () => {
  const share = new SuccessShare();
  for (let i = 0; i < 5; i++) share.succeeded('a', startMs);
  for (let i = 0; i < 20; i++) fail(share, i % 2 === 0 ? 'a' : 'b', startMs);
  share.clear();
  assert.deepEqual([share.at(startMs), share.rightNow(startMs), share.isDead(10, startMs)], [1, 1, false]);
  assert.deepEqual(share.counts(startMs), { succeeded: 0, failed: 0 });
});
