import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, ids, setUp } from '../../test/fixtures/create-route.ts';
import { plainNeeds, queryOf, targetOf } from '../../test/simulation/routing-samples.ts';

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
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: null,
    reason: 'attempts-spent',
    unmet: [],
    limitedBy: null,
  });
});

test('repeats go round: after one more failure the other is likelier to answer', () => {
  const { route, fails } = setUp();
  const of = route(queryOf([targetOf('first/m'), targetOf('second/m', { priority: 2 })]));
  assert.deepEqual(ids([fails(of), fails(of), fails(of), fails(of)]), ['first/m', 'second/m', 'first/m', 'second/m']);
});

test('an attempt that is ended twice counts once', () => {
  const { route, fails, end, health, now } = setUp();
  const of = route(queryOf([targetOf('first/m'), targetOf('second/m', { priority: 2 })]));
  const first = fails(of);
  end(of, first, 'transient');
  assert.deepEqual(ids([fails(of), fails(of), fails(of)]), ['second/m', 'first/m', 'second/m']);
  assert.deepEqual(
    health.snapshot(now()).map(({ inFlight }) => inFlight),
    [0, 0],
  );
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

test('no capable target: the reason names what none can do', () => {
  const { route, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { cannot: ['vision'] })], { needs: { ...plainNeeds, vision: true } }));
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: null,
    reason: 'no-capable-target',
    unmet: ['vision'],
    limitedBy: null,
  });
  assert.deepEqual(of.verdicts(), [{ target: 'a/m', verdict: 'not capable: vision' }]);
});

test('an estimated size sends a request to a larger context, and refuses none where there is no larger one', () => {
  const { route, fails, next } = setUp();
  const needs = { ...plainNeeds, inputTokensEstimate: 10_000 };
  const small = targetOf('small/m', { contextWindow: 2_000 });
  const large = targetOf('large/m', { contextWindow: 20_000, priority: 2 });
  const both = route({ ...queryOf([small, large]), needs });
  assert.deepEqual(ids([fails(both), fails(both)]), ['large/m', 'large/m']);
  assert.deepEqual(ids([attemptOf(next(route({ ...queryOf([small]), needs })))]), ['small/m']);
  const blind = targetOf('blind/m', { cannot: ['vision'], contextWindow: 20_000 });
  const seeing = route({ ...queryOf([blind, small]), needs: { ...needs, vision: true } });
  assert.deepEqual(ids([fails(seeing)]), ['small/m'], 'what a target cannot do is no estimate');
});

test('x-culvert-no-fallback: one attempt, at the alias’s own targets', () => {
  const { route, fails, next } = setUp();
  const query = queryOf([{ target: targetOf('b/m'), rank: 1 }, targetOf('a/m')], { fallback: 'off' });
  const of = route(query);
  assert.equal(fails(of).target.id, 'a/m');
  assert.equal((next(of) as { reason?: string }).reason, 'attempts-spent');
  assert.deepEqual(of.verdicts()[0], { target: 'b/m', verdict: 'not allowed: no fallback wanted' });
});

test('further attempts are free while some target answers', () => {
  const { route, fails, end, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m')];
  for (let i = 0; i < 100; i++) {
    const of = route(queryOf(targets));
    // Three of four attempts fail.
    for (let attempt = 0; attempt < 3; attempt++) fails(of);
    end(of, attemptOf(next(of)), 'ok');
  }
});

test('when nothing answers, a fifth of the requests may make a second attempt', () => {
  const { clock, route, end, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m'), targetOf('c/m')];
  let attempts = 0;
  for (let i = 0; i < 300; i++) {
    const of = route(queryOf(targets));
    clock.advance(50);
    if (i === 100) attempts = 0;
    for (let step = next(of); step.kind !== 'exhausted'; step = next(of)) {
      assert.equal(step.kind, 'attempt');
      end(of, attemptOf(step), 'transient');
      attempts++;
    }
    const last = next(of);
    assert.ok(last.kind === 'exhausted' && last.soonestMs === null, 'nothing is waited for');
  }
  assert.ok(attempts >= 235 && attempts <= 245, `${attempts} attempts of 200 requests`);
});

test('a conversation finds its target again, while it is healthy', () => {
  const { route, end, open, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m'), targetOf('c/m')];
  const askedOf = (conversation: string) => {
    const of = route(queryOf(targets, { conversation }));
    const attempt = attemptOf(next(of));
    end(of, attempt, 'ok');
    return attempt.target;
  };
  const own = askedOf('hello');
  for (let i = 0; i < 20; i++) assert.equal(askedOf('hello').id, own.id);
  assert.ok(new Set(Array.from({ length: 50 }, (_, i) => askedOf(`conversation ${i}`).id)).size === 3);
  open(queryOf([own]));
  assert.notEqual(askedOf('hello').id, own.id);
});

test('verdicts say what was picked, what was blocked until when, and what was not needed', () => {
  const { route, open, failTimes, fails, next, now } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m', { priority: 2 })];
  const [c, d] = [targetOf('c/m', { priority: 3 }), targetOf('d/m')];
  open(queryOf([a]));
  failTimes(3, queryOf([d]), 'unreachable');
  const of = route(queryOf([a, b, c, d]));
  fails(of, 'ok');
  const until = new Date(now() + 1_000).toISOString().slice(0, 19);
  assert.deepEqual(of.verdicts(), [
    { target: 'a/m', verdict: `open until ${until}Z (failing)` },
    { target: 'b/m', verdict: 'picked' },
    { target: 'c/m', verdict: 'not needed' },
    { target: 'd/m', verdict: 'it refused a connection within the last second (unreachable)' },
  ]);
  assert.equal((next(of) as { reason?: string }).reason, 'attempts-spent', 'an answered request asks nobody else');
});

test('verdicts tell of a probe and of a closed target that was asked all the same', () => {
  const { clock, route, open, fails } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m', { priority: 2 })];
  open(queryOf([a]));
  clock.advance(1_000);
  const of = route(queryOf([a, b]));
  for (let i = 0; i < 3; i++) fails(of);
  assert.deepEqual(
    of.verdicts().map(({ verdict }) => verdict),
    ['picked as a probe', 'picked as the least bad'],
  );
});
