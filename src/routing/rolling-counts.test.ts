import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aliasesMax, createRetryBudget, RollingCount } from './rolling-counts.ts';

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

function taken(budget: ReturnType<typeof createRetryBudget>, alias: string, nowMs: number): number {
  let count = 0;
  while (budget.take(alias, nowMs)) count++;
  return count;
}

test('a fifth of the alias’s requests of the last ten seconds, and no minimum', () => {
  const budget = createRetryBudget();
  for (let i = 0; i < 4; i++) budget.requested('quiet', 0);
  assert.equal(taken(budget, 'quiet', 0), 0);
  budget.requested('quiet', 0);
  assert.equal(taken(budget, 'quiet', 0), 1);
  for (let i = 0; i < 995; i++) budget.requested('quiet', 5_000);
  assert.equal(taken(budget, 'quiet', 5_000), 199);
  assert.equal(taken(budget, 'quiet', 9_999), 0);
  // The first five requests have left, and so has the first attempt.
  assert.equal(taken(budget, 'quiet', 10_000), 0);
  for (let i = 0; i < 5; i++) budget.requested('quiet', 10_000);
  assert.equal(taken(budget, 'quiet', 10_000), 1);
  assert.equal(taken(budget, 'quiet', 60_000), 0);
});

test('second attempts beside slow ones have a share of their own, and one is always allowed', () => {
  const budget = createRetryBudget();
  const hedged = (atMost: number, nowMs: number) => {
    let count = 0;
    while (budget.takeHedge('chat', atMost, nowMs)) count++;
    return count;
  };
  budget.requested('chat', 0);
  assert.equal(hedged(0.05, 0), 1);
  for (let i = 0; i < 199; i++) budget.requested('chat', 0);
  assert.equal(hedged(0.05, 0), 9);
  assert.equal(hedged(0.1, 0), 10);
  assert.equal(taken(budget, 'chat', 0), 40, 'and take nothing from further attempts');
  assert.equal(hedged(0.05, 10_000), 1);
});

test('aliases do not share', () => {
  const budget = createRetryBudget();
  for (let i = 0; i < 5; i++) budget.requested('a', 0);
  assert.equal(taken(budget, 'b', 0), 0);
  assert.equal(taken(budget, 'a', 0), 1);
});

test('names that callers invent do not pile up: the oldest is forgotten', () => {
  const budget = createRetryBudget();
  for (let i = 0; i < 5; i++) budget.requested('first', 0);
  for (let i = 0; i < aliasesMax; i++) budget.requested(`invented-${i}`, 0);
  assert.equal(budget.take('first', 0), false);
});
