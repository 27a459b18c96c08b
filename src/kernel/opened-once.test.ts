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
