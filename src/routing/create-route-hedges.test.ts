import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptOf, setUp } from '../../test/fixtures/create-route.ts';
import { plainNeeds, queryOf, targetOf } from '../../test/simulation/routing-samples.ts';

test('a hedge goes to another target that is ready, within the request’s attempts', () => {
  const { now, route, end, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m', { priority: 2 }), targetOf('c/m', { priority: 3 })];
  const of = route(queryOf(targets, { attemptsMax: 2 }));
  const first = attemptOf(next(of));
  const second = of.hedge('silent', now())!;
  assert.deepEqual([second.target.id, second.number, second.probe], ['b/m', 2, false]);
  assert.equal(second.lane.state.targetId, 'b/m');
  assert.equal(of.hedge('silent', now()), null, 'its attempts are spent');
  of.ended(first, { class: 'cancelled', retryAfterMs: null, lost: true }, now());
  end(of, second, 'ok');
  assert.deepEqual(
    of.verdicts().map(({ verdict }) => verdict),
    ['picked', 'picked as a hedge', 'not needed'],
  );
});

test('a hedge asks neither the target that runs nor one that is closed out', () => {
  const { now, route, open, next } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  open(queryOf([b]));
  const of = route(queryOf([a, b]));
  assert.equal(attemptOf(next(of)).target.id, 'a/m');
  assert.equal(of.hedge('silent', now()), null);
});

test('hedges for slowness have their share of the requests, those for silence do not', () => {
  const { now, route, next } = setUp();
  const targets = [targetOf('a/m'), targetOf('b/m')];
  const hedged = (reason: 'slow' | 'silent', atMost: number) => {
    let count = 0;
    for (let i = 0; i < 100; i++) {
      const of = route(queryOf(targets, { alias: `${reason}-${atMost}`, hedge: { atMost, after: null } }));
      next(of);
      if (of.hedge(reason, now()) !== null) count++;
    }
    return count;
  };
  assert.deepEqual([hedged('slow', 0.05), hedged('slow', 0.2), hedged('silent', 0)], [5, 20, 100]);
});

test('after a hedge has failed, the request still waits for its first attempt and tries nothing twice at once', () => {
  const { now, route, end, next } = setUp();
  const of = route(queryOf([targetOf('a/m'), targetOf('b/m', { priority: 2 })]));
  const first = attemptOf(next(of));
  end(of, of.hedge('silent', now())!, 'transient');
  assert.equal(of.hedge('silent', now()), null);
  end(of, first, 'stall_first_token');
  assert.equal(attemptOf(next(of)).target.id, 'b/m', 'what said nothing is the less likely one');
});

test('a target is late by first tokens of streams, those of attempts that were given up too, and by nothing else', () => {
  const asksFirst = (runs: { stream: boolean; firstMs: number | null; lost: boolean }) => {
    const { clock, now, route, end, next } = setUp();
    const targets = [targetOf('a/m', { maxFirstTokenMs: 1_000 }), targetOf('b/m', { priority: 2 })];
    for (let i = 0; i < 5; i++) {
      const of = route(queryOf(targets, { needs: { ...plainNeeds, stream: runs.stream } }));
      const attempt = attemptOf(next(of));
      if (runs.firstMs !== null) of.firstToken(attempt, now() + runs.firstMs);
      clock.advance(2_000);
      end(of, attempt, runs.lost ? 'cancelled' : 'ok', { lost: runs.lost });
    }
    return attemptOf(next(route(queryOf(targets)))).target.id;
  };
  assert.equal(asksFirst({ stream: true, firstMs: null, lost: true }), 'b/m');
  assert.equal(asksFirst({ stream: true, firstMs: 1_500, lost: false }), 'b/m');
  assert.equal(asksFirst({ stream: true, firstMs: 100, lost: false }), 'a/m', 'streams may go on for long');
  assert.equal(asksFirst({ stream: true, firstMs: 100, lost: true }), 'a/m');
  assert.equal(asksFirst({ stream: true, firstMs: null, lost: false }), 'a/m');
  assert.equal(asksFirst({ stream: false, firstMs: null, lost: true }), 'a/m', 'whole answers have no first token');
});
