import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElsewhere } from './elsewhere.ts';
import { createRoom } from './room.ts';

/** Two processes, of which each hears at once what the other says. */
function twoProcesses() {
  const said: string[] = [];
  const one = createElsewhere((name, by) => {
    said.push(`${name} ${by}`);
    other.receive(name, by);
  });
  const other = createElsewhere((name, by) => one.receive(name, by));
  return { one, other, said };
}

test('others hear of what is a 64th of the bound, and when nothing is left', () => {
  const { one, other, said } = twoProcesses();
  one.report('bodies', 9, 640);
  assert.equal(other.held('bodies'), 0);
  one.report('bodies', 10, 640);
  assert.equal(other.held('bodies'), 10);
  one.report('bodies', 19, 640);
  one.report('bodies', 1, 640);
  one.report('bodies', 0, 640);
  one.report('bodies', 0, 640);
  assert.equal(other.held('bodies'), 0);
  assert.deepEqual(said, ['bodies 10', 'bodies -10']);
});

test('of a small bound each one is told', () => {
  const { one, other } = twoProcesses();
  for (const amount of [1, 2, 1]) {
    one.report('connections', amount, 5);
    assert.equal(other.held('connections'), amount);
  }
});

test('a room counts what other processes hold: of the account, and of all', () => {
  const { one, other } = twoProcesses();
  const bounds = () => ({ bytesMax: 100, accountBytesMax: 60 });
  const here = createRoom('bodies', bounds, one);
  const there = createRoom('bodies', bounds, other);
  const first = here.hold('alice');
  assert.equal(first.take(50), null);
  assert.equal(there.bytesOf('alice'), 50);
  const second = there.hold('alice');
  assert.match(String(Object.values(second.take(11) ?? {})), /Your account/);
  const bob = there.hold('bob');
  assert.match(String(Object.values(bob.take(51) ?? {})), /This server/);
  assert.equal(bob.take(50), null);
  first.giveBack();
  assert.equal(second.take(50), null);
  assert.match(String(Object.values(here.hold('alice').take(11) ?? {})), /Your account/);
});
