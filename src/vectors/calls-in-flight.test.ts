import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallsInFlight } from './calls-in-flight.ts';

test('bodies and answers count until their call has ended, those of one key and those of all', () => {
  const { begin } = createCallsInFlight({ bytesMax: 100, tenantBytesMax: 60 });
  const first = begin('alice');
  assert.equal(first.take(40), null);
  const second = begin('alice');
  assert.match(refusal(second.take(21)), /this key.*\(60\)/);
  assert.equal(second.take(20), null);
  // What is made already cannot be refused; it keeps others out.
  const bob = begin('bob');
  bob.answered(70);
  assert.match(refusal(begin('carol').take(1)), /all callers.*\(100\)/);
  bob.end();
  first.end();
  assert.equal(begin('alice').take(40), null);
});

test('a call gives back what it had once, however often it ends', () => {
  const { begin } = createCallsInFlight({ bytesMax: 10, tenantBytesMax: 10 });
  const other = begin('alice');
  assert.equal(other.take(5), null);
  const call = begin('alice');
  assert.equal(call.take(5), null);
  call.end();
  call.end();
  assert.notEqual(begin('alice').take(6), null);
});

test('the memory of a body that was read is the next one’s, and of one that was not read nobody’s', () => {
  const { begin } = createCallsInFlight();
  const first = begin('alice');
  const memory = first.memory(1_000);
  assert.equal(memory.length, 1_000);
  assert.notEqual(begin('bob').memory(1_000).buffer, memory.buffer);
  first.bodyRead();
  assert.equal(begin('bob').memory(900).buffer, memory.buffer);
  first.end();
  assert.notEqual(begin('carol').memory(1_000).buffer, memory.buffer);
});

function refusal(failure: ReturnType<ReturnType<ReturnType<typeof createCallsInFlight>['begin']>['take']>): string {
  assert(failure?.kind === 'overloaded');
  return failure.message;
}
