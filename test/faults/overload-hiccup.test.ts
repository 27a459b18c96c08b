import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Overload, type Turn } from '../../src/http/overload.ts';
import { fakeClock } from '../fake-clock.ts';

const workMs = 0.25;

function busy() {
  const clock = fakeClock();
  const overload = new Overload({ clock, delayMs: () => 5_000, heapShare: () => 0 });
  const decided: Record<Turn, number> = { begin: 0, refuse: 0 };
  const come = (count: number) => {
    for (let at = 0; at < count; at += 1) {
      void overload.take({ account: 'a', client: { disconnected: false } }).then((to) => {
        decided[to] += 1;
        clock.advance(to === 'begin' ? workMs : 0);
      });
    }
  };
  return { clock, overload, decided, come };
}

for (const turnsBefore of [0, 40]) {
  test(`one long turn of the loop refuses nobody whom the pace of ${turnsBefore} other turns serves in time`, async () => {
    const { clock, overload, decided, come } = busy();
    overload.engaged = true;
    come(2_500);
    for (let at = 0; at < turnsBefore; at += 1) await turn();
    // A collection of garbage: it seems to take 15 ms to begin one.
    clock.advance(120);
    for (let at = 0; at < 4; at += 1) {
      await turn();
      come(100);
    }
    while (overload.waiting > 0) await turn();
    await turn();
    assert.deepEqual(decided, { begin: 2_900, refuse: 0 });
  });
}

test('connections that come in turn after turn make requests take turns, and short turns do not', async () => {
  for (const [turnMs, engaged] of [
    [0.5, false],
    [15, true],
  ] as const) {
    const { clock, overload } = busy();
    for (let at = 0; at < 60; at += 1) {
      overload.tookConnection();
      clock.advance(turnMs);
      await turn();
    }
    assert.equal(overload.engaged, engaged, `turns of ${turnMs} ms`);
  }
});

test('connections that come now and then make nobody take turns', async () => {
  const { clock, overload } = busy();
  for (let at = 0; at < 60; at += 1) {
    overload.tookConnection();
    for (let turns = 0; turns < 3; turns += 1) {
      clock.advance(10);
      await turn();
    }
  }
  assert.equal(overload.engaged, false);
});
