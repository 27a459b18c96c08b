import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';
import type { OutcomeClass } from '../formats/neutral/outcome.ts';
import type { Lane } from './lane.ts';

test('F10 a 429 cools its model at its credential, and a second model meanwhile the credential with all of them', () => {
  const { clock, health, run, standing } = setUp();
  const lanes = ['a/m', 'a/other', 'a/third', 'b/m'].map((id) => laneOf(health, targetOf(id)));
  const [lane, other, third] = lanes as [Lane, Lane, Lane];
  run(lane, 'rate_limited', { retryAfterMs: 20_000 });
  run(lane, 'rate_limited', { retryAfterMs: 2_000 });
  assert.deepEqual(lanes.map(standing), ['cooling', 'ready', 'ready', 'ready']);
  clock.advance(10_000);
  run(other, 'rate_limited', { retryAfterMs: 15_000 });
  assert.deepEqual(lanes.map(standing), ['cooling', 'cooling', 'cooling', 'ready']);
  clock.advance(14_999);
  assert.deepEqual(lanes.map(standing), ['cooling', 'cooling', 'cooling', 'ready']);
  clock.advance(1);
  assert.deepEqual(lanes.map(standing), ['ready', 'ready', 'ready', 'ready']);
  // Long after each other, they are limits of two models.
  run(third, 'rate_limited', { retryAfterMs: 1_000 });
  clock.advance(1_000);
  run(other, 'rate_limited', { retryAfterMs: 1_000 });
  assert.deepEqual(lanes.map(standing), ['ready', 'cooling', 'ready', 'ready']);
});

test('every class has its place: what it says of the upstream, and why it rests', () => {
  const expected: Record<OutcomeClass, [succeeded: number, failed: number, why: string | null]> = {
    ok: [1, 0, null],
    caller_fault: [0, 0, null],
    caller_credential: [0, 0, null],
    filtered: [0, 0, null],
    too_long: [0, 0, null],
    rate_limited: [0, 0, 'rate limited'],
    quota_exhausted: [0, 0, 'quota exhausted'],
    bad_credential: [0, 0, 'bad credential'],
    model_unavailable: [0, 0, 'model unavailable'],
    region_blocked: [0, 0, 'region blocked'],
    unreachable: [0, 1, null],
    transient: [0, 1, null],
    stall_first_token: [0, 1, null],
    stall_idle: [0, 1, null],
    truncated: [0, 1, null],
    malformed: [0, 1, null],
    cancelled: [0, 0, null],
    deadline: [0, 0, null],
    gateway_fault: [0, 0, null],
    low_quality: [1, 0, null],
    not_capable: [0, 0, null],
  };
  for (const [outcome, place] of Object.entries(expected)) {
    const { health, now, run } = setUp();
    run(laneOf(health, targetOf('a/m')), outcome as OutcomeClass);
    const [lane] = health.snapshot(now());
    assert.deepEqual([lane!.succeeded, lane!.failed, lane!.why], place, outcome);
  }
});

test('a rest that is over is looked at by one cheap call, which tells whether it goes on', () => {
  const { clock, health, now, run, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const failing = laneOf(health, targetOf('b/m'));
  run(lane, 'bad_credential');
  open(failing);
  clock.advance(4_999);
  assert.deepEqual(health.dueLooks(now()), []);
  clock.advance(1);
  const [look, ...more] = health.dueLooks(now());
  assert.deepEqual([look!.targetId, look!.credentialId, look!.why], ['a/m', 'a#0', 'bad credential']);
  assert.deepEqual(more, [], 'what merely fails is tested by a request');
  assert.deepEqual(health.dueLooks(now()), [], 'one look at a time');
  assert.equal(standing(lane), 'probing');
  look!.ended('goes on', now());
  assert.equal(standing(lane), 'open');
  clock.advance(30_000);
  health.dueLooks(now())[0]!.ended('over', now());
  assert.deepEqual([standing(lane), lane.state.breaker.at], ['ready', 'ramp']);
});

test('a look that tells nothing leaves the test to the next request', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  run(lane, 'quota_exhausted');
  clock.advance(5_000);
  const [look] = health.dueLooks(now());
  look!.ended('unknown', now());
  assert.equal(standing(lane), 'due');
  assert.equal(run(lane, 'quota_exhausted'), 'probe');
  // Its end comes too late to say anything.
  look!.ended('over', now());
  assert.equal(standing(lane), 'open');
  assert.equal(health.snapshot(now())[0]!.backAtMs, now() + 30_000);
});

test('a look whose end is never told does not hold the lane for ever', () => {
  const { clock, health, now, run } = setUp();
  run(laneOf(health, targetOf('a/m')), 'bad_credential');
  clock.advance(5_000);
  assert.equal(health.dueLooks(now()).length, 1);
  clock.advance(29_999);
  assert.equal(health.dueLooks(now()).length, 0);
  clock.advance(1);
  assert.equal(health.dueLooks(now()).length, 1);
});
