import assert from 'node:assert/strict';
import { test } from 'node:test';
import { every } from './every.ts';

test('a look comes at each interval until it is stopped', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let looks = 0;
  const stop = every(1_000, () => {
    looks += 1;
  });
  t.mock.timers.tick(999);
  assert.equal(looks, 0);
  t.mock.timers.tick(2_001);
  assert.equal(looks, 3);
  stop();
  t.mock.timers.tick(5_000);
  assert.equal(looks, 3);
});
