import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';
import { healthOf, hopeOf, type Lane, standingOf } from './lane.ts';

test('three requests in a row whose connection failed close a lane out for 1 s, then one request is its probe', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 2; i++) run(lane, 'unreachable');
  assert.equal(standing(lane), 'ready');
  run(lane, 'unreachable');
  assert.equal(standing(lane), 'refused');
  clock.advance(999);
  assert.equal(standing(lane), 'refused');
  clock.advance(1);
  assert.equal(standing(lane), 'due');
  const probe = {};
  assert.equal(health.began(lane, probe, 600_000, now()), 'probe');
  assert.equal(standing(lane), 'probing');
  assert.equal(health.began(lane, {}, 600_000, now()), 'request', 'a second one is no probe');
  health.ended(lane, probe, endOf('ok'), now());
  assert.equal(standing(lane), 'ready');
});

test('a refused connection keeps everybody away for 1 s, however long the lane stays closed out', () => {
  const { clock, health, run, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  open(lane);
  clock.advance(1_000);
  assert.equal(run(lane, 'unreachable'), 'probe');
  assert.equal(standing(lane), 'refused');
  clock.advance(1_000);
  assert.equal(standing(lane), 'open', 'it could be asked, should nothing else be there');
  clock.advance(1_000);
  assert.equal(standing(lane), 'due');
});

test('any answer between refused connections starts the row anew', () => {
  for (const between of ['ok', 'transient'] as const) {
    const { health, run, runMany, standing } = setUp();
    const lane = laneOf(health, targetOf('a/m'));
    runMany(2, lane, 'unreachable');
    run(lane, between);
    runMany(2, lane, 'unreachable');
    assert.equal(standing(lane), 'ready', between);
  }
});

test('one request that is refused three times counts once', () => {
  const { health, now, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  run(lane, 'unreachable');
  runMany(20, lane, 'unreachable', { repeated: true });
  run(lane, 'transient');
  runMany(20, lane, 'transient', { repeated: true });
  assert.equal(standing(lane), 'ready');
  assert.equal(health.snapshot(now())[0]!.failed, 2);
});

test('failures above the connection close a lane out when it is as good as dead, not before', () => {
  const { health, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(9, lane, 'transient');
  assert.equal(standing(lane), 'ready', 'nine failures in a row are too few');
  run(lane, 'malformed');
  assert.equal(standing(lane), 'open');
});

test('what answers every fifth request is not closed out, but is worth little', () => {
  const { health, now, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 20; i++) {
    run(lane, 'ok');
    runMany(4, lane, 'truncated');
    assert.equal(standing(lane), 'ready', `${i}`);
  }
  assert.ok(healthOf(lane.state, now()) < 0.1);
});

test('a failing lane loses its share of the traffic before it is closed out', () => {
  const { health, now, run } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const shares = [healthOf(lane.state, now())];
  for (let i = 0; i < 5; i++) {
    run(lane, 'transient');
    shares.push(healthOf(lane.state, now()));
  }
  assert.equal(shares[0], 1);
  for (let i = 1; i < shares.length; i++) assert.ok(shares[i]! < shares[i - 1]!);
  assert.ok(shares[5]! < 0.15, `${shares}`);
});

test('a lane that came back has a fresh start and a tenth of its share', () => {
  const { clock, health, now, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(10, lane, 'transient');
  clock.advance(1_000);
  run(lane, 'ok');
  assert.equal(standing(lane), 'ready');
  assert.equal(healthOf(lane.state, now()), 0.1);
  run(lane, 'transient');
  assert.equal(standing(lane), 'ready', 'one more failure after ten does not close it out');
  clock.advance(10_000);
  run(lane, 'ok');
  assert.ok(healthOf(lane.state, now()) > 0.5);
});

test('while it comes back, three failures or a refused connection close it out again, for longer', () => {
  for (const [outcome, count] of [
    ['transient', 3],
    ['unreachable', 1],
  ] as const) {
    const { clock, health, now, runMany, standing } = setUp();
    const target = targetOf('a/m');
    const lane = laneOf(health, target);
    runMany(10, lane, 'transient');
    clock.advance(500);
    health.checked(target, 'passed', 30_000, now());
    runMany(count - 1, lane, outcome);
    assert.equal(standing(lane), 'ready', outcome);
    runMany(1, lane, outcome);
    assert.notEqual(standing(lane), 'ready', outcome);
    assert.equal(health.snapshot(now())[0]!.backAtMs, now() + 2_000, outcome);
  }
});

test('while it comes back, failures with enough answers between them do not close it out', () => {
  const { clock, health, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(10, lane, 'transient');
  clock.advance(1_000);
  assert.equal(run(lane, 'ok'), 'probe');
  runMany(4, lane, 'transient');
  assert.equal(standing(lane), 'ready', 'one of five was answered');
  run(lane, 'transient');
  assert.equal(standing(lane), 'open');
});

test('F1 streams begun before a target died and ending well do not open its breaker again', () => {
  const { clock, health, now, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const stream = {};
  health.began(lane, stream, 600_000, now());
  clock.advance(5_000);
  open(lane);
  clock.advance(500);
  health.ended(lane, stream, endOf('ok', { afterMs: 5_500 }), now());
  assert.equal(standing(lane), 'refused');
});

test('a request that began while it was closed out and is answered brings it back', () => {
  const { clock, health, now, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(10, lane, 'transient');
  clock.advance(100);
  const attempt = {};
  assert.equal(health.began(lane, attempt, 600_000, now()), 'request');
  clock.advance(200);
  health.ended(lane, attempt, endOf('ok', { afterMs: 200 }), now());
  assert.equal(standing(lane), 'ready');
});

test('F3 a first token that never came counts as a slow one, and so does the loser of a hedge', () => {
  for (const end of [
    endOf('stall_first_token', { afterMs: 30_000 }),
    endOf('cancelled', { afterMs: 30_000, lost: true }),
  ]) {
    const { health, now } = setUp();
    const lane = laneOf(health, targetOf('a/m'));
    const attempt = {};
    health.began(lane, attempt, 600_000, now());
    health.ended(lane, attempt, end, now());
    assert.equal(health.snapshot(now())[0]!.firstTokenMs, 30_000);
  }
});

test('failures older than a minute do not count', () => {
  const { clock, health, now, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(9, lane, 'stall_idle');
  clock.advance(66_000);
  run(lane, 'stall_idle');
  assert.equal(standing(lane), 'ready');
  assert.equal(health.snapshot(now())[0]!.failed, 1);
});

for (const neutral of [
  'caller_fault',
  'rate_limited',
  'cancelled',
  'deadline',
  'gateway_fault',
  'not_capable',
] as const) {
  test(`${neutral} neither closes a lane out nor decides a probe: the next request may probe`, () => {
    const { clock, health, now, run, runMany, open, standing } = setUp();
    const lane = laneOf(health, targetOf('a/m'));
    runMany(20, lane, neutral, { retryAfterMs: 1_000 });
    clock.advance(1_000);
    assert.equal(standing(lane), 'ready');
    assert.deepEqual([lane.state.share.at(now()), health.snapshot(now())[0]!.failed], [1, 0]);
    open(lane);
    clock.advance(1_000);
    assert.equal(run(lane, neutral, { retryAfterMs: 1_000 }), 'probe');
    clock.advance(1_000);
    assert.equal(standing(lane), 'due');
  });
}

for (const refused of ['quota_exhausted', 'bad_credential', 'model_unavailable', 'region_blocked'] as const) {
  test(`${refused} rests this model with this credential, and no other, for 5 s, then 30 s, then 5 min`, () => {
    const { clock, health, run, standing } = setUp();
    const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
    const lane = laneOf(health, target);
    run(lane, refused);
    const lanes = [lane, laneOf(health, target, 1), laneOf(health, targetOf('a/other'))];
    assert.deepEqual(lanes.map(standing), ['open', 'ready', 'ready']);
    for (const restMs of [5_000, 30_000, 300_000, 300_000]) {
      clock.advance(restMs - 1);
      assert.equal(standing(lane), 'open');
      clock.advance(1);
      assert.equal(standing(lane), 'due');
      assert.equal(run(lane, refused), 'probe');
    }
    clock.advance(300_000);
    run(lane, 'ok');
    assert.equal(standing(lane), 'ready');
  });
}

test('S26 a prompt that fails for one tenant alone does not close a target out for the others', () => {
  const { clock, health, now, run, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  for (let i = 0; i < 200; i++) {
    run(lane, 'transient', { tenant: 'poisoned' });
    if (i % 2 === 0) run(lane, 'ok', { tenant: 'other' });
    assert.equal(standing(lane), 'ready', `${i}`);
    clock.advance(100);
  }
  assert.ok(healthOf(lane.state, now()) > 0.8, `${healthOf(lane.state, now())}`);
});

test('S26 nor does it close out a target that comes back', () => {
  const { clock, health, run, runMany, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  runMany(10, lane, 'transient');
  clock.advance(1_000);
  assert.equal(run(lane, 'ok'), 'probe');
  run(lane, 'transient', { tenant: 'poisoner/key' });
  run(lane, 'ok');
  runMany(30, lane, 'transient', { tenant: 'poisoner/key' });
  assert.equal(standing(lane), 'ready');
});

test('hope is what succeeds; a rest leaves hardly any, silence and a refused connection a tenth', () => {
  const { health, now, run, runMany, open } = setUp();
  const hope = (lane: Lane) => hopeOf(lane.state, 'lately', now());
  const [failing, refused, silent, resting] = ['a/m', 'b/m', 'c/m', 'd/m'].map((id) => laneOf(health, targetOf(id)));
  runMany(50, failing!, 'ok');
  runMany(2, failing!, 'transient');
  assert.equal(hope(failing!), failing!.state.share.at(now()));
  open(refused!);
  health.fellSilent(silent!, now());
  run(resting!, 'bad_credential');
  assert.deepEqual([hope(refused!), hope(silent!), hope(resting!)], [0.1, 0.1, 0.02]);
});

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

test('a model is down when every target is closed out or limited; what is due a probe can serve', () => {
  const { clock, health, now, open } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m')];
  const status = () => health.status(targets, now());
  assert.equal(status(), 'healthy', 'never tried');
  open(laneOf(health, targets[0]!));
  assert.equal(status(), 'degraded');
  open(laneOf(health, targets[1]!));
  assert.equal(status(), 'down');
  clock.advance(1_000);
  assert.equal(status(), 'degraded', 'or /readyz would keep away the request that tests it');
  assert.equal(health.status([], now()), 'down');
});

test('the snapshot tells standing, reason and figures of each lane', () => {
  const { health, now, run } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  run(lane, 'ok');
  run(lane, 'transient');
  run(lane, 'bad_credential');
  const [told] = health.snapshot(now());
  assert.deepEqual(told, {
    target: 'a/m',
    credential: 'a#0',
    standing: 'open',
    backAtMs: now() + 5_000,
    why: 'bad credential',
    inFlight: 0,
    firstTokenMs: null,
    succeeded: 1,
    failed: 1,
    successShare: (1 + 2) / (1 + 1 + 2),
  });
});

test('a target that came back has a fresh start: three refused connections in a row close it again', () => {
  const { clock, health, run, open, standing } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  open(lane);
  clock.advance(1_000);
  run(lane, 'ok');
  clock.advance(10_000);
  for (let nth = 1; nth <= 2; nth++) run(lane, 'unreachable');
  assert.equal(standing(lane), 'ready');
  run(lane, 'unreachable');
  assert.notEqual(standing(lane), 'ready');
});

test('of many targets those alone that were tried cost a look at their credentials', () => {
  const { health, now, run } = setUp();
  let looks = 0;
  const targets = Array.from({ length: 1_000 }, (_, at) => {
    const target = targetOf(`a/m-${at}`);
    const credentials = target.credentials.map((credential) => ({
      ...credential,
      get id() {
        looks += 1;
        return credential.id;
      },
    }));
    return { ...target, credentials };
  });
  const [tried, ...others] = targets;
  run(laneOf(health, tried!), 'ok');
  looks = 0;
  assert.equal(health.status(others, now()), 'healthy');
  for (const target of others) health.checked(target, 'passed', 0, now());
  health.retain(targets);
  assert.equal(looks, tried!.credentials.length);
  assert.equal([...health.states()].length, 1, 'the one that was tried stays known');
  assert.equal(health.status([], now()), 'down');
});
