import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../failure.ts';
import { createRoom } from './room.ts';

const bounds = () => ({ bytesMax: 100, accountBytesMax: 60 });

test('bytes count until they are given back: those of one account, and those of all', () => {
  const room = createRoom('bodies', bounds);
  const first = room.hold('alice');
  assert.equal(first.take(40), null);
  const second = room.hold('alice');
  assert.match(refusal(second.take(21)), /^Your account .* bodies .*\(60\)/);
  assert.equal(second.take(20), null);
  const bob = room.hold('bob');
  assert.match(refusal(bob.take(41)), /^This server .* bodies .*\(100\)/);
  // Bytes that are there already cannot be refused. They keep others out.
  bob.add(70);
  assert.equal(room.bytes, 130);
  assert.match(refusal(room.hold('carol').take(1)), /^This server/);
  bob.giveBack();
  first.giveBack();
  assert.equal(room.hold('alice').take(40), null);
});

test('what a holder has is given back once, and what it takes later counts nowhere', () => {
  const room = createRoom('bodies', bounds);
  const other = room.hold('alice');
  assert.equal(other.take(50), null);
  const hold = room.hold('alice');
  assert.equal(hold.take(10), null);
  hold.giveBack();
  hold.giveBack();
  hold.add(10);
  assert.equal(room.bytes, 50);
  other.giveBack();
  assert.equal(room.bytes, 0);
});

test('bounds are read anew with every byte that is taken', () => {
  let accountBytesMax = 5;
  const hold = createRoom('bodies', () => ({ bytesMax: 10, accountBytesMax })).hold('alice');
  assert.notEqual(hold.take(6), null);
  accountBytesMax = 6;
  assert.equal(hold.take(6), null);
});

function refusal(failure: Failure | null): string {
  assert(failure?.kind === 'overloaded');
  return failure.message;
}
