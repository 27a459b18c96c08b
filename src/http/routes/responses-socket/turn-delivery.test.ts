import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { errorMessage, TurnDelivery } from './turn-delivery.ts';

/** A delivery over a socket that only remembers what it is sent. */
function delivered() {
  const sent: JsonObject[] = [];
  const pace = { next: 'ready' as 'ready' | 'behind' };
  const socket = {
    send(text: string) {
      sent.push(JSON.parse(text) as JsonObject);
      return pace.next;
    },
  };
  const delivery = new TurnDelivery(socket as never, () => ({ requestId: 'req-1', nowMs: 0 }));
  return { delivery, sent, pace };
}

const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

test('each event of an answer is a message, and the last one leaves the response', () => {
  const { delivery, sent } = delivered();
  delivery.start('events', []);
  const response = { id: 'resp_1' };
  const frames = `${event('response.created')}${event('response.completed', { response })}data: [DONE]\n\ndata:\n\n`;
  assert.equal(delivery.chunk(Buffer.from(frames.slice(0, 30))), 'ready');
  delivery.chunk(Buffer.from(frames.slice(30)));
  delivery.end(null);
  assert.deepEqual(sent, [{ type: 'response.created' }, { type: 'response.completed', response }]);
  assert.deepEqual(
    [delivery.response, delivery.failure, delivery.status, delivery.committed],
    [response, null, 200, true],
  );
});

for (const type of ['response.incomplete', 'response.failed']) {
  test(`${type} is an end as well`, () => {
    const { delivery } = delivered();
    delivery.chunk(event('response.in_progress', { response: { id: 'early' } }));
    assert.equal(delivery.response, null);
    delivery.chunk(event(type, { response: { id: 'late' } }));
    assert.deepEqual(delivery.response, { id: 'late' });
  });
}

test('an answer waits where its caller is behind, and goes on where that has drained', () => {
  const { delivery, pace } = delivered();
  let drains = 0;
  delivery.drained();
  delivery.onDrain(() => {
    drains += 1;
  });
  pace.next = 'behind';
  assert.equal(delivery.chunk(event('response.created')), 'behind');
  assert.equal(delivery.chunk('data: {"ty'), 'ready', 'no whole event came');
  delivery.drained();
  assert.equal(drains, 1);
});

test('a caller that left is told once, gets nothing more, and what has ended cannot be left', () => {
  const { delivery, sent } = delivered();
  let left = 0;
  delivery.onDisconnect(() => {
    left += 1;
  });
  delivery.leave();
  delivery.leave();
  assert.equal(delivery.chunk(event('response.created')), 'ready');
  delivery.end({ failure: { kind: 'internal' }, headers: [] });
  assert.deepEqual([left, delivery.disconnected, sent, delivery.failure], [1, true, [], null]);

  const over = delivered().delivery;
  over.onDisconnect(() => {
    left += 1;
  });
  over.end(null);
  over.leave();
  assert.deepEqual([left, over.disconnected], [1, false]);
});

test('a failure is one message: an error before a response has begun, a failed response after it', () => {
  const failure = { kind: 'internal' } as const;
  const before = delivered();
  before.delivery.end({ failure, headers: ['retry-after', '7'] });
  before.delivery.end(null);
  const [message, ...others] = before.sent;
  assert.deepEqual(
    [message?.type, message?.status, message?.headers, others],
    ['error', 500, { 'retry-after': '7' }, []],
  );
  assert.match(JSON.stringify(message?.error), /"headers":\{"retry-after":"7"\}/);
  assert.deepEqual([before.delivery.status, before.delivery.failure], [500, failure]);

  const after = delivered();
  after.delivery.start('events', []);
  after.delivery.end({ failure, headers: [] });
  assert.ok(
    after.sent.length > 0 && after.sent.every(({ type }) => type !== 'error' || after.sent.length === 1),
    JSON.stringify(after.sent),
  );
  assert.deepEqual([after.delivery.status, after.delivery.failure], [500, failure]);
  const plain = JSON.parse(errorMessage(failure, { requestId: 'r', nowMs: 0 }, [])) as JsonObject;
  assert.equal('headers' in plain, false);
});

test('how full a subscription is comes before the answer, where its headers say so', () => {
  const { delivery, sent } = delivered();
  const primary = ['x-codex-primary-used-percent', '42.5', 'x-codex-primary-window-minutes', '300'];
  delivery.start(
    'events',
    ['content-type', 'x-codex-primary-reset-at', ...primary, 'x-codex-secondary-reset-at', '9'],
    200,
  );
  delivery.start('events', ['x-codex-primary-used-percent', 'much'], 201);
  assert.deepEqual(sent, [
    {
      type: 'codex.rate_limits',
      rate_limits: { primary: { used_percent: 42.5, window_minutes: 300, reset_at: null }, secondary: null },
    },
  ]);
  assert.equal(delivery.status, 201);
});
