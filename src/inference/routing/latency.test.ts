import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeakEwma } from './lane.ts';

test('a slower answer counts at once, a faster one by and by', () => {
  const ewma = new PeakEwma();
  ewma.observe(100, 0);
  ewma.observe(900, 1_000);
  assert.equal(ewma.readMs(1, 1_000), 900);
  ewma.observe(100, 2_000);
  const afterOne = ewma.readMs(1, 2_000);
  assert.ok(afterOne > 800 && afterOne < 900, `${afterOne}`);
  ewma.observe(100, 62_000);
  assert.ok(ewma.readMs(1, 62_000) < 105);
});

test('an idle slow target looks better with time, so that it is tried again', () => {
  const ewma = new PeakEwma();
  ewma.observe(5_000, 0);
  assert.ok(Math.abs(ewma.readMs(0, 10_000) - 5_000 / Math.E) < 1);
  assert.equal(ewma.readMs(0, 600_000), 1);
});

test('F3 only one goes first: while somebody awaits its first token, neither age nor ignorance flatters a target', () => {
  const ewma = new PeakEwma();
  assert.equal(ewma.readMs(0, 0), 1, 'unknown and idle: try it');
  assert.equal(ewma.readMs(1, 0), 1_000, 'unknown and being tried: a guess');
  ewma.observe(5_000, 0);
  assert.equal(ewma.readMs(1, 600_000), 5_000);
});
