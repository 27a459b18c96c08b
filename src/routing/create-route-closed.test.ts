import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, ids, setUp } from '../../test/fixtures/create-route.ts';
import { queryOf, targetOf } from '../../test/simulation/routing-samples.ts';

test('F11 a closed target is skipped; when its time has come the first request probes it, with another to fall back on', () => {
  const { clock, route, open, fails, end, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  open(queryOf([a]));
  for (let i = 0; i < 5; i++) assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m');
  clock.advance(1_000);
  const of = route(queryOf([a, b]));
  const probe = attemptOf(next(of));
  assert.deepEqual([probe.target.id, probe.probe], ['a/m', true]);
  assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m', 'one probe at a time');
  end(of, probe, 'transient');
  assert.equal(fails(of, 'ok').target.id, 'b/m', 'the caller does not notice');
  clock.advance(1_000);
  assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m', 'the open time has doubled');
});

test('a due target of a worse tier is left alone while a better one is ready', () => {
  const { clock, route, open, next } = setUp();
  const second = targetOf('b/m', { priority: 2 });
  open(queryOf([second]));
  clock.advance(1_000);
  for (const targets of [
    [targetOf('a/m'), second],
    [second, targetOf('a/m')],
  ]) {
    assert.equal(attemptOf(next(route(queryOf(targets)))).target.id, 'a/m');
  }
});

test('a request takes one probe at most while something is ready, none if it may try only once', () => {
  const { clock, route, open, fails, next } = setUp();
  const [a, b, c] = [targetOf('a/m'), targetOf('b/m'), targetOf('c/m')];
  open(queryOf([a]));
  open(queryOf([b]));
  clock.advance(1_000);
  const once = attemptOf(next(route(queryOf([a, b, c], { fallback: 'off' }))));
  assert.deepEqual([once.target.id, once.probe], ['c/m', false]);
  const of = route(queryOf([a, b, c]));
  assert.deepEqual(
    [fails(of), fails(of)].map(({ probe }) => probe),
    [true, false],
  );
});

test('after a failed probe the target’s other credential is another choice', () => {
  const { clock, route, health, now, next, end } = setUp();
  const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
  const lane = health.lanes(target)[0]!;
  for (let i = 0; i < 10; i++) {
    const attempt = {};
    health.began(lane, attempt, 600_000, now());
    const failed = {
      class: 'transient',
      retryAfterMs: null,
      afterMs: 0,
      content: 'none',
      tenant: 'dev/laptop',
    } as const;
    health.ended(lane, attempt, failed, now());
  }
  clock.advance(1_000);
  const of = route(queryOf([target]));
  const probe = attemptOf(next(of));
  assert.deepEqual([probe.credential.id, probe.probe], ['a#0', true]);
  end(of, probe, 'transient');
  assert.equal(attemptOf(next(of)).credential.id, 'a#1');
});

test('with nothing else to ask, a closed target is asked all the same, by the probe and by others', () => {
  const { clock, route, open, end, next } = setUp();
  const query = queryOf([targetOf('a/m')]);
  open(query);
  const early = attemptOf(next(route(query)));
  assert.deepEqual([early.target.id, early.probe], ['a/m', false]);
  clock.advance(1_000);
  const of = route({ ...query, fallback: 'off' });
  const probe = attemptOf(next(of));
  assert.equal(probe.probe, true);
  assert.equal(attemptOf(next(route(query))).probe, false, 'another request does not wait for it');
  end(of, probe, 'ok');
  assert.equal(attemptOf(next(route(query))).probe, false);
});

test('never more than half of the targets stay closed out for failures above the connection', () => {
  const { route, open, next } = setUp();
  const targets = ['a/m', 'b/m', 'c/m', 'd/m'].map((id) => targetOf(id));
  const asked = () => {
    const found = Array.from({ length: 60 }, () => attemptOf(next(route(queryOf(targets)))).target.id);
    return [...new Set(found)].sort();
  };
  for (const target of targets.slice(0, 2)) open(queryOf([target]));
  assert.deepEqual(asked(), ['c/m', 'd/m']);
  for (const target of targets.slice(2)) open(queryOf([target]));
  assert.equal(asked().length, 2);
});

test('when all targets are closed out, the one that failed least lately is asked first', () => {
  const { route, open, failTimes, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  failTimes(20, queryOf([a]));
  open(queryOf([b]));
  const of = route(queryOf([a, b]));
  assert.equal(attemptOf(next(of)).target.id, 'b/m');
  assert.equal(of.verdicts()[1]!.verdict, 'picked');
});

test('a target that fails more than half of its requests comes after those that do not, whatever its priority', () => {
  const { route, failTimes, fails } = setUp();
  const [first, second] = [targetOf('first/m'), targetOf('second/m', { priority: 2 })];
  failTimes(20, queryOf([first]), 'ok');
  failTimes(3, queryOf([first]));
  assert.equal(fails(route(queryOf([first, second])), 'ok').target.id, 'first/m', 'it fails, but not yet so often');
  failTimes(5, queryOf([first]));
  const of = route(queryOf([first, second]));
  assert.deepEqual(ids([fails(of), fails(of)]), ['second/m', 'first/m']);
});

test('a target that refused a connection within the last second is not asked: the request waits for it, once', () => {
  const { clock, route, failTimes, fails, next } = setUp();
  const query = queryOf([targetOf('a/m')]);
  failTimes(3, query, 'unreachable');
  const of = route(query);
  assert.deepEqual(next(of), { kind: 'wait', ms: 1_000 });
  clock.advance(1_000);
  const step = next(of);
  assert.deepEqual([attemptOf(step).probe, (step as { delayMs?: number }).delayMs], [true, 0]);
  of.ended(attemptOf(step), { class: 'unreachable', retryAfterMs: null }, clock.monotonicMs());
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: 1_000,
    reason: 'unavailable',
    unmet: [],
    limitedBy: null,
  });
  clock.advance(1_000);
  assert.equal(fails(route(query)).probe, false, 'still closed out, but there is nothing better');
});

