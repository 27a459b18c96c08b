import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { createWorkTurns } from '../../../kernel/sharing/work-turns.ts';
import { callBounds } from '../call-bounds.ts';
import type { Steps } from '../index/resumable-steps.ts';
import { createQueryBatches } from './query-batches.ts';

/** Queries are the ms that they take. */
function batches() {
  const clock = fakeClock(0);
  const runner = createQueryBatches(clock, callBounds, createWorkTurns(clock));
  const order: string[] = [];
  return {
    order,
    close: runner.close,
    run: (tenant: string, queries: readonly number[], label = tenant) =>
      runner.run(tenant, queries, function* (ms): Steps<number> {
        clock.advance(ms);
        order.push(label);
        yield;
        return ms;
      }),
  };
}

test('a batch whose queries take no time is done in one turn', async () => {
  const { run } = batches();
  assert.deepEqual(await run('a', [1, 2, 3]), [1, 2, 3]);
  assert.deepEqual(await run('a', []), []);
});

test('between the queries of a long batch others get their turns, however many batches wait', async () => {
  const { run, order } = batches();
  const long = [run('long', [100, 100, 100]), run('long too', [100, 100, 100])];
  await Promise.all([run('one', [1]), run('two', [1, 1])]);
  assert(order.filter((name) => name.startsWith('long')).length < 6, order.join());
  assert.deepEqual(await Promise.all(long), [
    [100, 100, 100],
    [100, 100, 100],
  ]);
});

test('a tenant with many long batches does not make those of another wait for all of them', async () => {
  const { run, order } = batches();
  let done = 0;
  const greedy = [1, 2, 3].map((n) => run('greedy', new Array(50).fill(30), `greedy ${n}`).then(() => done++));
  await run('modest', [30, 30]);
  assert.equal(done, 0);
  // Its first turn was all that the others have had.
  for (const label of ['greedy 2', 'greedy 3']) assert.equal(order.filter((one) => one === label).length, 1);
  await Promise.all(greedy);
});

test('a batch that would keep the thread for a minute is refused, and says how far it came', async () => {
  const { run } = batches();
  await assert.rejects(run('endless', new Array(1_000).fill(1_000)), (error) => {
    assert(error instanceof FailureError && error.failure.kind === 'invalid-request');
    assert.match(error.failure.message, /60 of 1000 took 60 s/);
    return true;
  });
  assert.deepEqual(await run('next', [30, 30]), [30, 30]);
});

test('a batch that is under way when the store closes is refused', async () => {
  const { run, close } = batches();
  const long = run('long', [100, 100, 100]);
  close();
  await assert.rejects(long, (error) => error instanceof FailureError && error.failure.kind === 'overloaded');
});
