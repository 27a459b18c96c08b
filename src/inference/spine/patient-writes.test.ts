import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PatientWrites } from './patient-writes.ts';

/** Writes whose pauses take no time, and what was given up. */
function writesOf() {
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const troubles: string[] = [];
  const pause = async (ms: number) => {
    clock.nowMs += ms;
    await turn();
  };
  return { clock, troubles, writes: new PatientWrites({ clock, pause, onTrouble: (why) => troubles.push(why) }) };
}

const failing = async () => {
  throw new Error('no database');
};

test('a write that fails is tried again until it succeeds', async () => {
  const { writes, troubles, clock } = writesOf();
  let tries = 0;
  const step = async () => {
    tries += 1;
    if (tries < 4) throw new Error('no database');
  };
  assert.equal(await writes.written(step, 'req_1'), true);
  assert.deepEqual([tries, clock.nowMs, troubles], [4, 3_000, []]);
});

test('a caller waits for 30 tries, and the write is given up after ten minutes', async () => {
  const { writes, troubles, clock } = writesOf();
  assert.equal(await writes.written(failing, 'req_1'), false);
  assert.ok(clock.nowMs >= 29_000 && clock.nowMs <= 31_000, `${clock.nowMs} ms`);
  while (troubles.length === 0) await turn();
  assert.equal(clock.nowMs, 600_000);
  assert.match(troubles[0]!, /^the Idempotency-Key of req_1 could not be stored: Error: no database$/);
});

test('of more than 64 failing writes none is tried again, and those that have ended make room', async () => {
  const { writes, troubles } = writesOf();
  for (let at = 0; at < 100; at += 1) await writes.written(async () => {}, `req_${at}`);
  const some = Array.from({ length: 64 }, (_, at) => writes.written(failing, `req_${at}`));
  await turn();
  assert.deepEqual(troubles, []);
  assert.equal(await writes.written(failing, 'req_last'), false);
  assert.match(troubles[0]!, /^the Idempotency-Key of req_last could not/);
  assert.deepEqual(await Promise.all(some), new Array(64).fill(false));
});