for (const outcome of ['ok', 'transient'] as const) {
  test(`a repeat that is due a probe begins it when its pause is over, and pays once: another's probe is ${outcome}`, () => {
    const { clock, route, retryBudget, open, next } = setUp();
    const query = queryOf([targetOf('a/m')]);
    const of = route(query);
    const first = attemptOf(next(of));
    open(query);
    clock.advance(5_000);
    of.ended(first, { class: 'transient', retryAfterMs: 1_500 }, clock.monotonicMs());
    // Enough for one token of the budget.
    for (let i = 0; i < 6; i++) retryBudget.requested(query.alias, clock.monotonicMs());
    const step = next(of);
    assert.equal(step.kind, 'wait');
    const waitMs = (step as { ms: number }).ms;
    assert.ok(waitMs >= 1_500 && waitMs < 2_000, String(waitMs));
    const other = route(query);
    const probe = attemptOf(next(other));
    assert.equal(probe.probe, true, 'another request does not wait for the pause of the first');
    other.ended(probe, { class: outcome, retryAfterMs: null }, clock.monotonicMs());
    clock.advance(waitMs);
    const again = next(of);
    assert.deepEqual([attemptOf(again).probe, (again as { delayMs?: number }).delayMs], [false, 0]);
  });
}

test('what refused a connection is passed over for what merely fails', () => {
  const { route, open, failTimes, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m', { priority: 2 })];
  failTimes(3, queryOf([a]), 'unreachable');
  open(queryOf([b]));
  for (let i = 0; i < 5; i++) assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m');
});

test('a target that could not be reached is checked before what fails is asked a third time, one that fails is not', () => {
  const { clock, route, open, failTimes, fails } = setUp();
  const [a, unreached, failing] = [targetOf('a/m'), targetOf('unreached/m'), targetOf('failing/m')];
  for (let i = 0; i < 20; i++) {
    failTimes(1, queryOf([a]));
    failTimes(1, queryOf([a]), 'ok');
  }
  failTimes(3, queryOf([unreached]), 'unreachable');
  clock.advance(1_000);
  // Closed for two seconds, of which it refuses connections in the first.
  failTimes(1, queryOf([unreached]), 'unreachable');
  clock.advance(1_500);
  open(queryOf([failing]));
  const beside = (other: typeof a) => {
    const of = route(queryOf([a, other]));
    return ids([fails(of), fails(of), fails(of)]);
  };
  assert.deepEqual(beside(unreached), ['a/m', 'a/m', 'unreached/m']);
  assert.deepEqual(beside(failing), ['a/m', 'a/m', 'a/m']);
});

test('F71 forty requests are served elsewhere before one probes a target whose streams broke off', () => {
  const { clock, route, now, end, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  for (let i = 0; i < 3; i++) {
    const of = route(queryOf([a]));
    const attempt = attemptOf(next(of));
    of.firstToken(attempt, now());
    end(of, attempt, 'truncated');
  }
  clock.advance(4_000);
  const asked = () => {
    const of = route(queryOf([a, b]));
    const attempt = attemptOf(next(of));
    end(of, attempt, 'ok');
    return attempt.target.id;
  };
  assert.deepEqual(new Set(Array.from({ length: 40 }, asked)), new Set(['b/m']));
  assert.equal(asked(), 'a/m');
});
