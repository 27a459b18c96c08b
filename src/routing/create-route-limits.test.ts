import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, setUp } from '../../test/fixtures/create-route.ts';
import { queryOf, targetOf } from '../../test/simulation/routing-samples.ts';
import type { RouteStep } from './route.ts';

const limitedBy = (...providers: string[]) => providers.map((provider) => ({ provider, message: null }));

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

test('F10 rate-limited on one credential, the other of the same target is the next choice', () => {
  const { route, fails, next } = setUp();
  const of = route(queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1'] }), targetOf('b/m', { priority: 2 })]));
  const first = fails(of, 'rate_limited', { retryAfterMs: 30_000 });
  const second = attemptOf(next(of));
  assert.equal(second.target.id, 'a/m');
  assert.notEqual(second.credential.id, first.credential.id);
});

test('F10 each of a target’s credentials has its part, and is the next choice after the others', () => {
  const { route, fails } = setUp();
  const query = queryOf([targetOf('a/m', { credentials: ['a#0', 'a#1', 'a#2'] })]);
  const asked = Array.from({ length: 60 }, () => fails(route(query), 'ok').credential.id);
  assert.deepEqual([...new Set(asked)].sort(), ['a#0', 'a#1', 'a#2']);
  const of = route(query);
  const limited = [1, 2, 3].map(() => fails(of, 'rate_limited', { retryAfterMs: 30_000 }).credential.id);
  assert.deepEqual(limited.sort(), ['a#0', 'a#1', 'a#2']);
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
  fails(of, 'rate_limited', { retryAfterMs: 9_000, message: 'slow down' });
  fails(of, 'rate_limited', { retryAfterMs: 9_000 });
  const words = (step: RouteStep) => step.kind === 'exhausted' && step.limitedBy?.map((limit) => limit.message);
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
