import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextStart } from './process-starts.ts';

test('S30 between two starts of processes the loop goes round often enough to let others in', async () => {
  let rounds = 0;
  let counting = true;
  const count = () => {
    rounds += 1;
    if (counting) setImmediate(count);
  };
  count();
  const startedAt: number[] = [];
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      await nextStart();
      startedAt.push(rounds);
    }),
  );
  counting = false;
  const gaps = startedAt.slice(1).map((at, before) => at - startedAt[before]!);
  assert.ok(
    gaps.every((gap) => gap >= 15),
    `${gaps}`,
  );
});
