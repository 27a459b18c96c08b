import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createDeliveries } from './deliveries.ts';

/** What is delivered of a queue, the oldest items first, while these receivers hang. */
async function deliveredOf(queue: readonly string[], hanging: ReadonlySet<string>): Promise<string[]> {
  const waiting = [...queue];
  const delivered: string[] = [];
  const never = new Promise<void>(() => undefined);
  const deliveries = createDeliveries<string>({
    async take(limit, without) {
      const taken: string[] = [];
      for (const receiver of [...waiting]) {
        if (taken.length === limit || without.includes(receiver)) continue;
        taken.push(receiver);
        waiting.splice(waiting.indexOf(receiver), 1);
      }
      return taken;
    },
    receiverOf: (receiver) => receiver,
    async deliver(receiver) {
      if (hanging.has(receiver)) return never;
      delivered.push(receiver);
    },
    atOnceMax: 8,
    ofReceiverMax: 4,
    onTrouble: (error) => assert.fail(String(error)),
  });
  void deliveries.look();
  for (let turns = 0; turns < 50; turns += 1) await turn();
  return delivered;
}

test('receivers that hang, each with many messages, leave places to others', async () => {
  const many = (receiver: string) => Array.from({ length: 10 }, () => receiver);
  const queue = [...many('one'), ...many('two'), ...many('three'), 'a', 'b', 'a'];
  const { length } = await deliveredOf(queue, new Set(['one', 'two']));
  assert.equal(length, many('three').length + 3);
  assert.deepEqual((await deliveredOf(queue, new Set(['one', 'two', 'three']))).sort(), ['a', 'a', 'b']);
});
