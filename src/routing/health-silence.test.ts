import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';

test('a silent lane is closed out; its probe that loses to another target keeps it silent', () => {
  const { clock, health, now, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  health.fellSilent(lane, now());
  assert.deepEqual([standing(lane), health.snapshot(now())[0]!.why], ['open', 'silent']);
  clock.advance(1_000);
  const probe = {};
  assert.equal(health.began(lane, probe, 600_000, now()), 'probe');
  clock.advance(700);
  health.ended(lane, probe, endOf('cancelled', { afterMs: 700, lost: true }), now());
  const [told] = health.snapshot(now());
  assert.deepEqual([told!.standing, told!.why, told!.backAtMs], ['open', 'silent', now() + 2_000]);
});

test('a probe that falls silent has failed', () => {
  const { clock, health, now, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  open(lane);
  clock.advance(1_000);
  health.began(lane, {}, 600_000, now());
  health.fellSilent(lane, now());
  assert.deepEqual([standing(lane), health.snapshot(now())[0]!.why], ['open', 'silent']);
});

test('a failed health check closes out for as long as its interval, a passed one reopens what requests closed', () => {
  const { clock, health, now, open, standing } = setUp();
  const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
  const [lane, other] = health.lanes(target);
  health.checked(target, 'failed', 30_000, now());
  assert.deepEqual([lane!, other!].map(standing), ['open', 'open']);
  clock.advance(29_999);
  assert.equal(standing(lane!), 'open');
  health.checked(target, 'passed', 30_000, now());
  assert.deepEqual([standing(lane!), lane!.state.breaker.at], ['ready', 'ramp']);
  clock.advance(10_000);
  open(lane!);
  health.checked(target, 'passed', 30_000, now());
  assert.equal(standing(lane!), 'ready');
});

test('a passed health check ends neither a rest nor a silence', () => {
  for (const trouble of ['bad credential', 'silent'] as const) {
    const { health, now, run, standing } = setUp();
    const target = targetOf('a/m');
    const lane = laneOf(health, target);
    if (trouble === 'silent') health.fellSilent(lane, now());
    else run(lane, 'bad_credential');
    health.checked(target, 'passed', 30_000, now());
    assert.equal(standing(lane), 'open', trouble);
  }
});
