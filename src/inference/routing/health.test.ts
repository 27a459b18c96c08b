import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf } from '../../../test/simulation/routing-samples.ts';
import { fakeClock } from '../../kernel/clock.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { createHealth, type Health, lanesMax } from './health.ts';
import { type Lane, standingOf } from './lane.ts';
import type { Target } from './target.ts';

function setUp() {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const now = () => clock.monotonicMs();
  /** One attempt that ends at once. */
  function run(lane: Lane, outcome: OutcomeClass, retryAfterMs: number | null = null): 'request' | 'probe' {
    const attempt = {};
    const as = health.began(lane, attempt, 600_000, now());
    health.ended(lane, attempt, { class: outcome, retryAfterMs, afterMs: 0, content: 'none' }, now());
    return as;
  }
  const standing = (lane: Lane) => standingOf(lane, now());
  return { clock, health, now, run, standing };
}

const laneOf = (health: Health, target: Target, index = 0) => health.lanes(target)[index]!;

test('F11 three failures in a row open a lane for 5 s, then one request is its probe', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 3; i++) run(lane, 'transient');
  assert.equal(standing(lane), 'open');
  clock.advance(4_999);
  assert.equal(standing(lane), 'open');
  clock.advance(1);
  assert.equal(standing(lane), 'due');
  const probe = {};
  assert.equal(health.began(lane, probe, 600_000, now()), 'probe');
  assert.equal(standing(lane), 'probing');
  assert.equal(health.began(lane, {}, 600_000, now()), 'request', 'a second one is no probe');
  health.ended(lane, probe, { class: 'ok', retryAfterMs: null, afterMs: 1, content: 'none' }, now());
  assert.equal(standing(lane), 'ready');
});

test('F11 after a passed probe the old failures are forgotten', () => {
  const { clock, health, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 5; i++) run(lane, 'transient');
  clock.advance(5_000);
  run(lane, 'ok');
  run(lane, 'transient');
  assert.equal(standing(lane), 'ready');
});

test('half of the window failing opens a lane even if never three in a row', () => {
  const { health, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 4; i++) {
    run(lane, 'truncated');
    run(lane, 'ok');
  }
  assert.equal(standing(lane), 'ready');
  run(lane, 'malformed');
  assert.equal(standing(lane), 'open');
});

test('F1 streams begun before a target died and ending well do not keep its breaker closed', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const streams = [{}, {}, {}];
  for (const stream of streams) health.began(lane, stream, 600_000, now());
  for (const stream of streams) {
    clock.advance(1_000);
    run(lane, 'transient');
    clock.advance(1_000);
    health.ended(lane, stream, { class: 'ok', retryAfterMs: null, afterMs: 7_000, content: 'none' }, now());
  }
  assert.equal(standing(lane), 'open');
});

test('F3 a first token that never came counts as a slow one', () => {
  const { health, now } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const attempt = {};
  health.began(lane, attempt, 600_000, now());
  const stalled = { class: 'stall_first_token', retryAfterMs: null, afterMs: 30_000, content: 'none' } as const;
  health.ended(lane, attempt, stalled, now());
  assert.equal(health.snapshot(now())[0]!.firstTokenMs, 30_000);
});

test('failures older than 60 s do not count', () => {
  const { clock, health, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 4; i++) {
    run(lane, 'stall_idle');
    run(lane, 'ok');
  }
  clock.advance(60_000);
  run(lane, 'stall_idle');
  assert.equal(standing(lane), 'ready');
});

test('the first content of a probe is its success: a stream may last for minutes', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 3; i++) run(lane, 'transient');
  clock.advance(5_000);
  const probe = {};
  health.began(lane, probe, 600_000, now());
  health.firstToken(lane, probe, 200, now());
  assert.equal(standing(lane), 'ready');
  health.ended(lane, probe, { class: 'ok', retryAfterMs: null, afterMs: 9_000, content: 'seen' }, now());
  assert.equal(standing(lane), 'ready');
});

for (const neutral of [
  'caller_fault',
  'rate_limited',
  'cancelled',
  'deadline',
  'gateway_fault',
  'not_capable',
] as const) {
  test(`${neutral} neither opens a lane nor decides a probe: the next request may probe`, () => {
    const { clock, health, run, standing } = setUp();
    const lane = laneOf(health, targetOf('a/m'));
    for (let i = 0; i < 20; i++) run(lane, neutral, 1_000);
    clock.advance(1_000);
    assert.equal(standing(lane), 'ready');
    for (let i = 0; i < 3; i++) run(lane, 'transient');
    clock.advance(5_000);
    assert.equal(run(lane, neutral, 1_000), 'probe');
    clock.advance(1_000);
    assert.equal(standing(lane), 'due');
  });
}

