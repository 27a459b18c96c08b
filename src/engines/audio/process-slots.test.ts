import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots, type Slot } from './process-slots.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
/** More than lie between the starts of a few processes. */
const rounds = async () => {
  for (let i = 0; i < 100; i += 1) await turn();
};
const never = new AbortController().signal;

/** Takes a slot and notes when it is there. */
function asker(slots: ReturnType<typeof createSlots>, signal = never, tenant = 'a') {
  const request: { slot: Slot | null } = { slot: null };
  slots.take(tenant, signal).then(
    (slot) => {
      request.slot = slot;
    },
    () => {},
  );
  return request;
}

test('no more are busy than may be, and an idle one makes room for the next', async () => {
  const slots = createSlots({ runningMax: 10, tenantBusyMax: 2, waitingMax: 20 });
  const all = [asker(slots), asker(slots), asker(slots), asker(slots)];
  await rounds();
  assert.deepEqual(
    all.map(({ slot }) => slot !== null),
    [true, true, false, false],
  );
  all[0]?.slot?.setBusy('idle');
  await rounds();
  assert.deepEqual(
    all.map(({ slot }) => slot !== null),
    [true, true, true, false],
  );
  // Busy again, one more than may be, because nothing is taken from a process that has it.
  all[0]?.slot?.setBusy('busy');
  all[1]?.slot?.giveBack();
  await rounds();
  assert.equal(all[3]?.slot, null);
  all[2]?.slot?.giveBack();
  await rounds();
  assert.ok(all[3]?.slot);
});

test('no more run than may, idle or not, and what is given back twice counts once', async () => {
  const slots = createSlots({ runningMax: 1, tenantBusyMax: 5, waitingMax: 20 });
  const all = [asker(slots), asker(slots), asker(slots)];
  await turn();
  await turn();
  all[0]?.slot?.setBusy('idle');
  await rounds();
  assert.equal(all[1]?.slot, null);
  all[0]?.slot?.giveBack();
  all[0]?.slot?.giveBack();
  all[0]?.slot?.setBusy('busy');
  await rounds();
  assert.ok(all[1]?.slot);
  assert.equal(all[2]?.slot, null);
});

test('who gave up leaves the line, and one too many is refused', async () => {
  const slots = createSlots({ runningMax: 1, tenantBusyMax: 1, waitingMax: 2 });
  const first = asker(slots);
  await turn();
  await turn();
  const caller = new AbortController();
  const left = slots.take('a', caller.signal);
  await assert.rejects(slots.take('a', never), { name: 'FailureError' });
  caller.abort();
  await assert.rejects(left, { name: 'AbortError' });
  const next = asker(slots);
  first.slot?.giveBack();
  await rounds();
  assert.ok(next.slot);
});

test('S30 one tenant is never all that is busy, so that another starts at once', async () => {
  const slots = createSlots({ runningMax: 10, tenantBusyMax: 2, waitingMax: 20 });
  const mine = [asker(slots), asker(slots), asker(slots)];
  await rounds();
  const theirs = asker(slots, never, 'b');
  await rounds();
  assert.deepEqual(
    [...mine, theirs].map(({ slot }) => slot !== null),
    [true, true, false, true],
  );
});

test('S30 whose processes all rest starts one at once, however many of others are busy and for how long', async () => {
  const slots = createSlots({ runningMax: 20, tenantBusyMax: 2, waitingMax: 20 });
  const mine = Array.from({ length: 6 }, () => asker(slots));
  for (const request of mine) {
    await rounds();
    request.slot!.setBusy('idle');
  }
  for (const request of mine) request.slot!.setBusy('busy');
  const theirs = ['b', 'c', 'b', 'c'].map((tenant) => asker(slots, never, tenant));
  await rounds();
  const there = () => theirs.map(({ slot }) => slot !== null);
  assert.deepEqual(there(), [true, true, false, false]);
  theirs[0]!.slot!.setBusy('idle');
  await rounds();
  assert.deepEqual(there(), [true, true, true, false]);
  assert.deepEqual(
    theirs.map(({ slot }) => slot?.alone),
    [true, true, false, undefined],
  );
});
