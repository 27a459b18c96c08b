import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReadRows } from './row-cache.ts';
import { SharedRoom } from './shared-room.ts';

function counted(payload: (slot: number) => string | null) {
  const reads: number[] = [];
  const read = (slot: number) => {
    reads.push(slot);
    return { id: slot, payload: payload(slot) };
  };
  return { read, taken: () => reads.splice(0) };
}

test('rows are read once, until they are forgotten; those with long payloads each time', () => {
  const source = counted((slot) => (slot === 2 ? `"${'x'.repeat(5_000)}"` : null));
  const rows = createReadRows(new SharedRoom(10_000), source.read);
  for (const slot of [1, 1, 2, 2]) assert.equal(rows.row(slot).id, slot);
  assert.deepEqual(source.taken(), [1, 2, 2]);
  rows.forget(1);
  rows.row(1);
  assert.deepEqual(source.taken(), [1]);
});

test('a full room holds the rows that were read last, of the collection that was used last', () => {
  const source = counted(() => '{}');
  const room = new SharedRoom(10 * 132);
  const [one, other] = [createReadRows(room, source.read), createReadRows(room, source.read)];
  for (let slot = 0; slot < 20; slot += 1) one.row(slot);
  source.taken();
  for (let slot = 10; slot < 20; slot += 1) one.row(slot);
  assert.deepEqual(source.taken(), []);
  one.row(0);
  assert.deepEqual(source.taken(), [0]);

  other.row(3);
  other.row(3);
  assert.deepEqual(source.taken(), [3]);
  one.row(19);
  assert.deepEqual(source.taken(), [19], 'the other one had its room');
  one.close();
  other.close();
});
