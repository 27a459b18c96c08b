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
  ['are cut in one of three', (random: Random) => (random.next() < 0.33 ? cut : null)],
] as const) {
  for (const [requestsPerSecond, lastsMs] of [
    [10, 500],
    [10, 3_000],
    [2, 1_000],
    [1, 1_000],
  ] as const) {
    for (const since of ['the start', 'the 60th second'] as const) {
      test(`F71 streams of one of two targets ${what} from ${since}, ${requestsPerSecond} a second, others last ${lastsMs} ms`, () => {
        const seen: RequestSeen[] = [];
        const sinceMs = since === 'the start' ? 0 : 60_000;
        forEachSeed(requestsPerSecond === 10 ? 5 : 20, (seed) => {
          const { requests } = run(
            ({ target }, atMs, random) =>
              (target.id === 'a/m' && atMs >= sinceMs ? ending(random) : null) ?? whole(random, lastsMs),
            seed,
            { requestsPerSecond, durationMs: sinceMs + 60_000 },
          );
          seen.push(...requests.filter(({ atMs }) => atMs >= sinceMs));
        });
        const share = wholeShare(seen);
        assert.ok(share >= 0.95, `${share * 100} % of ${seen.length} streams whole`);
      });
    }
  }
}

test('F71 streams of which one in a hundred breaks, at both targets: both go on to serve', () => {
  forEachSeed(5, (seed) => {
    const { requests, calls } = run((_, __, random) => (random.next() < 0.01 ? cut : whole(random, 500)), seed, {
      durationMs: 300_000,
    });
    assert.ok(wholeShare(requests) >= 0.98);
    const share = calls.filter(({ target }) => target === 'a/m').length / calls.length;
    assert.ok(share > 0.4 && share < 0.6, `${share * 100} % at the first`);
  });
});

for (const requestsPerSecond of [1, 10]) {
  test(`F71 a target whose streams broke off for a minute has its share again soon after it is well, ${requestsPerSecond} a second`, () => {
    forEachSeed(5, (seed) => {
      const { calls } = run(
        ({ target }, atMs, random) =>
          target.id === 'a/m' && atMs >= 60_000 && atMs < 120_000 ? cut : whole(random, 500),
        seed,
        { requestsPerSecond, durationMs: 300_000 },
      );
      const later = calls.filter(({ atMs }) => atMs >= 220_000);
      const share = later.filter(({ target }) => target === 'a/m').length / later.length;
      assert.ok(share > 0.3, `${share * 100} % at the one that is well again`);
    });
  });
}
