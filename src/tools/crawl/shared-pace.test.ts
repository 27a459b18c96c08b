import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { createHostTurns } from '../../net/host-turns.ts';
import { turnsOverReplicas } from './shared-pace.ts';

test('a page waits for its turn among all replicas; without a delay nobody is asked, who leaves begins nothing', async () => {
  const clock = fakeClock();
  const logged: string[] = [];
  const leaving = new AbortController();
  const turns = turnsOverReplicas(
    createHostTurns({ atOnceMax: 9, waitingMax: 9, hostsMax: 9, nowMs: clock.monotonicMs }),
    {
      clock,
      pace: {
        async take(host, delayMs, nowMs) {
          logged.push(`${host} ${delayMs} ${nowMs - clock.wallMs()}`);
          return host === 'free.test' ? 0 : 700;
        },
      },
      async pause(ms, signal) {
        logged.push(`wait ${ms}`);
        if (signal === leaving.signal) leaving.abort();
      },
    },
  );
  const never = new AbortController().signal;
  const work = async () => 'read';
  assert.equal(await turns.take({ tenant: 'a', host: 'site.test', delayMs: 1_000 }, never, work), 'read');
  assert.equal(await turns.take({ tenant: 'a', host: 'free.test', delayMs: 1_000 }, never, work), 'read');
  assert.equal(await turns.take({ tenant: 'a', host: 'fast.test', delayMs: 0 }, never, work), 'read');
  assert.deepEqual(logged, ['site.test 1000 0', 'wait 700', 'free.test 1000 0']);
  await assert.rejects(
    turns.take({ tenant: 'a', host: 'late.test', delayMs: 1_000 }, leaving.signal, async () => assert.fail()),
    { name: 'AbortError' },
  );
});
