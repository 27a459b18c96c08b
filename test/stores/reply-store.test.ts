import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplyTake } from '../../src/books/metering/reply-store.ts';
import { drivers, type StoreUnderTest } from './drivers.ts';

const nowMs = Date.now();

function take(over: Partial<ReplyTake> = {}): ReplyTake {
  return {
    scope: 'dev/laptop chat',
    key: 'once',
    bodyHash: 'ab'.repeat(32),
    requestId: 'req_1',
    bootId: 'boot-1',
    nowMs,
    expiresMs: nowMs + 1_000,
    ...over,
  };
}

/** Replies as a running server has them: its ledger says that it lives. */
async function serverOf(store: StoreUnderTest, bootId: string) {
  const ledger = await store.ledger(bootId);
  const replies = await store.replies(bootId);
  return {
    ...replies,
    async close() {
      await replies.close();
      await ledger.shutdown();
    },
  };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a key is taken once; while its request runs a repeat is told which, then gets the reply`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const replies = await serverOf(store, 'boot-1');
    assert.deepEqual(await replies.take(take()), { kind: 'taken' });
    assert.deepEqual(await replies.take(take({ requestId: 'req_2' })), { kind: 'in-flight', requestId: 'req_1' });
    const sealed = new Uint8Array([0, 255, 7]);
    await replies.keep('dev/laptop chat', 'once', 'req_1', { status: 200, sealed });
    const kept = await replies.take(take({ requestId: 'req_3' }));
    assert.ok(kept.kind === 'kept' && kept.sealed !== null);
    assert.deepEqual([kept.requestId, kept.status, [...kept.sealed]], ['req_1', 200, [0, 255, 7]]);
    const other = take({ requestId: 'req_4', bodyHash: 'cd'.repeat(32) });
    assert.deepEqual(await replies.take(other), { kind: 'other-body', requestId: 'req_1' });
    // Another key's, or another endpoint's, is another row.
    assert.deepEqual(await replies.take(take({ scope: 'dev/laptop messages' })), { kind: 'taken' });
    assert.deepEqual(await replies.take(take({ key: 'twice' })), { kind: 'taken' });
    await replies.close();
  });

  test(`${driver.name}: a reply too large to keep is known as such`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const replies = await serverOf(store, 'boot-1');
    await replies.take(take());
    await replies.keep('dev/laptop chat', 'once', 'req_1', { status: 200, sealed: null });
    const kept = { kind: 'kept', requestId: 'req_1', status: 200, sealed: null };
    assert.deepEqual(await replies.take(take({ requestId: 'req_2' })), kept);
    await replies.close();
  });

  test(`${driver.name}: what came to nothing, what expired and what its process left behind can be taken again`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const replies = await serverOf(store, 'boot-1');
    const again = (over: Partial<ReplyTake>) => replies.take(take({ requestId: 'req_2', ...over }));
    await replies.take(take());
    await replies.release('dev/laptop chat', 'once', 'req_1');
    assert.deepEqual(await again({}), { kind: 'taken' });
    // The first request's late end touches nothing of the second's.
    await replies.keep('dev/laptop chat', 'once', 'req_1', { status: 500, sealed: null });
    await replies.release('dev/laptop chat', 'once', 'req_1');
    assert.deepEqual(await again({ requestId: 'req_3' }), { kind: 'in-flight', requestId: 'req_2' });
    assert.deepEqual(await again({ requestId: 'req_3', nowMs: nowMs + 1_000, expiresMs: nowMs + 2_000 }), {
      kind: 'taken',
    });
    await replies.close();
    await store.letTheDeadBeKnown();
    const next = await serverOf(store, 'boot-2');
    assert.deepEqual(await next.take(take({ requestId: 'req_4', bootId: 'boot-2' })), { kind: 'taken' });
    await next.close();
  });

  test(`${driver.name}: of many that take one key at one moment exactly one has it`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const replies = await serverOf(store, 'boot-1');
    const taken = await Promise.all(
      Array.from({ length: 32 }, (_, at) => replies.take(take({ requestId: `req_${at}` }))),
    );
    assert.equal(taken.filter((answer) => answer.kind === 'taken').length, 1);
    assert.equal(new Set(taken.map((answer) => (answer.kind === 'in-flight' ? answer.requestId : ''))).size, 2);
    await replies.close();
  });

  test(`${driver.name}: the sweep removes what expired, running or kept, and nothing else`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const replies = await serverOf(store, 'boot-1');
    for (let at = 0; at < 25; at += 1) await replies.take(take({ key: `old-${at}` }));
    await replies.take(take({ key: 'young', expiresMs: nowMs + 5_000 }));
    assert.equal(await replies.sweep(nowMs + 1_000), 25);
    assert.equal(await replies.sweep(nowMs + 1_000), 0);
    assert.equal((await replies.take(take({ key: 'young' }))).kind, 'in-flight');
    await replies.close();
  });
}
