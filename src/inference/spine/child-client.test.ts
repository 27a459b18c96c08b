import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChildClient } from './child-client.ts';

test('a request that is made after the caller has left finds that it left, and asks nobody', () => {
  const parent = { disconnected: false, committed: false, cutFor: null, onDisconnect() {}, onDrain() {} };
  const before = new ChildClient(parent);
  parent.disconnected = true;
  assert.deepEqual([before.disconnected, new ChildClient(parent).disconnected], [false, true]);
});
