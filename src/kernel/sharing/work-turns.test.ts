import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { createWorkTurns } from './work-turns.ts';

/** Calls are the milliseconds that they take, in one step or in several. */
function thread() {
  const clock = fakeClock(0);
  const turns = createWorkTurns(clock);
  const order: string[] = [];
  const call = async (tenant: string, stepsMs: readonly number[], label = tenant) => {
    const waits = turns.begin(tenant);
    if (waits !== null) await waits;
    for (const [i, ms] of stepsMs.entries()) {
      if (i > 0 && turns.isOver()) await turns.suspend(tenant);
      clock.advance(ms);
      order.push(label);
    }
  };
  return { turns, order, call };
}

test('a call of another tenant comes between the steps of those that were there before', async () => {
  const { call, order } = thread();
  const busy = Array.from({ length: 5 }, () => call('busy', [10, 10, 10]));
  await call('quiet', [10]);
  assert.ok(order.length <= 3, order.join());
  await Promise.all(busy);
  assert.equal(order.length, 16);
});

test('of tenants that wait, the one whose work took less time comes first', async () => {
  const { call, order } = thread();
  const calls: Promise<void>[] = [];
  for (let i = 0; i < 10; i++) calls.push(call('heavy', [30]), call('light', [5]));
  await Promise.all(calls);
  const lastLight = order.lastIndexOf('light');
  const heavyBefore = order.slice(0, lastLight).filter((one) => one === 'heavy').length;
  assert.ok(heavyBefore <= 3, order.join());
});

test('calls of one tenant begin in their order, and none while another of it is suspended', async () => {
  const { call, order } = thread();
  const labels = ['first', 'second', 'third'];
  await Promise.all([...labels.map((label) => call('one', [10, 10], label)), call('other', [10, 10, 10])]);
  assert.deepEqual(
    order.filter((label) => label !== 'other'),
    labels.flatMap((label) => [label, label]),
  );
});

test('short calls of one tenant need not wait while nobody else does', () => {
  const { turns } = thread();
  for (let i = 0; i < 100; i++) assert.equal(turns.begin('one'), null);
});

test('who drains them goes on when nobody waits', async () => {
  const { turns, call, order } = thread();
  const calls = [call('a', [10, 10]), call('b', [10, 10])];
  await turns.drained();
  await turns.drained();
  assert.equal(order.length, 4);
  await Promise.all(calls);
});
