import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimedThread } from './timed-thread.ts';
import { createWorkThread, type WorkThread } from './work-thread.ts';

/** Answers with what it is asked, and with nothing to `never`; `crash` ends it. */
const code = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, say }) => {
    if (say === 'crash') process.exit(1);
    if (say !== 'never') parentPort.postMessage({ id, result: say });
  });`;
const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
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

test('a crash fails the orders of its thread alone', async (t) => {
  const thread = createWorkThread(entry, 'echo');
  t.after(() => thread.close());
  await assert.rejects(ask(thread, 'crash'), /the echo ended/);
  assert.equal(await ask(thread, 'again'), 'again');
});

test('what takes too long is ended with its thread, and the next order gets another', async (t) => {
  const thread = createTimedThread(entry, 'echo', { workMaxMs: 50, startMaxMs: 50 });
  const patient = createTimedThread(entry, 'echo', { workMaxMs: 60_000 });
  t.after(() => Promise.all([thread.close(), patient.close()]));
  assert.equal(await thread.run({ say: 'never' }), null);
  assert.equal(await patient.run({ say: 'crash' }), null);
  assert.equal(await patient.run({ say: 'again' }), 'again');
});
