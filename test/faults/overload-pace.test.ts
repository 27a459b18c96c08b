import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Overload, type Turn } from '../../src/http/overload.ts';
import { fakeClock } from '../fake-clock.ts';

/** So much of the loop goes to refusals in each turn, and so little to a request that begins. */
const [refusalsMs, workMs] = [300, 1];

test('the pace recovers when turns of the loop go to refusals: whole turns as the pace would refuse all for ever', async () => {
  const clock = fakeClock();
  const overload = new Overload({ clock, delayMs: () => 250, heapShare: () => 0 });
  overload.engaged = true;
  const decided: Record<Turn, number> = { begin: 0, refuse: 0 };
  const come = (account: string) =>
    overload.take({ account, client: { disconnected: false } }).then((to) => {
      decided[to] += 1;
      if (to === 'begin') clock.advance(workMs);
    });

  // A flood whose refusals fill the turns: each request seems to take a third of a second.
  for (let round = 0; round < 40; round += 1) {
    for (let at = 0; at < 40; at += 1) void come('flood');
    clock.advance(refusalsMs);
    await turn();
  }
  assert.ok(decided.refuse > 100, `${decided.refuse} were refused`);

  // Fewer come now than can be served, and refusals still take most of each turn.
  for (let round = 0; round < 20; round += 1) {
    void come('few');
    clock.advance(refusalsMs);
    await turn();
    await turn();
  }
  Object.assign(decided, { begin: 0, refuse: 0 });
  for (let round = 0; round < 20; round += 1) {
    const all = ['a', 'b', 'c', 'd'].map((account) => come(account));
    clock.advance(refusalsMs);
    await Promise.all(all);
  }
  // The first of them find the pace of before.
  assert.ok(decided.begin >= 60, `${decided.begin} of 80 began`);
});
