import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OutcomeClass } from '../../src/inference/neutral/outcome.ts';
import { createHealth } from '../../src/inference/routing/health.ts';
import { type Lane, standingOf } from '../../src/inference/routing/lane.ts';
import { fakeClock } from '../../src/kernel/clock.ts';
import { targetOf } from '../simulation/routing-samples.ts';

const outcome = fc.constantFrom<OutcomeClass>(
  'ok',
  'transient',
  'malformed',
  'rate_limited',
  'bad_credential',
  'model_unavailable',
  'cancelled',
  'caller_fault',
);

/** Begin on a lane, end or show content on one of those running, or let time pass. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), lane: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(20), outcome }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('content' as const), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 70_000 }) }) },
);

/** One such answer opens a breaker. */
const provesAtOnce: ReadonlySet<OutcomeClass> = new Set([
  'model_unavailable',
  'bad_credential',
  'quota_exhausted',
  'region_blocked',
]);

interface Running {
  lane: Lane;
  index: number;
  as: 'request' | 'probe';
  content: 'seen' | 'none';
  begunMs: number;
}

test('F11 whatever happens: one probe at a time, counts that come out even, nothing open for longer than it may be', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const clock = fakeClock(1_000_000);
      const now = () => clock.monotonicMs();
      const health = createHealth({ clock });
      const target = targetOf('a/m', { credentials: ['a#0', 'a#1'] });
      const lanes = [...health.lanes(target), ...health.lanes(targetOf('a/n', { credentials: ['a#0'] }))];
      const running: Running[] = [];

      for (const one of steps) {
        if (one.do === 'pass') clock.advance(one.ms);
        else if (one.do === 'begin') begin(one.lane);
        else {
          const some = running[one.which % Math.max(1, running.length)];
          if (some === undefined) continue;
          if (one.do === 'end') end(some, one.outcome);
          else if (some.content === 'none') {
            some.content = 'seen';
            health.firstToken(some.lane, some, 5, now());
            // With its first content a probe is over.
            some.as = 'request';
          }
        }
        check();
      }
      while (running.length > 0) end(running[0]!, 'cancelled');
      // No end is missing, so no slot is taken: with time, every lane can serve or be probed.
      clock.advance(300_000);
      for (const lane of lanes) {
        assert.ok(['ready', 'due'].includes(standingOf(lane, now())));
        assert.deepEqual([lane.state.inFlight, lane.state.awaiting], [0, 0]);
      }

      function begin(index: number): void {
        const lane = lanes[index]!;
        const standing = standingOf(lane, now());
        // As routing does: only what is ready or due is begun.
        if (standing !== 'ready' && standing !== 'due') return;
        const attempt: Running = { lane, index, as: 'request', content: 'none', begunMs: now() };
        attempt.as = health.began(lane, attempt, 1e9, now());
        assert.equal(attempt.as, standing === 'due' ? 'probe' : 'request');
        running.push(attempt);
      }

      function end(some: Running, how: OutcomeClass): void {
        running.splice(running.indexOf(some), 1);
        const afterMs = now() - some.begunMs;
        health.ended(some.lane, some, { class: how, retryAfterMs: null, afterMs, content: some.content }, now());
        // Fresh proof opens it anew: what a probe that still runs was sent to find out is known.
        if (provesAtOnce.has(how)) for (const one of running) if (one.index === some.index) one.as = 'request';
      }

      function check(): void {
        for (const [index, lane] of lanes.entries()) {
          const own = running.filter((one) => one.index === index);
          assert.equal(lane.state.inFlight, own.length);
          assert.ok(own.filter(({ as }) => as === 'probe').length <= 1);
          const { breaker } = lane.state;
          if (breaker.at === 'open') assert.ok(breaker.untilMs - now() <= 60_000);
        }
      }
    }),
    { numRuns: 400 },
  );
});
