import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { memoryNoticeStore } from '../../../../test/memory-notice-store.ts';
import { createNoticeDelivery } from './notice-delivery.ts';

/** An alert in the queue, and a store that fails to write how it ended as often as `failures` says. */
async function setUp(t: TestContext, failures: number, writeMs = 0) {
  const clock = fakeClock();
  const store = memoryNoticeStore();
  const troubles: string[] = [];
  const seen = { sent: 0, written: 0 };
  let left = failures;
  const body = JSON.stringify({ type: 'alert', data: {} });
  const alert = { id: 'msg_1', plan: 'alert ops', body, createdMs: clock.wallMs(), tries: 0 };
  await store.cross({ scope: 'alerts', limit: 'ops', share: 1, crossedMs: clock.wallMs() }, alert);
  const delivery = createNoticeDelivery({
    store: {
      ...store,
      async end(id, how) {
        seen.written += 1;
        left -= 1;
        if (left < 0) return store.end(id, how);
        clock.advance(writeMs);
        throw new Error('the database is gone');
      },
    },
    plans: () => assert.fail('an alert is of no plan'),
    clock,
    post: () => assert.fail('an alert has a receiver'),
    send: {
      async alerts() {
        seen.sent += 1;
        return 'sent';
      },
      statement: () => assert.fail('no statement'),
    },
    onTrouble: (message) => troubles.push(message),
  });
  t.after(async () => {
    left = 0;
    await delivery.stop();
  });
  return { store, delivery, seen, troubles };
}

test('a message that has arrived goes out once, though the store cannot write so at first', async (t) => {
  const { delivery, store, seen, troubles } = await setUp(t, 2);
  await delivery.look();
  assert.deepEqual(seen, { sent: 1, written: 3 });
  assert.deepEqual([store.queued(), troubles], [[], []]);
});

test('it is another process’s once its lease is over, and the operator reads why', async (t) => {
  const { delivery, store, seen, troubles } = await setUp(t, 3, 15_000);
  await delivery.look();
  // The first write fails at half of the lease, the second at its end.
  assert.deepEqual(seen, { sent: 1, written: 2 });
  assert.equal(store.queued().length, 1);
  assert.deepEqual(troubles, ['notice msg_1: Error: the database is gone']);
});

test('a server that stops waits for no store', async (t) => {
  const { delivery, seen } = await setUp(t, Number.POSITIVE_INFINITY);
  const looking = delivery.look();
  while (seen.written === 0) await pause(5);
  await delivery.stop();
  await looking;
  const { written } = seen;
  await pause(500);
  assert.equal(seen.written, written);
});

test('an alert reaches its receiver while twelve other receivers hang, each with many alerts', async (t) => {
  const clock = fakeClock();
  const store = memoryNoticeStore();
  const arrived: string[] = [];
  const hang = new Promise<'sent'>(() => undefined);
  const delivery = createNoticeDelivery({
    store,
    plans: () => assert.fail('an alert is of no plan'),
    clock,
    post: () => assert.fail('an alert has a receiver'),
    send: {
      async alerts(receiver) {
        if (receiver !== 'ops') return hang;
        arrived.push(receiver);
        return 'sent';
      },
      statement: () => assert.fail('no statement'),
    },
    onTrouble: (message) => assert.fail(message),
  });
  t.after(() => delivery.stop());
  const queue = async (receiver: string, nth: number) => {
    const alert = { id: `${receiver}-${nth}`, plan: `alert ${receiver}`, body: '{}', createdMs: nth, tries: 0 };
    await store.cross({ scope: 'alerts', limit: receiver, share: nth, crossedMs: nth }, alert);
  };
  for (let dead = 0; dead < 12; dead += 1) for (let nth = 0; nth < 6; nth += 1) await queue(`dead-${dead}`, nth);
  void delivery.look();
  await pause(200);
  await queue('ops', 7);
  void delivery.look();
  await pause(200);
  assert.deepEqual(arrived, ['ops']);
});
