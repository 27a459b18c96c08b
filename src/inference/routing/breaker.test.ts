import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterEvent, type BreakerEvent, type BreakerState, closed, isDue } from './breaker.ts';

const owner = {};
const failed = (failures: number, total: number): BreakerEvent => ({ type: 'failed', failures, total });
const probeBegan = (lostAtMs = 1e9): BreakerEvent => ({ type: 'probe-began', owner, lostAtMs });
const open = (untilMs: number, openForMs = 5_000): BreakerState => ({ at: 'open', untilMs, openForMs, why: 'failing' });

test('three failures in a row open it for 5 s', () => {
  let state = closed;
  state = afterEvent(state, failed(1, 100), 1_000);
  state = afterEvent(state, failed(2, 101), 1_000);
  assert.equal(state.at, 'closed');
  assert.deepEqual(afterEvent(state, failed(3, 102), 1_000), open(6_000));
});

test('a success between failures starts the row anew', () => {
  let state = afterEvent(afterEvent(closed, failed(1, 9), 0), failed(2, 10), 0);
  state = afterEvent(state, { type: 'succeeded' }, 0);
  assert.equal(afterEvent(state, failed(3, 11), 0).at, 'closed');
});

test('five failures open it when they are half of the window, not when they are less', () => {
  assert.equal(afterEvent(closed, failed(5, 10), 0).at, 'open');
  assert.equal(afterEvent(closed, failed(5, 11), 0).at, 'closed');
  assert.equal(afterEvent(closed, failed(4, 4), 0).at, 'closed', 'four are too few to judge by their share');
});

test('open until its time, then due exactly one probe', () => {
  const state = open(6_000);
  assert.equal(isDue(state, 5_999), false);
  assert.equal(afterEvent(state, probeBegan(), 5_999), state);
  assert.equal(isDue(state, 6_000), true);
  const probing = afterEvent(state, probeBegan(), 6_000);
  assert.equal(probing.at, 'probing');
  assert.equal(isDue(probing, 7_000), false);
  assert.equal(afterEvent(probing, probeBegan(), 7_000), probing, 'a second probe does not begin');
});

test('failed probes double the open time up to 60 s, a passed one closes', () => {
  let state: BreakerState = open(0);
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    state = afterEvent(afterEvent(state, probeBegan(), 0), { type: 'probe-failed' }, 0);
    assert.equal(state.at, 'open');
    if (state.at === 'open') {
      waits.push(state.untilMs);
      state = { ...state, untilMs: 0 };
    }
  }
  assert.deepEqual(waits, [10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  const passed = afterEvent(afterEvent(state, probeBegan(), 0), { type: 'probe-succeeded' }, 0);
  assert.equal(passed, closed);
});

test('a probe that ends without telling anything frees the slot at once and keeps the open time', () => {
  const freed = afterEvent(afterEvent(open(0, 20_000), probeBegan(), 50), { type: 'probe-freed' }, 60);
  assert.deepEqual(freed, open(60, 20_000));
  assert.equal(isDue(freed, 60), true);
});

test('a probe whose end is never told loses its slot', () => {
  const probing = afterEvent(open(0), probeBegan(10_000), 0);
  assert.equal(isDue(probing, 9_999), false);
  assert.equal(isDue(probing, 10_000), true);
  assert.equal(afterEvent(probing, probeBegan(90_000), 10_000).at, 'probing');
});

test('what ends late from before it opened changes nothing', () => {
  for (const state of [open(6_000), afterEvent(open(0), probeBegan(), 0)]) {
    assert.equal(afterEvent(state, { type: 'succeeded' }, 3_000), state);
    assert.equal(afterEvent(state, failed(9, 9), 3_000), state);
  }
});

test('one proof opens it whatever it was; of two times the later wins', () => {
  const trip = (forMs: number): BreakerEvent => ({ type: 'tripped', forMs, why: 'bad credential' });
  const tripped: BreakerState = { at: 'open', untilMs: 301_000, openForMs: 5_000, why: 'bad credential' };
  assert.deepEqual(afterEvent(closed, trip(300_000), 1_000), tripped);
  assert.deepEqual(afterEvent(afterEvent(open(0), probeBegan(), 0), trip(300_000), 1_000), tripped);
  assert.equal(afterEvent(tripped, trip(1_000), 1_000), tripped);
});
