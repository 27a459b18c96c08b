import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainNeeds, queryOf, targetOf } from '../../../test/simulation/routing-samples.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { attemptOf, ids, setUp } from './create-route.fixture.ts';
import type { RouteStep } from './route.ts';

const limitedBy = (...providers: string[]) => providers.map((provider) => ({ provider, words: null }));

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
  'unreachable',
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
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: null,
    reason: 'caller-fault',
    unmet: [],
    limitedBy: null,
  });
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
    limitedBy: null,
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
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: 9_000,
    reason: 'unavailable',
    unmet: [],
    limitedBy: limitedBy('b'),
  });
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

test('F10 rate-limited on one credential, the other of the same target is the next choice', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1'] }), targetOf('b/m', { priority: 2 })]));
  const first = fails(of, 'rate_limited', { retryAfterMs: 30_000 });
  const second = attemptOf(next(of));
  assert.equal(second.target.id, 'a/m');
  assert.notEqual(second.credential.id, first.credential.id);
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
  const step = {
    kind: 'exhausted',
    soonestMs: 12_345,
    reason: 'unavailable',
    unmet: [],
    limitedBy: limitedBy('a', 'b'),
  };
  assert.deepEqual(next(of), step);
  assert.deepEqual(next(route(query)), step, 'the next request is not sent at all');
});

test('what an upstream says of its limit is kept for the tenant to whom it said so', () => {
  const { route, fails, next } = setUp();
  const query = queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]);
  const of = route(query);
  fails(of, 'rate_limited', { retryAfterMs: 9_000, words: 'slow down' });
  fails(of, 'rate_limited', { retryAfterMs: 9_000 });
  const words = (step: RouteStep) => step.kind === 'exhausted' && step.limitedBy?.map((limit) => limit.words);
  assert.deepEqual(words(next(of)), ['slow down', null]);
  assert.deepEqual(words(next(route(query))), ['slow down', null]);
  assert.deepEqual(words(next(route({ ...query, tenant: 'other/key' }))), [null, null]);
});

test('a limit is told as the upstream’s only where nothing else keeps a target away', () => {
  const { route, fails, next } = setUp();
  const own = targetOf('a/m', { rpm: 1 });
  const query = queryOf([own, targetOf('b/m')]);
  fails(route(queryOf([own])), 'transient');
  const of = route(query);
  fails(of, 'rate_limited', { retryAfterMs: 9_000 });
  const step = next(of);
  assert.ok(step.kind === 'exhausted' && step.soonestMs !== null && step.limitedBy === null);
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
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: 1_500,
    reason: 'unavailable',
    unmet: [],
    limitedBy: limitedBy('a'),
  });
});

test('a refused credential rests for this model alone; with nothing else to ask it is asked all the same', () => {
  const { route, fails, next } = setUp();
  const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
  const of = route(queryOf([target]));
  const first = fails(of, 'bad_credential');
  assert.notEqual(attemptOf(next(of)).credential.id, first.credential.id);
  const sibling = targetOf('a/other', { credentials: ['a#0', 'a#1'] });
  const credentials = Array.from({ length: 30 }, () => fails(route(queryOf([sibling])), 'ok').credential.id);
  assert.deepEqual([...new Set(credentials)].sort(), ['a#0', 'a#1']);
  fails(route(queryOf([targetOf('b/m')])), 'bad_credential');
  assert.equal(attemptOf(next(route(queryOf([targetOf('b/m')])))).target.id, 'b/m');
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

test('one request counts one failure against a target, however often it asks it', () => {
  const { health, now, route, fails } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]));
  for (let i = 0; i < 4; i++) fails(of);
  assert.deepEqual(
    health.snapshot(now()).map(({ target, failed }) => [target, failed]),
    [
      ['a/m', 1],
      ['b/m', 1],
    ],
  );
});

test('S26 a request whose failures follow its tenant is asked elsewhere once', () => {
  const { route, end, fails, next } = setUp();
  const targets = ['a/m', 'b/m', 'c/m'].map((id) => targetOf(id));
  const poisoned = () => route(queryOf(targets, { tenant: 'poisoned' }));
  const serve = () => {
    const of = route(queryOf(targets, { tenant: 'other' }));
    end(of, attemptOf(next(of)), 'ok');
  };
  for (let i = 0; i < 5; i++) {
    const of = poisoned();
    for (let step = next(of); step.kind === 'attempt'; step = next(of)) end(of, step.attempt, 'transient');
    for (let j = 0; j < 30; j++) serve();
  }
  const of = poisoned();
  const tried = [fails(of), fails(of)];
  assert.equal(new Set(ids(tried)).size, 2);
  assert.deepEqual(next(of), {
    kind: 'exhausted',
    soonestMs: null,
    reason: 'attempts-spent',
    unmet: [],
    limitedBy: null,
  });
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
