import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainNeeds, queryOf, targetOf } from '../../../test/simulation/routing-samples.ts';
import { fakeClock } from '../../kernel/clock.ts';
import { seededRandom } from '../../kernel/random.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { createRoute } from './create-route.ts';
import { createHealth } from './health.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { AttemptEnd, Route, RouteAttempt, RouteQuery, RouteStep } from './route.ts';

function setUp() {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const deps = { health, retryBudget: createRetryBudget(), random: seededRandom(11) };
  const now = () => clock.monotonicMs();
  const route = (query: RouteQuery) => createRoute(query, { ...deps, nowMs: now() });
  const end = (of: Route, attempt: RouteAttempt, outcome: OutcomeClass, more: Partial<AttemptEnd> = {}) =>
    of.ended(attempt, { class: outcome, retryAfterMs: null, ...more }, now());
  function fails(of: Route, outcome: OutcomeClass = 'transient', more: Partial<AttemptEnd> = {}): RouteAttempt {
    const attempt = attemptOf(of.next(now()));
    end(of, attempt, outcome, more);
    return attempt;
  }
  /** Three failures in a row on this target alone. */
  function open(query: RouteQuery): void {
    for (let i = 0; i < 3; i++) fails(route({ ...query, alias: 'opening' }));
  }
  return { clock, health, now, route, end, fails, open, next: (of: Route) => of.next(now()) };
}

function attemptOf(step: RouteStep): RouteAttempt {
  assert.equal(step.kind, 'attempt');
  return (step as Extract<RouteStep, { kind: 'attempt' }>).attempt;
}

const ids = (attempts: readonly RouteAttempt[]) => attempts.map(({ target }) => target.id);

test('the best priority first, then the next, then fallbacks, never one twice while another remains', () => {
  const { route, fails, next } = setUp();
  const of = route(
    queryOf([{ target: targetOf('fallback/m'), rank: 1 }, targetOf('second/m', { priority: 2 }), targetOf('first/m')]),
  );
  const tried = [fails(of), fails(of), fails(of), fails(of)];
  assert.deepEqual(ids(tried), ['first/m', 'second/m', 'fallback/m', 'first/m']);
  assert.deepEqual(
    tried.map(({ number }) => number),
    [1, 2, 3, 4],
  );
  assert.deepEqual(next(of), { kind: 'exhausted', soonestMs: null, reason: 'attempts-spent', unmet: [] });
});

test('repeats go round: the least tried first', () => {
  const { route, fails } = setUp();
  const of = route(queryOf([targetOf('first/m'), targetOf('second/m', { priority: 2 })]));
  assert.deepEqual(ids([fails(of), fails(of), fails(of), fails(of)]), ['first/m', 'second/m', 'first/m', 'second/m']);
});

test('a repeated target is repeated after a jittered pause of 100 ms and up, others at once', () => {
  const { route, end, next } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m')]));
  const delays: number[] = [];
  for (let i = 0; i < 4; i++) {
    const step = next(of);
    if (step.kind === 'attempt') delays.push(step.delayMs);
    end(of, attemptOf(step), 'transient');
  }
  const [first, second, third, fourth] = delays as [number, number, number, number];
  assert.deepEqual([first, second], [0, 0]);
  assert.ok(third >= 50 && third <= 100, `${third}`);
  assert.ok(fourth >= 100 && fourth <= 200, `${fourth}`);
});

const failures: OutcomeClass[] = [
  'rate_limited',
  'quota_exhausted',
  'bad_credential',
  'model_unavailable',
  'region_blocked',
  'transient',
  'stall_first_token',
  'stall_idle',
  'truncated',
  'malformed',
];
for (const failure of failures) {
  test(`${failure} goes to the next target`, () => {
    const { route, fails, end, next } = setUp();
    const of = route(queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]));
    fails(of, failure);
    const attempt = attemptOf(next(of));
    assert.equal(attempt.target.id, 'b/m');
    end(of, attempt, 'ok');
  });
}

