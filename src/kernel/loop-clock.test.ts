import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { createLoopClock, loopLagMaxMs } from './loop-clock.ts';

test('a wait does not count what our own loop took, up to a bound', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const clock = fakeClock(0);
  const loop = createLoopClock(clock);
  const turn = (ms: number) => {
    clock.advance(ms);
    t.mock.timers.tick(Math.min(ms, 20));
  };
  const since = loop.now();
  for (let turns = 0; turns < 5; turns += 1) turn(20);
  assert.equal(loop.leftMs(since, 230), 130, 'a loop that turns counts all of it');
  clock.advance(300);
  assert.equal(loop.leftMs(since, 230), 90, 'of a long turn only a little counts, before the next tick too');
  t.mock.timers.tick(20);
  assert.equal(loop.leftMs(since, 230), 90);
  for (let turns = 0; turns < 5; turns += 1) turn(20);
  assert.equal(loop.leftMs(since, 230), -10);

  const long = loop.now();
  for (let turns = 0; turns < 3; turns += 1) turn(300);
  assert.equal(loop.leftMs(long, 230), 230 + loopLagMaxMs - 900, 'whatever the loop did');
  loop.stop();
});