test('F10 a 429 cools the credential with every model of its provider, and nothing else', () => {
  const { clock, health, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const sibling = laneOf(health, targetOf('a/other'));
  const elsewhere = laneOf(health, targetOf('b/m'));
  run(lane, 'rate_limited', 20_000);
  run(lane, 'rate_limited', 2_000);
  assert.deepEqual([lane, sibling, elsewhere].map(standing), ['cooling', 'cooling', 'ready']);
  clock.advance(19_999);
  assert.equal(standing(sibling), 'cooling');
  clock.advance(1);
  assert.equal(standing(sibling), 'ready');
});

for (const refused of ['quota_exhausted', 'bad_credential'] as const) {
  test(`${refused} opens the credential for 5 min, then one request tests it for all models`, () => {
    const { clock, health, now, run, standing } = setUp();
    const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
    const lane = laneOf(health, target);
    const sibling = laneOf(health, targetOf('a/other'));
    run(lane, refused);
    assert.deepEqual([lane, sibling, laneOf(health, target, 1)].map(standing), ['open', 'open', 'ready']);
    clock.advance(300_000);
    assert.equal(standing(sibling), 'due');
    health.began(sibling, {}, 600_000, now());
    assert.equal(standing(lane), 'probing');
  });
}

for (const gone of ['model_unavailable', 'region_blocked'] as const) {
  test(`${gone} opens the model for 5 min with every credential, and no other model`, () => {
    const { clock, health, run, standing } = setUp();
    const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
    run(laneOf(health, target), gone);
    const lanes = [...health.lanes(target), laneOf(health, targetOf('a/other'))];
    assert.deepEqual(lanes.map(standing), ['open', 'open', 'ready']);
    clock.advance(300_000);
    run(lanes[0]!, 'ok');
    assert.equal(standing(lanes[1]!), 'ready');
  });
}

test('a credential with rpm 3 is passed over when it has carried 3 in any true minute', () => {
  const { clock, health, now, run, standing } = setUp();
  const target = targetOf('a/m', { rpm: 3 });
  const lane = laneOf(health, target);
  const sibling = laneOf(health, targetOf('a/other', { rpm: 3 }));
  clock.advance(999);
  run(lane, 'ok');
  run(sibling, 'ok');
  assert.equal(standing(lane), 'ready');
  run(lane, 'transient');
  assert.equal(standing(lane), 'full');
  assert.equal(standing(sibling), 'full', 'the limit is the credential’s, whatever the model');
  clock.advance(60_000);
  assert.equal(standing(lane), 'full', 'the minute may not be cut short by a bucket’s edge');
  clock.advance(1_000);
  assert.equal(standingOf(lane, now()), 'ready');
});

test('a reload keeps what is known of targets that stay and forgets the others', () => {
  const { health, run, standing } = setUp();
  for (const id of ['a/m', 'b/m']) for (let i = 0; i < 3; i++) run(laneOf(health, targetOf(id)), 'transient');
  run(laneOf(health, targetOf('c/m')), 'rate_limited', 60_000);
  health.retain([targetOf('a/m', { weight: 5 })]);
  assert.deepEqual(
    ['a/m', 'b/m', 'c/m'].map((id) => standing(laneOf(health, targetOf(id)))),
    ['open', 'ready', 'ready'],
  );
});

test('a request that outlives a reload still ends well', () => {
  const { health, now } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const attempt = {};
  health.began(lane, attempt, 600_000, now());
  health.retain([]);
  health.ended(lane, attempt, { class: 'ok', retryAfterMs: null, afterMs: 1, content: 'none' }, now());
  assert.equal(laneOf(health, targetOf('a/m')).state.inFlight, 0);
});

test('names that callers invent do not pile up; a running attempt’s lane stays', () => {
  const { health, now } = setUp();
  const busy = targetOf('busy/m');
  health.began(laneOf(health, busy), {}, 600_000, now());
  for (let i = 0; i < lanesMax * 2; i++) health.lanes(targetOf(`a/invented-${i}`));
  const kept = health.snapshot(now());
  assert.ok(kept.length <= lanesMax);
  assert.equal(kept.find((lane) => lane.target === 'busy/m')?.inFlight, 1);
});

test('a model is down only when nothing could be sent; what is due a probe can serve', () => {
  const { clock, health, now, run } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m')];
  const status = () => health.status(targets, now());
  assert.equal(status(), 'healthy', 'never tried');
  for (let i = 0; i < 3; i++) run(laneOf(health, targets[0]!), 'transient');
  assert.equal(status(), 'degraded');
  for (let i = 0; i < 3; i++) run(laneOf(health, targets[1]!), 'transient');
  assert.equal(status(), 'down');
  clock.advance(5_000);
  assert.equal(status(), 'degraded', 'or /readyz would keep away the request that tests it');
  assert.equal(health.status([], now()), 'down');
});

test('the snapshot tells standing, reason and figures of each lane', () => {
  const { health, now, run } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  run(lane, 'ok');
  run(lane, 'bad_credential');
  const [told] = health.snapshot(now());
  assert.deepEqual(told, {
    target: 'a/m',
    credential: 'a#0',
    standing: 'open',
    backAtMs: now() + 300_000,
    why: 'bad credential',
    inFlight: 0,
    firstTokenMs: null,
    succeeded: 1,
    failed: 0,
  });
});
