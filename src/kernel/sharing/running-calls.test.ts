import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { RunningCalls } from './running-calls.ts';

test('a cancellation that comes after its call has ended leaves the call of the same name of another client alone', () => {
  const clock = fakeClock();
  const calls = new RunningCalls(null, clock);
  let ended = 0;
  const begin = () => calls.add('tenant 1', () => (ended += 1));
  const end = begin();
  const endOther = begin();
  end();
  calls.cancel('tenant 1');
  assert.equal(ended, 0);
  clock.advance(1_000);
  calls.cancel('tenant 1');
  assert.equal(ended, 1);
  // Its cancellation has come.
  endOther();
  begin();
  calls.cancel('tenant 1');
  assert.equal(ended, 2);
});
