import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RollingCount } from './rolling-count.ts';

test('counts what is within the window and forgets it a bucket at a time', () => {
  const count = new RollingCount(1_000, 10);
  count.add(500);
  count.add(1_500);
  count.add(1_600);
  assert.equal(count.total(9_999), 3);
  assert.equal(count.total(10_000), 2);
  assert.equal(count.total(11_000), 0);
});

test('a long silence forgets all, at any distance', () => {
  const count = new RollingCount(1_000, 10);
  count.add(0);
  assert.equal(count.total(1e12 + 7), 0);
  count.add(1e12 + 7);
  assert.equal(count.total(1e12 + 8), 1);
});

test('time that runs backwards counts as now', () => {
  const count = new RollingCount(1_000, 10);
  count.add(50_000);
  count.add(1_000);
  assert.equal(count.total(50_000), 2);
});

test('says when few enough are left', () => {
  const count = new RollingCount(1_000, 61);
  count.add(100);
  count.add(5_200);
  count.add(5_300);
  assert.equal(count.atMostMs(3, 6_000), 6_000);
  assert.equal(count.atMostMs(2, 6_000), 61_000);
  assert.equal(count.atMostMs(1, 6_000), 66_000);
  assert.equal(count.atMostMs(0, 6_000), 66_000);
  const backMs = count.atMostMs(1, 6_000);
  assert.ok(count.total(backMs - 1) > 1);
  assert.ok(count.total(backMs) <= 1);
});
