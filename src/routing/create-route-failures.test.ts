import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, ids, setUp } from '../../test/fixtures/create-route.ts';
import { plainNeeds, queryOf, targetOf } from '../../test/simulation/routing-samples.ts';
import type { OutcomeClass } from '../formats/neutral/outcome.ts';

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

test('F71 an attempt that stalls and then ends counts as one failure of its target', () => {
  const { route, end, next, health, now } = setUp();
  const of = route(queryOf([targetOf('a/m')]));
  const attempt = attemptOf(next(of));
  of.firstToken(attempt, now());
  of.stalled(attempt, now());
  end(of, attempt, 'stall_idle');
  of.stalled(attempt, now());
  assert.equal(health.snapshot(now())[0]!.failed, 1);
});

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

test('a target that lacks what is asked for is left for the others, and its refusal is the answer if all lack it', () => {
  const { route, fails, end, next, health, now } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m', { priority: 2 }), targetOf('c/m', { priority: 3 })];
  const of = route(queryOf(targets));
  assert.equal(fails(of, 'caller_fault', { status: 400, lacks: true }).target.id, 'a/m');
  const attempt = attemptOf(next(of));
  assert.equal(attempt.target.id, 'b/m');
  end(of, attempt, 'ok');
  assert.equal(health.snapshot(now()).find(({ target }) => target === 'a/m')?.failed, 0);

  const lacking = route(queryOf(targets));
  const asked = targets.map(() => fails(lacking, 'caller_fault', { status: 400, lacks: true }));
  assert.deepEqual(ids(asked), ['a/m', 'b/m', 'c/m']);
  assert.equal((next(lacking) as { reason?: string }).reason, 'caller-fault');
  const alone = route(queryOf(targets, { fallback: 'off' }));
  fails(alone, 'caller_fault', { status: 400, lacks: true });
  assert.equal((next(alone) as { reason?: string }).reason, 'caller-fault');

  // The last one lacks nothing: it may serve the request later.
  const limited = route(queryOf(targets));
  for (const _ of [1, 2]) fails(limited, 'caller_fault', { status: 400, lacks: true });
  fails(limited, 'rate_limited', { status: 429, retryAfterMs: 60_000 });
  const { reason, soonestMs } = next(limited) as { reason?: string; soonestMs?: number };
  assert.deepEqual([reason, soonestMs], ['unavailable', 60_000]);
  const refused = route(queryOf(targets.slice(0, 2)));
  fails(refused, 'caller_fault', { status: 400, lacks: true });
  for (const _ of [1, 2]) fails(refused, 'bad_credential', { status: 401 });
  assert.equal((next(refused) as { reason?: string }).reason, 'caller-fault', 'nobody knows when a key is mended');
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

test('a transient failure leaves the target’s other credentials alone while another target remains', () => {
  const { route, fails } = setUp();
  const of = route(queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1'] }), targetOf('b/m', { priority: 2 })]));
  assert.deepEqual(ids([fails(of), fails(of), fails(of)]), ['a/m', 'b/m', 'a/m']);
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

test('a prompt that is too long goes to larger and unknown contexts alone, and each verdict keeps its first reason', () => {
  const { route, fails, next } = setUp();
  const held = (id: string, contextWindow: number | null, priority: number) =>
    targetOf(id, { contextWindow, priority });
  const blind = targetOf('blind/m', { contextWindow: 500, cannot: ['vision'], priority: 5 });
  const of = route(
    queryOf(
      [held('first/m', 1_000, 1), held('same/m', 1_000, 2), held('larger/m', 1_001, 3), held('any/m', null, 4), blind],
      {
        needs: { ...plainNeeds, vision: true },
      },
    ),
  );
  assert.deepEqual(ids([fails(of, 'too_long'), fails(of, 'too_long'), fails(of, 'too_long')]), [
    'first/m',
    'larger/m',
    'any/m',
  ]);
  assert.equal((next(of) as { reason?: string }).reason, 'caller-fault');
  assert.deepEqual(
    of.verdicts().map(({ verdict }) => verdict),
    [
      'picked',
      'no more room: its context holds 1000 tokens, the prompt needs 1001 or more',
      'picked',
      'picked',
      'not capable: vision',
    ],
  );
});
