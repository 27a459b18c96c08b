import assert from 'node:assert/strict';
import { test } from 'node:test';
import { putNewest } from './put-newest.ts';

test('a full map forgets what was put the longest ago, and a second put makes an entry the newest', () => {
  const map = new Map<string, number>();
  for (const [at, key] of ['a', 'b', 'c', 'a', 'd'].entries()) putNewest(map, key, at, 3);
  assert.deepEqual(
    [...map],
    [
      ['c', 2],
      ['a', 3],
      ['d', 4],
    ],
  );
  putNewest(map, 'e', 5, 1);
  assert.deepEqual([...map], [['e', 5]]);
});
