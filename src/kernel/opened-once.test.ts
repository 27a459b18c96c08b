import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenedOnce } from './opened-once.ts';

test('it is opened by the first who needs it, once for all', async () => {
  let opens = 0;
  const once = new OpenedOnce(async () => ++opens);
  assert.equal(once.unused, true);
  assert.equal(await once.opened(), null);
  assert.deepEqual(await Promise.all([once.open(), once.open()]), [1, 1]);
  assert.equal(await once.open(), 1);
  assert.equal(await once.opened(), 1);
  assert.equal(once.unused, false);
});

test('after a failure the next one tries again, and whoever closes it meets no error', async () => {
  let opens = 0;
  const once = new OpenedOnce(async () => {
    opens += 1;
    if (opens === 1) throw new Error('the disk is full');
    return opens;
  });
  const first = once.open();
  const closing = once.opened();
  await assert.rejects(first, /the disk is full/);
  assert.equal(await closing, null);
  assert.equal(once.unused, true);
  assert.equal(await once.open(), 2);
});

test('once closed it gives what is open to be ended, and opens nothing more', async () => {
  const once = new OpenedOnce(async () => 'open');
  await once.open();
  assert.equal(await once.close(), 'open');
  await assert.rejects(once.open(), /the server is stopping/);
  assert.equal(await new OpenedOnce(async () => 'open').close(), null);
});

test('work that waits is continued once its store can be opened, and nobody is asked for it again once it is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const messages: string[] = [];
  const opened: boolean[] = [];
  let works = false;
  const once = new OpenedOnce(async () => {
    opened.push(works);
    if (!works) throw new Error('PostgreSQL cannot be reached');
  });
  const turn = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(5_000);
  };
  once.continue('batches', (message) => messages.push(message));
  await turn();
  await turn();
  works = true;
  await turn();
  await turn();
  assert.deepEqual(opened, [false, false, false, true]);
  assert.deepEqual(messages, [
    'batches could not be continued, which is tried again: Error: PostgreSQL cannot be reached',
  ]);
  const never = new OpenedOnce(() => Promise.reject(new Error('gone')));
  never.continue('crawls', (message) => messages.push(message));
  await never.close();
  await turn();
  assert.equal(messages.length, 1);
});
