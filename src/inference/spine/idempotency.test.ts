import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClient } from '../../../test/fake-client.ts';
import { fakeClock } from '../../../test/fake-clock.ts';
import { memoryReplyStore } from '../../../test/memory-reply-store.ts';
import type { ReplyStore } from '../../books/metering/reply-store.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { createSealer } from '../../kernel/seal.ts';
import { createIdempotency, type KeyedRequest, readIdempotencyKey } from './idempotency.ts';
import { type HeaderList, refuse, type Sink, sendWhole } from './sink.ts';

const hours24Ms = 24 * 3_600_000;
const body = Buffer.from('{"model":"chat"}');

type Ended = { status: number; headers: HeaderList; body: string } | { failure: Failure };

function endOf({ failed, status, headers, text }: FakeClient): Ended {
  return failed === null ? { status, headers, body: text } : { failure: failed.failure };
}

function setUp(
  store: ReplyStore = memoryReplyStore(),
  secret = 'a secret of thirty-two bytes or more',
  order: string[] = [],
) {
  const clock = fakeClock();
  const troubles: string[] = [];
  const idempotency = createIdempotency({
    store,
    sealer: createSealer([secret], 'replies'),
    bootId: 'boot-1',
    clock,
    mayKeep: async () => true,
    onTrouble: (message) => troubles.push(message),
    // A store that answers at all answers first; retries follow each other at once.
    pause: () => new Promise((resolve) => setImmediate(resolve)),
  });
  let requests = 0;
  let runs = 0;
  const send = async (
    asked: Partial<KeyedRequest> = {},
    run: (sink: Sink) => Promise<void> | void = (sink) =>
      sendWhole(sink, ['x-culvert-cost', '1', 'ratelimit', 'of then'], `answer ${runs}`),
  ) => {
    const sink = new FakeClient((failed) => order.push(failed === null ? 'answered' : 'refused'));
    const requestId = `req_${++requests}`;
    const request = {
      key: 'k',
      tenant: 'dev/a',
      endpoint: 'chat',
      requestId,
      body,
      sink,
      headers: ['ratelimit', 'of now'],
    };
    await idempotency.once({ ...request, ...asked }, async (kept) => {
      runs++;
      await run(kept);
    });
    assert.equal(sink.ends, 1, 'every client gets an answer');
    return endOf(sink);
  };
  return { clock, send, troubles, runs: () => runs };
}

function conflictOf(ended: Ended): Extract<Failure, { kind: 'conflict' }> {
  assert('failure' in ended && ended.failure.kind === 'conflict');
  return ended.failure;
}

test('a repeat gets the first reply byte for byte, its headers with limits of now, and the first request id', async () => {
  const { send, runs } = setUp();
  const first = await send();
  assert.deepEqual(first, { status: 200, headers: ['x-culvert-cost', '1', 'ratelimit', 'of then'], body: 'answer 1' });
  assert.deepEqual(await send(), {
    status: 200,
    headers: ['x-culvert-cost', '1', 'x-culvert-idempotent-replay', 'req_1', 'ratelimit', 'of now'],
    body: 'answer 1',
  });
  assert.equal(runs(), 1);
});

test('any reply up to 1 MB comes back as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), fc.integer({ min: 200, max: 299 }), async (bytes, status) => {
      const { send } = setUp();
      const first = await send({}, (sink) => sendWhole(sink, [], Buffer.from(bytes), status));
      const second = await send();
      assert('body' in first && 'body' in second);
      assert.deepEqual([second.status, second.body], [first.status, first.body]);
    }),
    { numRuns: 50 },
  );
});

test('another key, tenant or endpoint is another request', async () => {
  const { send, runs } = setUp();
  await send();
  await send({ key: 'other' });
  await send({ tenant: 'dev/b' });
  await send({ endpoint: 'messages' });
  assert.equal(runs(), 4);
});

