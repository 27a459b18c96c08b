import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterEvent,
  type BreakerEvent,
  type BreakerState,
  closed,
  isDue,
  isRamping,
  type OpenReason,
  rampShare,
} from './breaker.ts';

const owner = {};
const opened = (why: OpenReason = 'failing'): BreakerEvent => ({
  type: 'opened',
  why,
});
const probeBegan = (lostAtMs = 1e9): BreakerEvent => ({ type: 'probe-began', owner, lostAtMs });
const probeFailed = (why: 'failing' | 'bad credential' = 'failing'): BreakerEvent => ({ type: 'probe-failed', why });

type Open = Extract<BreakerState, { at: 'open' }>;
function openOf(state: BreakerState): Open {
  assert.equal(state.at, 'open');
  return state as Open;
}

/** How long it stays open, the first time and after each failed probe. */
function waits(why: 'failing' | 'bad credential', count: number): number[] {
  let state = openOf(afterEvent(closed, opened(why), 0));
  const found = [state.untilMs - state.sinceMs];
  while (found.length < count) {
    const dueMs = state.untilMs;
    state = openOf(afterEvent(afterEvent(state, probeBegan(), dueMs), probeFailed(why), dueMs));
    assert.equal(state.sinceMs, dueMs);
    found.push(state.untilMs - dueMs);
  }
  return found;
}

