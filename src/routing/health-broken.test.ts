import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';

test('F71 a probe has passed when its answer has ended well, not with its first content', () => {
  const { clock, health, now, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  open(lane);
  clock.advance(1_000);
  const probe = {};
  health.began(lane, probe, 600_000, now());
  health.firstToken(lane, probe, 'stream', 200, now());
  assert.equal(standing(lane), 'probing');
  clock.advance(9_000);
  health.ended(lane, probe, endOf('ok', { afterMs: 9_000, content: 'seen' }), now());
  assert.equal(standing(lane), 'ready');
});

test('F71 another request may probe 10 s after the first content of one that goes on; whichever ends well first decides', () => {
  const { clock, health, now, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  open(lane);
  clock.advance(1_000);
  const [first, second] = [{}, {}];
  health.began(lane, first, 600_000, now());
  health.firstToken(lane, first, 'stream', 200, now());
  clock.advance(10_000);
  assert.equal(health.began(lane, second, 600_000, now()), 'probe');
  health.ended(lane, first, endOf('ok', { afterMs: 10_000, content: 'seen' }), now());
  assert.equal(standing(lane), 'ready');
});

test('F71 three answers in a row that break after their first content close a lane out for 4 s; a check does not open it', () => {
  const { clock, health, run, runMany, standing } = setUp();
  const target = targetOf('a/m');
  const lane = laneOf(health, target);
  const broken = { content: 'seen' } as const;
  runMany(50, lane, 'ok');
  runMany(2, lane, 'truncated', broken);
  run(lane, 'ok');
  runMany(2, lane, 'truncated', broken);
  assert.equal(standing(lane), 'ready', 'one that ended well in between starts the row anew');
  run(lane, 'malformed', broken);
  assert.equal(standing(lane), 'open');
  health.checked(target, 'passed', 0, clock.monotonicMs());
  assert.equal(standing(lane), 'open');
  clock.advance(4_000);
  assert.equal(standing(lane), 'due');
  run(lane, 'ok', { content: 'seen' });
  assert.equal(standing(lane), 'ready');
  run(lane, 'truncated', broken);
  assert.equal(standing(lane), 'open', 'while it comes back one is enough');
  clock.advance(4_000);
  assert.equal(standing(lane), 'open', 'and it stays closed for longer');
});

test('F71 a stall counts as a failure at once, and not again at its end', () => {
  const { health, now, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const stalls = [{}, {}, {}];
  for (const attempt of stalls) {
    health.began(lane, attempt, 600_000, now());
    health.firstToken(lane, attempt, 'stream', 200, now());
  }
  const stall = (attempt: object) => health.stalled(lane, attempt, { tenant: 'dev/laptop', repeated: false }, now());
  for (const attempt of stalls.slice(1)) stall(attempt);
  assert.equal(standing(lane), 'ready');
  stall(stalls[0]!);
  assert.equal(standing(lane), 'open');
  for (const attempt of stalls) {
    health.ended(lane, attempt, endOf('stall_idle', { content: 'seen', repeated: true }), now());
  }
  assert.equal(health.snapshot(now())[0]!.failed, 3);
});
