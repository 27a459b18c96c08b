import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setUp } from '../../test/fixtures/create-route.ts';
import { queryOf, targetOf } from '../../test/simulation/routing-samples.ts';

test('a repeat comes after the wait that a 503 asks for if that is short, or else as always', () => {
  const { route, fails, next } = setUp();
  const pauseAfter = (seconds: number, targets = 1) => {
    const query = queryOf([...Array(targets).keys()].map((i) => targetOf(`a${seconds}-${i}/m`)));
    const of = route(query);
    fails(of, 'transient', { retryAfterMs: seconds * 1_000, status: 503 });
    const step = next(of);
    return step.kind === 'attempt' ? step.delayMs : Number.NaN;
  };
  const [short, long] = [pauseAfter(1), pauseAfter(30)];
  assert.ok(short >= 1_050 && short <= 1_100, `${short} ms`);
  assert.ok(long >= 50 && long <= 100, `${long} ms`);
  assert.equal(pauseAfter(2, 2), 0, 'another target is asked at once');
});