test('failures close a target out for 1 s, which failed probes double up to 30 s', () => {
  assert.deepEqual(waits('failing', 8), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test('a refused credential rests for 5 s, then 30 s, then 5 min', () => {
  assert.deepEqual(waits('bad credential', 5), [5_000, 30_000, 300_000, 300_000, 300_000]);
});

test('a rest that follows failures begins with its first step, and so do failures after a rest', () => {
  const failing = openOf(afterEvent(closed, opened(), 0));
  const resting = openOf(afterEvent(afterEvent(failing, probeBegan(), 1_000), probeFailed('bad credential'), 1_000));
  assert.deepEqual([resting.why, resting.untilMs], ['bad credential', 6_000]);
  const again = openOf(afterEvent(afterEvent(resting, probeBegan(), 6_000), probeFailed(), 6_000));
  assert.deepEqual([again.why, again.untilMs], ['failing', 7_000]);
});

test('open until its time, then due exactly one probe', () => {
  const state = afterEvent(closed, opened(), 5_000);
  assert.equal(isDue(state, 5_999), false);
  assert.equal(afterEvent(state, probeBegan(), 5_999), state);
  assert.equal(isDue(state, 6_000), true);
  const probing = afterEvent(state, probeBegan(), 6_000);
  assert.equal(probing.at, 'probing');
  assert.equal(isDue(probing, 7_000), false);
  assert.equal(afterEvent(probing, probeBegan(), 7_000), probing, 'a second probe does not begin');
});

test('what passed its probe carries 10, 25, 50 and 75 % of its share, and all of it after 10 s', () => {
  const probing = afterEvent(afterEvent(closed, opened(), 0), probeBegan(), 1_000);
  const state = afterEvent(probing, { type: 'probe-passed' }, 2_000);
  assert.equal(state.at, 'ramp');
  const at = [2_000, 4_499, 4_500, 7_000, 9_500, 11_999, 12_000, 1e9];
  assert.deepEqual(
    at.map((ms) => rampShare(state, ms)),
    [0.1, 0.1, 0.25, 0.5, 0.75, 0.75, 1, 1],
  );
  assert.deepEqual(
    at.map((ms) => isRamping(state, ms)),
    [true, true, true, true, true, true, false, false],
  );
  assert.equal(rampShare(closed, 0), 1);
});

test('an answered health check or request brings it back by the same ramp', () => {
  const open = afterEvent(closed, opened(), 0);
  const probing = afterEvent(open, probeBegan(), 1_000);
  for (const state of [open, probing]) {
    const back = afterEvent(state, { type: 'answered' }, 1_500);
    assert.deepEqual([back.at, rampShare(back, 1_500)], ['ramp', 0.1]);
    assert.equal(afterEvent(back, { type: 'answered' }, 3_000), back, 'the ramp does not begin anew');
  }
  assert.equal(afterEvent(closed, { type: 'answered' }, 0), closed);
});

test('what fails again within ten minutes stays out for longer; later, for 1 s', () => {
  const probing = afterEvent(afterEvent(closed, opened(), 0), probeBegan(), 1_000);
  const ramp = afterEvent(probing, { type: 'probe-passed' }, 1_000);
  assert.equal(openOf(afterEvent(ramp, opened(), 10_999)).untilMs, 12_999);
  assert.equal(openOf(afterEvent(ramp, opened(), 600_999)).untilMs, 602_999);
  assert.equal(openOf(afterEvent(ramp, opened(), 601_000)).untilMs, 602_000);
});

test('F71 a probe of broken streams waits longer, and one that has shown content holds the place for 10 s', () => {
  const open = afterEvent(closed, opened('streams break off'), 0);
  assert.equal(openOf(open).untilMs, 4_000);
  assert.equal(openOf(afterEvent(afterEvent(closed, opened(), 0), opened('streams break off'), 0)).untilMs, 1_000);
  const spoke = afterEvent(afterEvent(open, probeBegan(600_000), 4_000), { type: 'probe-spoke' }, 4_200);
  assert.equal(isDue(spoke, 14_199), false);
  assert.equal(isDue(spoke, 14_200), true);
});

test('a probe that ends without telling anything frees the slot at once and keeps its step', () => {
  const open = afterEvent(closed, opened(), 0);
  const second = afterEvent(afterEvent(open, probeBegan(), 1_000), probeFailed(), 1_000);
  const freed = afterEvent(afterEvent(second, probeBegan(), 3_000), { type: 'probe-freed' }, 3_010);
  assert.equal(isDue(freed, 3_010), true);
  const third = afterEvent(afterEvent(freed, probeBegan(), 3_020), probeFailed(), 3_020);
  assert.equal(openOf(third).untilMs, 3_020 + 4_000);
});

test('a probe whose end is never told loses its slot', () => {
  const probing = afterEvent(afterEvent(closed, opened(), 0), probeBegan(10_000), 1_000);
  assert.equal(isDue(probing, 9_999), false);
  assert.equal(isDue(probing, 10_000), true);
  const other = {};
  const taken = afterEvent(probing, { type: 'probe-began', owner: other, lostAtMs: 90_000 }, 10_000);
  assert.deepEqual(taken, { at: 'probing', why: 'failing', step: 0, sinceMs: 0, owner: other, lostAtMs: 90_000 });
});

test('failures of what is asked all the same do not keep it closed out for longer', () => {
  const open = afterEvent(closed, opened(), 0);
  assert.equal(afterEvent(open, opened(), 900), open);
  assert.equal(afterEvent(open, opened('unreachable'), 900), open);
  assert.equal(afterEvent(open, opened('silent'), 900), open);
});

test('of two times the later wins, whichever came first', () => {
  const failing = afterEvent(closed, opened(), 0);
  const resting = afterEvent(failing, opened('bad credential'), 500);
  assert.deepEqual([openOf(resting).why, openOf(resting).untilMs], ['bad credential', 5_500]);
  assert.equal(afterEvent(resting, opened(), 600), resting);
  const checked = afterEvent(failing, { type: 'opened', why: 'health check failed', forMs: 30_000 }, 500);
  assert.equal(openOf(checked).untilMs, 30_500);
  assert.equal(afterEvent(checked, { type: 'opened', why: 'health check failed', forMs: 10_000 }, 600), checked);
});

test('what tells of a probe changes nothing where none runs', () => {
  for (const state of [closed, afterEvent(closed, opened(), 0)]) {
    assert.equal(afterEvent(state, { type: 'probe-passed' }, 3_000), state);
    assert.equal(afterEvent(state, probeFailed(), 3_000), state);
    assert.equal(afterEvent(state, { type: 'probe-freed' }, 3_000), state);
  }
  assert.equal(afterEvent(closed, probeBegan(), 0), closed, 'what is not open needs no probe');
});
