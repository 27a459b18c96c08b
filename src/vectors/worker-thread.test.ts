import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { FailureError } from '../kernel/failure.ts';
import { createWorkerThread, type WorkerRequest } from './worker-thread.ts';

/** A thread that ends at the first call that it should prepare, and answers every question with its own. */
const dying = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ kind, id, method = null }) => {
      if (kind === 'prepare') process.exit(3);
      parentPort.postMessage({ kind: 'done', id, result: method });
    });
    parentPort.postMessage({ kind: 'ready', collections: [] });
  `)}`,
);

/** A thread that answers when it is to close, and nothing else. */
const silent = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ kind, id }) => {
      if (kind === 'close') parentPort.postMessage({ kind: 'done', id, result: null });
    });
    parentPort.postMessage({ kind: 'ready', collections: [] });
  `)}`,
);

const workerData = {
  driver: {
    kind: 'embedded',
    dataDir: '',
    shards: [],
    memoryBytes: 0,
    passCores: { cores: 1, used: new SharedArrayBuffer(4), arena: 0 },
  },
  limits: { collectionsPerAccount: 1, pointsPerCall: 1 },
} as const;

test('nobody waits for ever for what a thread had not answered when it was closed', async () => {
  const data = () => ({ workerData, transfer: [] });
  const thread = createWorkerThread({ data, onMessage() {}, onDeath() {}, clock: fakeClock(), entry: silent });
  const answer = thread.ask({ kind: 'store', method: 'tenants', args: [] });
  const refused = assert.rejects(answer, FailureError);
  await thread.close();
  await refused;
});

test('no question starts a thread that was closed, whether it had run or not', async () => {
  for (const hasRun of [true, false]) {
    const data = () => ({ workerData, transfer: [] });
    const thread = createWorkerThread({ data, onMessage() {}, onDeath() {}, clock: fakeClock(), entry: silent });
    if (hasRun) await thread.ready();
    await thread.close();
    await assert.rejects(thread.ready(), FailureError);
    await assert.rejects(thread.ask({ kind: 'close' }), FailureError);
    assert.equal(thread.started(), false);
  }
});

test('a thread that dies fails its own calls as retryable, and is started again, once a second at most', async (t) => {
  const clock = fakeClock();
  const deaths: string[] = [];
  const thread = createWorkerThread({
    data: () => ({ workerData, transfer: [] }),
    onMessage() {},
    onDeath: (reason) => deaths.push(reason),
    clock,
    entry: dying,
  });
  t.after(() => thread.close());
  await thread.ready();
  assert.equal(thread.trouble(), null);
  const owner = { tenant: 'alice', account: 'acme' };
  const call = { owner, verb: 'list-collections', params: {}, search: '', body: new Uint8Array(0) } as const;
  const calls = [1, 2, 3].map((prepared) => thread.ask({ kind: 'prepare', prepared, call, atOnce: false }));
  for (const end of await Promise.allSettled(calls)) {
    assert(end.status === 'rejected' && end.reason instanceof FailureError);
    assert.equal(end.reason.failure.kind, 'overloaded');
  }
  assert.equal(deaths.length, 1);
  assert.notEqual(thread.trouble(), null);

  const question: WorkerRequest = { kind: 'store', method: 'tenants', args: [] };
  await assert.rejects(thread.ask(question), FailureError);
  clock.advance(1_000);
  assert.equal(await thread.ask(question), 'tenants');
  await thread.ready();
  assert.equal(thread.trouble(), null);
});