test('a caller fault ends the request', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m')]));
  fails(of, 'caller_fault', { status: 400 });
  assert.deepEqual(next(of), { kind: 'exhausted', soonestMs: null, reason: 'caller-fault', unmet: [] });
});

test('a 400 to a converted request is asked once more of a target that reads it as it came, then ends', () => {
  const { route, fails, next } = setUp();
  const claude = targetOf('claude/m', { dialect: 'anthropic-messages' });
  const alike = targetOf('claude2/m', { dialect: 'anthropic-messages' });
  const openai = targetOf('openai/m', { priority: 3 });
  const of = route(queryOf([claude, { target: alike, rank: 0 }, openai]));
  fails(of, 'caller_fault', { status: 400 });
  assert.equal(fails(of, 'transient').target.id, 'openai/m');
  assert.equal((next(of) as { reason?: string }).reason, 'caller-fault', 'whatever the second opinion ended with');

  const other = route(queryOf([claude, openai]));
  fails(other, 'caller_fault', { status: 413 });
  assert.equal((next(other) as { reason?: string }).reason, 'caller-fault', 'too large is too large');

  const alone = route(queryOf([claude, alike]));
  fails(alone, 'caller_fault', { status: 400 });
  assert.equal((next(alone) as { reason?: string }).reason, 'caller-fault', 'nobody reads it as it came');
});

test('what a dialect cannot say is no attempt, and the route goes on in another dialect', () => {
  const { route, fails, next } = setUp();
  const claude = (name: string) => targetOf(`${name}/m`, { dialect: 'anthropic-messages' });
  const of = route(queryOf([claude('a'), claude('b'), targetOf('openai/m', { priority: 2 })]));
  fails(of, 'not_capable');
  const attempt = attemptOf(next(of));
  assert.deepEqual([attempt.target.id, attempt.number], ['openai/m', 1]);
  const none = route(queryOf([claude('a'), claude('b')]));
  fails(none, 'not_capable');
  assert.deepEqual(next(none), {
    kind: 'exhausted',
    soonestMs: null,
    reason: 'no-capable-target',
    unmet: ['asked this in anthropic-messages'],
  });
});

test('what one target cannot do is asked of another in the same dialect', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]));
  fails(of, 'not_capable', { unmet: 'a file of this length' });
  assert.equal(fails(of, 'not_capable', { unmet: 'a file of this length' }).target.id, 'b/m');
  assert.deepEqual((next(of) as { unmet?: readonly string[] }).unmet, ['a file of this length']);
});

test('trouble of this machine is an attempt, after which another target is asked', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]));
  fails(of, 'gateway_fault');
  const attempt = attemptOf(next(of));
  assert.deepEqual([attempt.target.id, attempt.number], ['b/m', 2]);
});

test('what a dialect cannot say is not waited for: the time is that of targets that can', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { dialect: 'anthropic-messages' }), targetOf('b/m', { priority: 2 })]));
  fails(of, 'not_capable');
  fails(of, 'rate_limited', { retryAfterMs: 9_000 });
  assert.deepEqual(next(of), { kind: 'exhausted', soonestMs: 9_000, reason: 'unavailable', unmet: [] });
});

test('no capable target: the reason names what none can do', () => {
  const { route, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { cannot: ['vision'] })], { needs: { ...plainNeeds, vision: true } }));
  assert.deepEqual(next(of), { kind: 'exhausted', soonestMs: null, reason: 'no-capable-target', unmet: ['vision'] });
  assert.deepEqual(of.verdicts(), [{ target: 'a/m', verdict: 'not capable: vision' }]);
});

test('F10 rate-limited on one credential, the other of the same target is the next choice, without a pause', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1'] }), targetOf('b/m', { priority: 2 })]));
  const first = fails(of, 'rate_limited', { retryAfterMs: 30_000 });
  const step = next(of);
  const second = attemptOf(step);
  assert.equal(second.target.id, 'a/m');
  assert.notEqual(second.credential.id, first.credential.id);
  assert.equal((step as { delayMs?: number }).delayMs, 0);
});

