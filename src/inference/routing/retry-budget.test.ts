import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aliasesMax, createRetryBudget } from './retry-budget.ts';

function taken(budget: ReturnType<typeof createRetryBudget>, alias: string, nowMs: number): number {
  let count = 0;
  while (budget.take(alias, nowMs)) count++;
  return count;
}

test('a quiet alias has 3 further attempts a second, over ten seconds', () => {
  const budget = createRetryBudget();
  budget.requested('quiet', 0);
  assert.equal(taken(budget, 'quiet', 0), 30);
  assert.equal(taken(budget, 'quiet', 9_999), 0);
  assert.equal(taken(budget, 'quiet', 10_000), 30);
});

test('a busy alias has a fifth of its recent requests', () => {
  const budget = createRetryBudget();
  for (let i = 0; i < 1_000; i++) budget.requested('busy', i);
  assert.equal(taken(budget, 'busy', 1_000), 200);
});

test('aliases do not share', () => {
  const budget = createRetryBudget();
  assert.equal(taken(budget, 'a', 0), 30);
  assert.equal(taken(budget, 'b', 0), 30);
});

test('names that callers invent do not pile up: the oldest is forgotten', () => {
  const budget = createRetryBudget();
  assert.equal(taken(budget, 'first', 0), 30);
  for (let i = 0; i < aliasesMax; i++) budget.requested(`invented-${i}`, 0);
  assert.equal(budget.take('first', 0), true);
});
