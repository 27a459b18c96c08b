import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { answerMaxMs, createPatience, patiently, silentMaxMs } from './patience.ts';

test('a store is waited for while it answers anybody, up to a bound, and given up when it is silent', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const clock = fakeClock(0);
  const patience = createPatience(clock);
  const turn = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      t.mock.timers.tick(10);
    }
  };
  const since = patience.now();
  turn(200);
  assert.equal(patience.leftMs(since), silentMaxMs - 200, 'nothing was heard');
  patience.answered();
  assert.equal(patience.leftMs(since), silentMaxMs, 'it answered somebody');
  assert.equal(patience.leftMs(since, 250), 50, 'not longer than the caller may wait');
  for (let waitedMs = 200; waitedMs < answerMaxMs; waitedMs += 100) {
    turn(100);
    patience.answered();
  }
  assert.ok(patience.leftMs(since) <= 0, 'it answers others, but not this');

  let probes = 0;
  const onSlow = () => {
    probes += 1;
  };
  const never = new Promise(() => {});
  const silent = assert.rejects(patiently(patience, never, { onSlow, silence: () => new Error('silence') }), /silence/);
  turn(silentMaxMs);
  await silent;
  assert.equal(probes, 2, 'it asks every 100 ms');
  patience.stop();
});
