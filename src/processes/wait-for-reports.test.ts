import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { Link } from '../kernel/threads/link.ts';
import { answersOf, cancelAt, Hearing, isLook } from './wait-for-reports.ts';
import type { WorkerOffers } from './worker-seat.ts';

/** A worker that answers by these; what it was told. */
function workerOf(answers: Readonly<Record<string, (...args: unknown[]) => unknown>>) {
  const told: unknown[][] = [];
  const ask = async (name: string, ...args: unknown[]) => answers[name]!(...args);
  const link = { ask, notify: (...args: unknown[]) => told.push(args) } as unknown as Link<WorkerOffers>;
  return { link, told };
}

const never = () => new Promise(() => {});

test('a call is cancelled where exactly one of its name runs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const counts = async (...running: (number | 'late')[]) => {
    const workers = running.map((count) => workerOf({ runningCalls: () => (count === 'late' ? never() : count) }));
    const cancelled = cancelAt(
      workers.map(({ link }) => link),
      'call',
    );
    await new Promise(setImmediate);
    t.mock.timers.tick(1_000);
    await cancelled;
    return workers.map(({ told }) => told);
  };
  assert.deepEqual(await counts(0, 1), [[], [['endCalls', 'call']]]);
  assert.deepEqual(await counts(1, 1), [[], []]);
  assert.deepEqual(await counts(2, 0), [[], []]);
  assert.deepEqual(await counts(0, 0), [[], []]);
  assert.deepEqual(await counts(1, 'late'), [[['endCalls', 'call']], []], 'one that is late is not waited for');
});

test('answers come from all workers that have some', async () => {
  const workers = [
    workerOf({ findRefused: (id) => `${id} here` }),
    workerOf({
      findRefused: () => {
        throw new Error('gone');
      },
    }),
    workerOf({ findRefused: () => null }),
  ];
  const found = await answersOf(
    workers.map(({ link }) => link),
    (link) => link.ask('findRefused', 'a', null),
  );
  assert.deepEqual(found, ['a here', null]);
});

test('those that ask while workers are heard wait for one further round together', async () => {
  const rounds: (() => void)[] = [];
  const { link } = workerOf({ delivered: () => new Promise<void>((resolve) => rounds.push(resolve)) });
  const hearing = new Hearing(() => [link]);
  const first = hearing.all();
  const [second, third] = [hearing.all(), hearing.all()];
  assert.equal(second, third);
  assert.notEqual(first, second);
  assert.equal(rounds.length, 1);
  rounds[0]!();
  await first;
  await new Promise(setImmediate);
  assert.equal(rounds.length, 2, 'it may have begun too early for them');
  const later = hearing.all();
  assert.notEqual(later, second);
  rounds[1]!();
  await second;
  await new Promise(setImmediate);
  rounds[2]!();
  await later;
  const alone = hearing.all();
  assert.equal(rounds.length, 4);
  rounds[3]!();
  await alone;
});

test('what a worker has said is taken, though this process had no turn until the wait was over', async () => {
  const { port1, port2 } = new MessageChannel();
  let isTaken = false;
  const said = new Promise<void>((resolve) => {
    port1.once('message', () => {
      isTaken = true;
      resolve();
    });
  });
  const { link } = workerOf({ delivered: () => said });
  const all = new Hearing(() => [link]).all();
  port2.postMessage('said');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  await all;
  assert.ok(isTaken);
  port1.close();
});

test('what people look at waits for all workers, what requests need does not', () => {
  const asked = [
    ['counters', 'read'],
    ['ledger', 'usage'],
    ['ledger', 'seed'],
    ['records', 'read'],
  ] as const;
  assert.deepEqual(
    asked.map(([port, name]) => isLook(port, name)),
    [true, true, false, false],
  );
});
