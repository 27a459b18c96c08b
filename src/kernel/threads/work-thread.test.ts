import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../../test/machine-load.ts';
import { until } from '../../../test/until.ts';
import { createTimedThread } from './timed-thread.ts';
import { createWorkThread, type WorkThread } from './work-thread.ts';

/** Answers with what it is asked, and with nothing to `never`; `crash` ends it. */
const code = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, say }) => {
    if (say === 'crash') process.exit(1);
    if (say !== 'never') parentPort.postMessage({ id, result: say });
  });`;
const entryOf = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`);
const entry = entryOf(code);
/** Says that it has loaded, at once or late. */
const loads = entryOf(`${code} parentPort.postMessage({});`);
const loadsLate = entryOf(`${code} setTimeout(() => parentPort.postMessage({}), 400);`);
const ask = (thread: WorkThread, say: string) => thread.ask<string>((id) => ({ message: { id, say }, transfer: [] }));

test('orders that wait at a close reject, and so do later ones', async () => {
  const thread = createWorkThread(entry, 'echo');
  const waits = assert.rejects(ask(thread, 'never'), /the echo was ended/);
  await thread.close();
  await waits;
  await assert.rejects(ask(thread, 'late'), /the echo is closed/);
});

test('a thread is not let go while another order waits', { timeout: 30_000 }, async (t) => {
  const thread = createWorkThread(entry, 'echo');
  t.after(() => thread.close());
  // As two that measure at once: the first lets the thread go when it has its answer.
  assert.equal(await ask(thread, 'a'), 'a');
  const other = ask(thread, 'b');
  thread.letGo();
  assert.equal(await other, 'b');
  assert.equal(await ask(thread, 'c'), 'c');
});

test('an error of the thread has its words once, and keeps the name of another class', async (t) => {
  const failing = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ id, say }) => parentPort.postMessage({ id, error: say }));`;
  const thread = createWorkThread(entryOf(failing), 'echo');
  t.after(() => thread.close());
  const words = (say: string) => ask(thread, say).catch(String);
  assert.equal(await words('Error: the disk is full'), 'Error: the disk is full');
  assert.equal(await words('TypeError: x is no function'), 'Error: TypeError: x is no function');
});

test('a crash fails the orders of its thread alone', async (t) => {
  const thread = createWorkThread(entry, 'echo');
  t.after(() => thread.close());
  await assert.rejects(ask(thread, 'crash'), /the echo ended/);
  assert.equal(await ask(thread, 'again'), 'again');
});

test('what takes too long is ended with its thread, and the next order gets another', async (t) => {
  const thread = createTimedThread(loads, 'echo', { workMaxMs: 50, loadWaitMs: 60_000 });
  const patient = createTimedThread(loads, 'echo', { workMaxMs: 60_000 });
  t.after(() => Promise.all([thread.close(), patient.close()]));
  assert.equal(await thread.run({ say: 'never' }), null);
  assert.equal(await patient.run({ say: 'crash' }), null);
  assert.equal(await patient.run({ say: 'again' }), 'again');
});

test('a thread that loads longer than its work may take loads on, and answers the orders after that', async (t) => {
  const thread = createTimedThread(loadsLate, 'echo', { workMaxMs: 20_000, loadWaitMs: 100 });
  t.after(() => thread.close());
  assert.equal(await thread.run<string>({ say: 'late' }), null);
  // Each waits for 100 ms of the same load; a thread that was ended would never have loaded.
  await until('the thread has loaded', async () => (await thread.run<string>({ say: 'late' })) === 'late');
});

test('a thread that does not load is ended and loaded again after a pause', async (t) => {
  const thread = createTimedThread(entry, 'echo', { workMaxMs: 20_000, loadMaxMs: 50 });
  t.after(() => thread.close());
  assert.equal(await thread.run({ say: 'a' }), null);
  const startedMs = performance.now();
  assert.equal(await thread.run({ say: 'a' }), null);
  // It was not loaded again at once.
  assertWithin(performance.now() - startedMs, 1_000);
});
