import { fakeClock } from '../../kernel/clock.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { createHealth, type Health, type LaneEnd } from './health.ts';
import { type Lane, standingOf } from './lane.ts';
import type { Target } from './target.ts';

export function endOf(outcome: OutcomeClass, more: Partial<LaneEnd> = {}): LaneEnd {
  return { class: outcome, retryAfterMs: null, afterMs: 0, content: 'none', tenant: 'dev/laptop', ...more };
}

export function setUp() {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const now = () => clock.monotonicMs();
  /** One attempt that ends at once. */
  function run(lane: Lane, outcome: OutcomeClass, more: Partial<LaneEnd> = {}): 'request' | 'probe' {
    const attempt = {};
    const as = health.began(lane, attempt, 600_000, now());
    health.ended(lane, attempt, endOf(outcome, more), now());
    return as;
  }
  function runMany(count: number, lane: Lane, outcome: OutcomeClass, more: Partial<LaneEnd> = {}): void {
    for (let i = 0; i < count; i++) run(lane, outcome, more);
  }
  /** Three refused connections: closed out for 1 s. */
  const open = (lane: Lane) => runMany(3, lane, 'unreachable');
  const standing = (lane: Lane) => standingOf(lane, now());
  return { clock, health, now, run, runMany, open, standing };
}

export const laneOf = (health: Health, target: Target, index = 0) => health.lanes(target)[index]!;
