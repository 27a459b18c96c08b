import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryOf, targetOf } from './routing-samples.ts';
import { type CallSeen, type Ending, forEachSeed, type RequestSeen, simulate } from './routing-simulation.ts';

const first = targetOf('a/m', { maxFirstTokenMs: 400 });
const second = targetOf('b/m', { priority: 2 });
const [slowMs, wellMs, endMs] = [20_000, 120_000, 240_000];

const after = (firstTokenMs: number): Ending => ({ class: 'ok', firstTokenMs, afterMs: firstTokenMs + 500 });
const within = <T extends { atMs: number }>(list: readonly T[], fromMs: number, toMs: number) =>
  list.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
const toFirst = (calls: readonly CallSeen[]) => calls.filter(({ target }) => target === 'a/m').length;

function medianMs(requests: readonly RequestSeen[]): number {
  const sorted = requests.map(({ firstTokenMs }) => firstTokenMs!).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

for (const requestsPerSecond of [2, 10]) {
  test(`F73 the first priority becomes ten times slower (${requestsPerSecond} requests a second): it is left within 15 s, without flapping`, () => {
    forEachSeed(5, (seed) => {
      const run = simulate(
        {
          query: queryOf([first, second]),
          requestsPerSecond,
          durationMs: endMs,
          watched: true,
          upstream: ({ target }, sinceMs, random) => {
            const isSlow = target.id === 'a/m' && sinceMs >= slowMs && sinceMs < wellMs;
            return after((isSlow ? 1_000 : 100) * (0.7 + 0.6 * random.next()));
          },
        },
        seed,
      );
      assert.ok(run.requests.every(({ result }) => result === 'ok'));
      const usual = within(run.calls, 0, slowMs);
      assert.equal(toFirst(usual), usual.length, 'while it is well it is asked alone');
      const later = within(run.requests, slowMs + 15_000, wellMs);
      assert.ok(medianMs(later) < 200, `p50 ${medianMs(later)} ms`);
      // One look at most in 5 s, then in 10, 20 and 30 s.
      const looks = toFirst(within(run.calls, slowMs + 15_000, wellMs));
      assert.ok(looks <= 6, `${looks} calls to the slow one`);
      const back = within(run.calls, wellMs + 60_000, endMs);
      assert.equal(toFirst(back), back.length, 'once it is well again it is asked alone again');
    });
  });
}

test('F73 all targets slower than their maximum: no more than one in twenty is asked twice once that is known', () => {
  forEachSeed(5, (seed) => {
    const run = simulate(
      {
        query: queryOf([first, targetOf('b/m', { priority: 2, maxFirstTokenMs: 400 })]),
        requestsPerSecond: 10,
        durationMs: 120_000,
        watched: true,
        upstream: (_, __, random) => after(1_000 * (0.7 + 0.6 * random.next())),
      },
      seed,
    );
    const calls = within(run.calls, 30_000, 120_000).length;
    const requests = within(run.requests, 30_000, 120_000).length;
    assert.ok(calls <= requests * 1.1, `${calls} calls for ${requests} requests`);
  });
});

test('F73 whole answers of a silent target, nothing known: the next is asked when half of the time is gone', () => {
  forEachSeed(5, (seed) => {
    const query = queryOf([targetOf('a/m'), second]);
    const run = simulate(
      {
        query: { ...query, needs: { ...query.needs, stream: false } },
        requestsPerSecond: 5,
        durationMs: 60_000,
        watched: true,
        totalMs: 3_000,
        upstream: ({ target }) => (target.id === 'a/m' ? { class: 'deadline', afterMs: 3_000 } : after(100)),
      },
      seed,
    );
    assert.ok(run.requests.every(({ result }) => result === 'ok'));
    assert.ok(run.requests.every(({ atMs, endedMs }) => endedMs - atMs < 3_000));
    const asked = toFirst(within(run.calls, 5_000, 60_000));
    assert.ok(asked < 20, `${asked} calls to the silent one, once it is suspect`);
  });
});