test('the same key with another body is a 409 that says so and does not ask for a retry', async () => {
  const { send, runs } = setUp();
  await send();
  const conflict = conflictOf(await send({ body: Buffer.from('{"model": "chat"}') }));
  assert.match(conflict.message, /request req_1 used this Idempotency-Key with another body/);
  assert.equal(conflict.retryAfterMs, undefined);
  assert.equal(runs(), 1);
});

test('bodies of over 1 MB are told apart too', async () => {
  const { send, runs } = setUp();
  const large = Buffer.alloc(2 * 1024 * 1024, 'x');
  await send({ body: large });
  assert('body' in (await send({ body: Buffer.from(large) })));
  large[large.length - 1] = 0;
  conflictOf(await send({ body: large }));
  assert.equal(runs(), 1);
});

test('while the first one runs, others get 409 with its id and may come again in a second', async () => {
  const { send, runs } = setUp();
  let finish = () => {};
  const running = send({}, async (sink) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    sendWhole(sink, [], 'late');
  });
  await new Promise((resolve) => setImmediate(resolve));
  const conflict = conflictOf(await send());
  assert.match(conflict.message, /req_1, is still running/);
  assert.equal(conflict.retryAfterMs, 1_000);
  finish();
  await running;
  assert.equal(((await send()) as { body?: string }) && runs(), 1);
});

test('what was refused or failed leaves the key free', async () => {
  const { send, runs } = setUp();
  const refused = await send({}, (sink) => refuse(sink, { kind: 'overloaded', message: 'no' }, []));
  assert.deepEqual(refused, { failure: { kind: 'overloaded', message: 'no' } });
  await assert.rejects(
    send({}, () => {
      throw new Error('a fault of ours');
    }),
    /a fault of ours/,
  );
  assert('status' in (await send()));
  assert.equal(runs(), 3);
});

test('a reply of over 1 MB reaches its caller; a repeat is told that it was not kept', async () => {
  const { send, runs } = setUp();
  const large = await send({}, (sink) => sendWhole(sink, [], Buffer.alloc(1024 * 1024 + 1, 'x')));
  assert('body' in large && large.body.length === 1024 * 1024 + 1);
  assert.match(conflictOf(await send()).message, /req_1, was not kept, because it is over 1 MB/);
  assert.equal(runs(), 1);
});

test('a reply is kept for 24 hours', async () => {
  const { clock, send, runs } = setUp();
  await send();
  clock.advance(hours24Ms - 1);
  await send();
  assert.equal(runs(), 1);
  clock.advance(1);
  await send();
  assert.equal(runs(), 2);
});

test('a reply that another secret sealed is not run again but said to be unreadable', async () => {
  const store = memoryReplyStore();
  await setUp(store).send();
  const after = setUp(store, 'another secret of thirty-two bytes!!');
  assert.match(conflictOf(await after.send()).message, /req_1, can no longer be read/);
  assert.equal(after.runs(), 0);
});

test('what is kept cannot be read in the store', async () => {
  const store = memoryReplyStore();
  let sealed: Uint8Array | null = null;
  const keep: ReplyStore['keep'] = (scope, key, requestId, reply) => {
    sealed = reply.sealed;
    return store.keep(scope, key, requestId, reply);
  };
  await setUp({ ...store, keep }).send({}, (sink) => sendWhole(sink, [], 'the prompt and its answer'));
  assert(sealed !== null && !Buffer.from(sealed).includes('prompt'));
});

test('a store that cannot be asked is a 503 and nothing runs', async () => {
  const store = memoryReplyStore();
  const failure: Failure = { kind: 'quota-unavailable', message: 'gone' };
  for (const take of [
    () => Promise.reject(new FailureError(failure)),
    () => Promise.reject(new Error('socket closed')),
    () => new Promise<never>(() => {}),
  ]) {
    const { send, runs } = setUp({ ...store, take });
    const ended = await send();
    assert('failure' in ended && ended.failure.kind === 'quota-unavailable');
    assert.equal(runs(), 0);
  }
});

