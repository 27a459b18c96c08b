import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Random } from '../../src/kernel/random.ts';
import { queryOf, targetOf } from './routing-samples.ts';
import { type Ending, forEachSeed, type RequestSeen, type Scenario, simulate } from './routing-simulation.ts';

const two = queryOf([targetOf('a/m'), targetOf('b/m')]);

/** A stream that lasts about so long. */
const whole = (random: Random, lastsMs: number): Ending => {
  const firstTokenMs = 100 * (0.7 + 0.6 * random.next());
  return { class: 'ok', firstTokenMs, afterMs: firstTokenMs + lastsMs * (0.7 + 0.6 * random.next()) };
};
/** Ten chunks, then silence until the idle timeout. */
const stalled = (idleMs: number): Ending => ({
  class: 'stall_idle',
  firstTokenMs: 100,
  quietAfterMs: 600,
  afterMs: 600 + idleMs,
});
/** Ten chunks, then the end of the connection. */
const cut: Ending = { class: 'truncated', firstTokenMs: 100, afterMs: 600 };

const wholeShare = (requests: readonly RequestSeen[]) =>
  requests.filter(({ result }) => result === 'ok').length / requests.length;

function run(upstream: Scenario['upstream'], seed: number, more: Partial<Scenario> = {}) {
  return simulate({ query: two, requestsPerSecond: 10, durationMs: 60_000, watched: true, upstream, ...more }, seed);
}

for (const [what, ending] of [
  ['stall, idle timeout 3 s', () => stalled(3_000)],
  ['stall, idle timeout 30 s', () => stalled(30_000)],
  ['are cut', () => cut],
  ['stall in two of three, idle timeout 30 s', (random: Random) => (random.next() < 0.67 ? stalled(30_000) : null)],
  ['are cut in two of three', (random: Random) => (random.next() < 0.67 ? cut : null)],
] as const) {
  for (const lastsMs of [500, 3_000]) {
    for (const since of ['the start', 'the 20th second'] as const) {
      test(`F71 streams of one of two targets ${what} from ${since}, others last ${lastsMs} ms`, () => {
        const seen: RequestSeen[] = [];
        forEachSeed(10, (seed) => {
          const { requests } = run(({ target }, sinceMs, random) => {
            const bad = target.id === 'a/m' && sinceMs >= (since === 'the start' ? 0 : 20_000) ? ending(random) : null;
            return bad ?? whole(random, lastsMs);
          }, seed);
          seen.push(...requests);
        });
        const share = wholeShare(seen);
        assert.ok(share >= 0.95, `${share * 100} % of ${seen.length} streams whole`);
      });
    }
  }
}