test('a transient failure leaves the target’s other credentials alone while another target remains', () => {
  const { route, fails } = setUp();
  const of = route(queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1'] }), targetOf('b/m', { priority: 2 })]));
  assert.deepEqual(ids([fails(of), fails(of), fails(of)]), ['a/m', 'b/m', 'a/m']);
});

test('F10 everything rate-limited: no storm, and the exact time of the soonest', () => {
  const { route, fails, next } = setUp();
  const query = queryOf([targetOf('a/m'), targetOf('b/m')]);
  const of = route(query);
  fails(of, 'rate_limited', { retryAfterMs: 30_000 });
  fails(of, 'rate_limited', { retryAfterMs: 12_345 });
  const step = { kind: 'exhausted', soonestMs: 12_345, reason: 'unavailable', unmet: [] };
  assert.deepEqual(next(of), step);
  assert.deepEqual(next(route(query)), step, 'the next request is not sent at all');
});

test('waits for the soonest when that is within 2 s, once', () => {
  const { clock, route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m')]));
  fails(of, 'rate_limited', { retryAfterMs: 1_500 });
  assert.deepEqual(next(of), { kind: 'wait', ms: 1_500 });
  clock.advance(1_500);
  const step = next(of);
  assert.deepEqual([step.kind, (step as { delayMs?: number }).delayMs], ['attempt', 0]);
  of.ended(attemptOf(step), { class: 'rate_limited', retryAfterMs: 1_500 }, clock.monotonicMs());
  assert.deepEqual(next(of), { kind: 'exhausted', soonestMs: 1_500, reason: 'unavailable', unmet: [] });
});

test('F11 an open target is skipped; when its time has come the first request probes it, with another to fall back on', () => {
  const { clock, route, open, fails, end, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  open(queryOf([a]));
  for (let i = 0; i < 5; i++) assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m');
  clock.advance(5_000);
  const of = route(queryOf([a, b]));
  const probe = attemptOf(next(of));
  assert.deepEqual([probe.target.id, probe.probe], ['a/m', true]);
  assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m', 'one probe at a time');
  end(of, probe, 'transient');
  assert.equal(fails(of, 'ok').target.id, 'b/m', 'the caller does not notice');
  clock.advance(5_000);
  assert.equal(attemptOf(next(route(queryOf([a, b])))).target.id, 'b/m', 'the open time has doubled');
});

test('a due target of a worse tier is left alone while a better one is ready', () => {
  const { clock, route, open, next } = setUp();
  const second = targetOf('b/m', { priority: 2 });
  open(queryOf([second]));
  clock.advance(5_000);
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
  clock.advance(5_000);
  const once = attemptOf(next(route(queryOf([a, b, c], { fallback: 'off' }))));
  assert.deepEqual([once.target.id, once.probe], ['c/m', false]);
  const of = route(queryOf([a, b, c]));
  assert.deepEqual(
    [fails(of), fails(of)].map(({ probe }) => probe),
    [true, false],
  );
});

test('after a failed probe the target’s other credential is another choice, without a pause', () => {
  const { clock, route, health, now, next, end } = setUp();
  const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
  const lane = health.lanes(target)[0]!;
  for (let i = 0; i < 3; i++) {
    const attempt = {};
    health.began(lane, attempt, 600_000, now());
    health.ended(lane, attempt, { class: 'transient', retryAfterMs: null, afterMs: 0, content: 'none' }, now());
  }
  clock.advance(5_000);
  const of = route(queryOf([target]));
  const probe = attemptOf(next(of));
  assert.deepEqual([probe.credential.id, probe.probe], ['a#0', true]);
  end(of, probe, 'transient');
  const step = next(of);
  assert.deepEqual([attemptOf(step).credential.id, (step as { delayMs?: number }).delayMs], ['a#1', 0]);
});

test('with nothing else to ask, the probe is the one hope; others wait a second for it', () => {
  const { clock, route, open, end, next } = setUp();
  const query = queryOf([targetOf('a/m')]);
  open(query);
  clock.advance(5_000);
  const of = route({ ...query, fallback: 'off' });
  const probe = attemptOf(next(of));
  assert.equal(probe.probe, true);
  const second = route(query);
  assert.deepEqual(next(second), { kind: 'wait', ms: 1_000 });
  clock.advance(1_000);
  end(of, probe, 'ok');
  assert.equal(attemptOf(next(second)).probe, false);
});

test('x-culvert-no-fallback: one attempt, at the alias’s own targets', () => {
  const { route, fails, next } = setUp();
  const query = queryOf([{ target: targetOf('b/m'), rank: 1 }, targetOf('a/m')], { fallback: 'off' });
  const of = route(query);
  assert.equal(fails(of).target.id, 'a/m');
  assert.equal((next(of) as { reason?: string }).reason, 'attempts-spent');
  assert.deepEqual(of.verdicts()[0], { target: 'b/m', verdict: 'not allowed: no fallback wanted' });
});

test('the first failover is always allowed, further ones draw on the budget of 3 a second', () => {
  const { route, fails, next } = setUp();
  // Many targets, so that no breaker opens on the way.
  const targetsOf = (i: number) => [targetOf(`a${i}/m`), targetOf(`b${i}/m`), targetOf(`c${i}/m`), targetOf(`d${i}/m`)];
  let third = 0;
  for (let i = 0; i < 40; i++) {
    const of = route(queryOf(targetsOf(i)));
    fails(of);
    fails(of);
    const step = next(of);
    if (step.kind === 'attempt') third++;
    else assert.equal(step.kind === 'exhausted' && step.reason, 'retry-budget');
  }
  assert.equal(third, 30);
});

test('an attempt is counted once, however often its end is told', () => {
  const { health, now, route, end, next } = setUp();
  const of = route(queryOf([targetOf('a/m')]));
  const attempt = attemptOf(next(of));
  of.firstToken(attempt, now() + 100);
  of.firstToken(attempt, now() + 900);
  end(of, attempt, 'ok');
  end(of, attempt, 'transient');
  of.firstToken(attempt, now() + 900);
  const [lane] = health.snapshot(now());
  assert.deepEqual([lane!.inFlight, lane!.succeeded, lane!.failed, lane!.firstTokenMs], [0, 1, 0, 100]);
});

test('a conversation finds its target again, while it is healthy', () => {
  const { route, end, open, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m'), targetOf('c/m')];
  const askedOf = (affinity: number) => {
    const of = route(queryOf(targets, { affinity }));
    const attempt = attemptOf(next(of));
    end(of, attempt, 'ok');
    return attempt.target;
  };
  const own = askedOf(12_345);
  for (let i = 0; i < 20; i++) assert.equal(askedOf(12_345).id, own.id);
  assert.ok(new Set(Array.from({ length: 50 }, (_, i) => askedOf(i * 7_919).id)).size === 3);
  open(queryOf([own]));
  assert.notEqual(askedOf(12_345).id, own.id);
});

test('verdicts say what was picked, what was blocked until when, and what was not needed', () => {
  const { route, open, fails, next, now } = setUp();
  const [a, b, c] = [targetOf('a/m'), targetOf('b/m', { priority: 2 }), targetOf('c/m', { priority: 3 })];
  open(queryOf([a]));
  const of = route(queryOf([a, b, c]));
  fails(of, 'ok');
  const until = new Date(now() + 5_000).toISOString().slice(0, 19);
  assert.deepEqual(of.verdicts(), [
    { target: 'a/m', verdict: `open until ${until}Z (failing)` },
    { target: 'b/m', verdict: 'picked' },
    { target: 'c/m', verdict: 'not needed' },
  ]);
  assert.equal((next(of) as { reason?: string }).reason, 'attempts-spent', 'an answered request asks nobody else');
});