test('a key that was taken although nobody heard of it is given back', async () => {
  for (const hear of ['late', 'never'] as const) {
    const store = memoryReplyStore();
    let heard: (() => void)[] = [];
    const { send, runs } = setUp({
      ...store,
      async take(row) {
        const taken = await store.take(row);
        if (row.requestId !== 'req_1') return taken;
        await new Promise<void>((resolve) => heard.push(resolve));
        if (hear === 'never') throw new Error('socket closed after the commit');
        return taken;
      },
    });
    const first = await send();
    assert('failure' in first && first.failure.kind === 'quota-unavailable');
    for (const resolve of heard) resolve();
    heard = [];
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(store.size(), 0);
    assert('status' in (await send()));
    assert.equal(runs(), 1);
  }
});

test('whoever has an answer finds it again, and whoever was refused finds the key free: the store is first', async () => {
  const order: string[] = [];
  const slowly = (done: string) => new Promise((resolve) => setImmediate(resolve)).then(() => void order.push(done));
  const store = { ...memoryReplyStore(), keep: () => slowly('kept'), release: () => slowly('freed') };
  const { send } = setUp(store, undefined, order);
  await send({ key: 'one' });
  await send({ key: 'two' }, (sink) => refuse(sink, { kind: 'overloaded', message: 'no' }, []));
  assert.deepEqual(order, ['kept', 'answered', 'freed', 'refused']);
});

test('F75 a reply that cannot be kept at once reaches its caller when it is kept, and not before', async () => {
  const store = memoryReplyStore();
  let fails = 5;
  const keep: ReplyStore['keep'] = async (...row) => {
    if (fails-- > 0) throw new Error('database is locked');
    return store.keep(...row);
  };
  const { send, runs, troubles } = setUp({ ...store, keep });
  assert('status' in (await send()));
  assert.ok(fails < 0);
  const again = await send();
  assert('body' in again && again.body === 'answer 1');
  assert.equal(runs(), 1);
  assert.deepEqual(troubles, []);
});

test('F75 a caller whose reply is not kept in time gets 503, and a repeat the reply once it is kept', async () => {
  const store = memoryReplyStore();
  let fails = 50;
  const keep: ReplyStore['keep'] = async (...row) => {
    if (fails-- > 0) throw new Error('database is locked');
    return store.keep(...row);
  };
  const { send, runs } = setUp({ ...store, keep });
  const first = await send();
  assert('failure' in first && first.failure.kind === 'quota-unavailable');
  assert.match(conflictOf(await send()).message, /or its answer could not be recorded yet/, 'it is no longer running');
  while (fails > -1) await new Promise((resolve) => setImmediate(resolve));
  const again = await send();
  assert('body' in again && again.body === 'answer 1');
  assert.equal(runs(), 1);
});

test('a reply that never can be kept stays a 409, and the operator hears of it', async () => {
  const store = memoryReplyStore();
  const { send, runs, troubles } = setUp({ ...store, keep: () => Promise.reject(new Error('disk full')) });
  assert('failure' in (await send()));
  while (troubles.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.match(troubles[0]!, /req_1 .*disk full/);
  conflictOf(await send());
  assert.equal(runs(), 1);
});

test('the key of a process that is over is free again', async () => {
  const over = new Set<string>();
  const { send, runs } = setUp(memoryReplyStore(over));
  void send({}, () => new Promise<never>(() => {}));
  await new Promise((resolve) => setImmediate(resolve));
  conflictOf(await send());
  over.add('boot-1');
  await send();
  assert.equal(runs(), 2);
});

test('a key is 1 to 255 printable ASCII characters', () => {
  const read = (key?: string) => readIdempotencyKey(key === undefined ? {} : { 'idempotency-key': key });
  assert.equal(read(), null);
  for (const good of ['k', ' ', 'a b~!"', 'x'.repeat(255)]) assert.equal(read(good), good);
  for (const bad of ['', 'x'.repeat(256), 'é', 'a\tb', '\u007f']) {
    const failure = read(bad);
    assert(failure !== null && typeof failure === 'object' && failure.kind === 'invalid-request', JSON.stringify(bad));
  }
});
