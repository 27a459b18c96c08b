import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Loss, Losses, lose } from './loss.ts';

test('of a hundred thousand members that have no place, a thousand are listed, and soon', () => {
  const names = Array.from({ length: 100_000 }, (_, at) => `x${at}`);
  const before = process.cpuUsage();
  const found = new Losses();
  found.addUnknown(Object.fromEntries(names.map((name) => [name, 1])), new Set(['x0']), 'messages');
  const losses: Loss[] = [];
  for (const name of names) lose({ losses }, name);
  const ms = process.cpuUsage(before).user / 1_000;
  assert.deepEqual([found.list.length, losses.length], [1_000, 1_000]);
  assert.deepEqual([found.list[0]?.field, losses[0]?.field], ['messages.x1', 'x0']);
  assert.ok(ms < 3_000, `${ms} ms`);
});
