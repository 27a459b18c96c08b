import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OutcomeClass } from '../../src/formats/neutral/outcome.ts';
import { isRest } from '../../src/routing/breaker.ts';
import { createHealth } from '../../src/routing/health.ts';
import { healthOf, hopeOf, type Lane, standingOf, triableAtMs } from '../../src/routing/lane.ts';
import { fakeClock } from '../fake-clock.ts';
import { targetOf } from '../simulation/routing-samples.ts';

const outcome = fc.constantFrom<OutcomeClass>(
  'ok',
  'transient',
  'unreachable',
  'malformed',
  'rate_limited',
  'bad_credential',
  'model_unavailable',
  'cancelled',
  'caller_fault',
);

const lane = fc.nat(2);
const which = fc.nat(20);
const tenant = fc.constantFrom('dev/laptop', 'dev/server');

/** Possible events of a lane: requests, cheap looks, health checks or the passing of time. */
type Step =
  | { do: 'begin'; lane: number; repeated: boolean }
  | { do: 'end'; which: number; outcome: OutcomeClass; tenant: string }
  | { do: 'content'; which: number }
  | { do: 'pass'; ms: number }
  | { do: 'silence'; lane: number }
  | { do: 'look'; found: 'over' | 'goes on' | 'unknown' }
  | { do: 'check'; outcome: 'passed' | 'failed' };

const step = fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('begin'), lane, repeated: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('end'), which, outcome, tenant }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('content'), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.integer({ min: 1, max: 1_500 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.integer({ min: 1, max: 70_000 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('silence'), lane }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('look'), found: fc.constantFrom('over', 'goes on', 'unknown') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('check'), outcome: fc.constantFrom('passed', 'failed') }) },
);

interface Running {
  lane: Lane;
  as: 'request' | 'probe';
  content: 'seen' | 'none';
  begunMs: number;
  /** It failed before, as the same request. */
  repeated: boolean;
}

const failureMaxMs = 30_000;
const restMaxMs = 300_000;

test('F11 whatever happens: one probe at a time, counts that come out even, nothing closed out for longer than it may be', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 160, size: 'max' }), (steps) => {
      const clock = fakeClock(1_000_000);
      const now = () => clock.monotonicMs();
      const health = createHealth({ clock });
      const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
      const lanes = [...health.lanes(target), ...health.lanes(targetOf('a/n', { credentials: ['a#0'] }))];
      const running: Running[] = [];

      for (const one of steps) {
        take(one);
        check();
      }
      while (running.length > 0) end(running[0]!, 'cancelled', 'dev/laptop');
      // No end is missing, so no slot is taken: with time, every lane can serve or be probed.
      clock.advance(restMaxMs);
      for (const lane of lanes) {
        assert.ok(['ready', 'due'].includes(standingOf(lane, now())));
        assert.deepEqual([lane.state.inFlight, lane.state.awaiting], [0, 0]);
      }

      function take(one: Step): void {
        switch (one.do) {
          case 'pass':
            clock.advance(one.ms);
            return;
          case 'begin':
            begin(lanes[one.lane]!, one.repeated);
            return;
          case 'silence':
            health.fellSilent(lanes[one.lane]!, now());
            return;
          case 'look':
            for (const look of health.dueLooks(now())) look.ended(one.found, now());
            return;
          case 'check':
            health.checked(target, one.outcome, failureMaxMs, now());
            return;
        }
        const some = running[one.which % Math.max(1, running.length)];
        if (some === undefined) return;
        if (one.do === 'end') end(some, one.outcome, one.tenant);
        else if (some.content === 'none') {
          some.content = 'seen';
          health.firstToken(some.lane, some, 'stream', 5, now());
        }
      }

      function begin(lane: Lane, repeated: boolean): void {
        const standing = standingOf(lane, now());
        const attempt: Running = { lane, as: 'request', content: 'none', begunMs: now(), repeated };
        const beganAs = health.began(lane, attempt, 1e9, now());
        // A closed lane may be asked nevertheless, but only a due one is probed. A limited lane is not asked.
        if (standing !== 'cooling') assert.equal(beganAs, standing === 'due' ? 'probe' : 'request');
        attempt.as = beganAs;
        running.push(attempt);
      }

      function end(some: Running, how: OutcomeClass, tenant: string): void {
        running.splice(running.indexOf(some), 1);
        const { content, repeated } = some;
        const afterMs = now() - some.begunMs;
        health.ended(some.lane, some, { class: how, retryAfterMs: null, afterMs, content, tenant, repeated }, now());
      }

      function check(): void {
        for (const lane of lanes) {
          const own = running.filter((one) => one.lane === lane);
          assert.equal(lane.state.inFlight, own.length);
          assert.equal(lane.state.awaiting, own.filter(({ content }) => content === 'none').length);
          const { breaker } = lane.state;
          // A probe's question is answered once its breaker has moved on.
          for (const one of own) if (breaker.at !== 'probing' || breaker.owner !== one) one.as = 'request';
          if (breaker.at === 'probing') assert.equal(own.filter(({ as }) => as === 'probe').length, 1);
          if (breaker.at === 'open') {
            const longestMs = isRest(breaker.why) ? restMaxMs : failureMaxMs;
            assert.ok(breaker.untilMs - now() <= longestMs, `${breaker.why} for ${breaker.untilMs - now()} ms`);
          }
          if (standingOf(lane, now()) === 'refused') assert.ok(triableAtMs(lane, now()) - now() <= 1_000);
          const health = healthOf(lane.state, now());
          assert.ok(health > 0 && health <= 1, `health ${health}`);
          for (const when of ['lately', 'right now'] as const) {
            const hope = hopeOf(lane.state, when, now());
            assert.ok(hope >= 0 && hope <= 1, `hope ${hope}`);
          }
        }
      }
    }),
    { numRuns: 400 },
  );
});
