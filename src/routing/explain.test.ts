import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { plainNeeds, queryOf, targetOf } from '../../test/simulation/routing-samples.ts';
import type { OutcomeClass } from '../formats/neutral/outcome.ts';
import { explainRoute } from './explain.ts';
import { createHealth } from './health.ts';
import { standingOf } from './lane.ts';
import type { Target } from './target.ts';

function setUp() {
  const clock = fakeClock(Date.parse('2026-07-01T12:00:00Z'));
  const health = createHealth({ clock });
  function run(target: Target, outcome: OutcomeClass, retryAfterMs: number | null = null): void {
    const [lane] = health.lanes(target);
    const attempt = {};
    health.began(lane!, attempt, 600_000, clock.monotonicMs());
    const end = { class: outcome, retryAfterMs, afterMs: 0, content: 'none', tenant: 'dev/laptop' } as const;
    health.ended(lane!, attempt, end, clock.monotonicMs());
  }
  /** Closed out for 1 s. */
  function open(target: Target): void {
    for (let i = 0; i < 10; i++) run(target, 'transient');
  }
  return { clock, health, run, open };
}

test('tells, in the order of trial, what each candidate’s part would be', () => {
  const { clock, health, run, open: closeOut } = setUp();
  const targets = {
    cooling: targetOf('cooling/m'),
    open: targetOf('open/m'),
    refused: targetOf('refused/m'),
    ready: targetOf('ready/m', { priority: 2 }),
    blind: targetOf('blind/m', { cannot: ['vision'] }),
    full: targetOf('full/m', { rpm: 1 }),
    fallback: targetOf('fallback/m'),
  };
  run(targets.cooling, 'rate_limited', 20_500);
  closeOut(targets.open);
  for (let i = 0; i < 3; i++) run(targets.refused, 'unreachable');
  run(targets.full, 'ok');
  const { blind, cooling, open, refused, ready, full, fallback } = targets;
  const query = queryOf([{ target: fallback, rank: 1 }, blind, cooling, ready, open, refused, full], {
    needs: { ...plainNeeds, vision: true },
  });
  const told = explainRoute(query, health, clock.monotonicMs());
  assert.deepEqual(
    told.candidates.map(({ target, verdict }) => [target, verdict]),
    [
      ['cooling/m', 'cooling until 2026-07-01T12:00:21Z (rate limited)'],
      ['open/m', 'open until 2026-07-01T12:00:01Z (failing)'],
      ['refused/m', 'it refused a connection within the last second (unreachable)'],
      ['full/m', 'full until 2026-07-01T12:01:01Z (1 requests a minute carried)'],
      ['ready/m', 'ready: picked'],
      ['fallback/m', 'ready: asked if those before it fail'],
      ['blind/m', 'not capable: vision'],
    ],
  );
  assert.deepEqual(told.unmet, []);
});

test('equals are told as such, and a due lane goes before them', () => {
  const { clock, health, open } = setUp();
  const [a, b, c] = [targetOf('a/m'), targetOf('b/m'), targetOf('c/m')];
  open(a);
  clock.advance(1_000);
  const told = explainRoute(queryOf([a, b, c]), health, clock.monotonicMs());
  assert.deepEqual(
    told.candidates.map(({ verdict }) => verdict),
    [
      'open (failing), due a test: asked first, as a probe',
      'ready: one of 2 to pick from',
      'ready: one of 2 to pick from',
    ],
  );
});

test('with nothing better, what rests is told to be asked all the same', () => {
  const { clock, health, run } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  run(a, 'bad_credential');
  run(b, 'rate_limited', 20_000);
  const told = explainRoute(queryOf([a, b]), health, clock.monotonicMs());
  assert.deepEqual(
    told.candidates.map(({ verdict }) => verdict),
    [
      'open until 2026-07-01T12:00:05Z (bad credential): asked nevertheless, because the others are worse',
      'cooling until 2026-07-01T12:00:20Z (rate limited)',
    ],
  );
});

test('of two closed targets the worse one is left out, the other one is asked', () => {
  const { clock, health, run, open } = setUp();
  const [a, b] = [targetOf('a/m'), targetOf('b/m')];
  open(a);
  open(b);
  run(a, 'transient');
  const told = explainRoute(queryOf([a, b]), health, clock.monotonicMs());
  assert.deepEqual(
    told.candidates.map(({ verdict }) => verdict),
    ['open until 2026-07-01T12:00:01Z (failing)', 'ready: picked'],
  );
});

test('when no candidate is capable, it names what none can do', () => {
  const { clock, health } = setUp();
  const query = queryOf([targetOf('a/m', { cannot: ['vision'] }), targetOf('b/m', { cannot: ['audioIn'] })], {
    needs: { ...plainNeeds, vision: true, audioIn: true },
  });
  assert.deepEqual(explainRoute(query, health, clock.monotonicMs()).unmet, ['vision', 'audio input']);
});

test('looking begins nothing: no probe is taken, nothing is in flight', () => {
  const { clock, health, open } = setUp();
  const target = targetOf('a/m');
  open(target);
  clock.advance(1_000);
  const first = explainRoute(queryOf([target]), health, clock.monotonicMs());
  assert.deepEqual(explainRoute(queryOf([target]), health, clock.monotonicMs()), first);
  assert.equal(standingOf(health.lanes(target)[0]!, clock.monotonicMs()), 'due');
  assert.equal(health.snapshot(clock.monotonicMs())[0]!.inFlight, 0);
});

test('F73 names a target that is later than its max_first_token, and picks the next', () => {
  const { clock, health } = setUp();
  const slow = targetOf('slow/m', { maxFirstTokenMs: 100 });
  const [lane] = health.lanes(slow);
  for (let i = 0; i < 3; i++) lane!.pace!.observe(2_000, clock.monotonicMs());
  const query = queryOf([slow, targetOf('next/m', { priority: 2 })], { needs: { ...plainNeeds, stream: true } });
  const verdicts = () =>
    explainRoute(query, health, clock.monotonicMs()).candidates.map(({ target, verdict }) => [target, verdict]);
  assert.deepEqual(verdicts(), [
    ['slow/m', 'ready, but its first tokens take longer than its max_first_token: asked if those before it fail'],
    ['next/m', 'ready: picked'],
  ]);
  clock.advance(5_000);
  assert.deepEqual(verdicts(), [
    ['slow/m', 'ready: picked'],
    ['next/m', 'ready: asked if those before it fail'],
  ]);
});

test('F73 what is known of a pace outlives a reload, and belongs to requests that some credentials alone can serve', () => {
  const { clock, health } = setUp();
  const slow = targetOf('slow/m', { maxFirstTokenMs: 100 });
  for (let i = 0; i < 3; i++) health.lanes(slow)[0]!.pace!.observe(2_000, clock.monotonicMs());
  const again = targetOf('slow/m', { maxFirstTokenMs: 100 });
  health.retain([again]);
  assert.equal(health.lanes(again)[0]!.pace!.isBehind('stream', clock.monotonicMs()), true);
  assert.equal(health.lanes({ ...again })[0]!.pace!.isBehind('stream', clock.monotonicMs()), true);
});
