/** What decision 0074 measured: `node bench/routing/asked-wait.ts`. */
import type { Random } from '../../src/kernel/random.ts';
import { queryOf, targetOf } from '../../test/simulation/routing-samples.ts';
import { type Ending, simulate } from '../../test/simulation/routing-simulation.ts';

const ok = (random: Random): Ending => ({ class: 'ok', firstTokenMs: 100 + 100 * random.next(), afterMs: 300 });
const policies = { ignored: 'transient', 'as a 429': 'rate_limited', 'as built': 'transient' } as const;
const [a, b] = [targetOf('a/m'), targetOf('b/m', { priority: 2 })];
const schedules = {
  'one of two sheds load for 5 s in every 10, and says how long': {
    targets: [a, b],
    waitMs: (sinceMs: number) => 5_000 - (sinceMs % 10_000),
  },
  'the only one does': { targets: [a], waitMs: (sinceMs: number) => 5_000 - (sinceMs % 10_000) },
  'the only one fails 30 %, with Retry-After: 10': { targets: [a], waitMs: null },
  'two fail 30 %, with Retry-After: 10': { targets: [a, b], waitMs: null },
};
for (const [name, { targets, waitMs }] of Object.entries(schedules)) {
  for (const [policy, outcome] of Object.entries(policies)) {
    let [answered, all, refused] = [0, 0, 0];
    for (let seed = 1; seed <= 10; seed++) {
      const run = simulate(
        {
          query: queryOf(targets),
          requestsPerSecond: 10,
          durationMs: 40_000,
          upstream({ target }, sinceMs, random) {
            const leftMs =
              waitMs === null ? (random.next() < 0.3 ? 10_000 : 0) : target.id === 'a/m' ? waitMs(sinceMs) : 0;
            if (leftMs <= 0) return ok(random);
            return {
              class: outcome,
              afterMs: 5,
              ...(policy !== 'ignored' && { retryAfterMs: Math.max(1_000, leftMs) }),
            };
          },
        },
        seed,
      );
      all += run.requests.length;
      answered += run.requests.filter(({ result }) => result === 'ok').length;
      refused += run.calls.filter((call) => call.class !== 'ok').length;
    }
    console.log(
      `${name} | ${policy} | ${((100 * answered) / all).toFixed(1)} % | ${(refused / 10).toFixed(0)} refused calls`,
    );
  }
}
