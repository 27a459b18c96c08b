import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../src/kernel/random.ts';
import { healthOf, newCredentialState, newLaneState } from '../../src/routing/lane.ts';
import { loadOf, type Pickable, pick } from '../../src/routing/pick.ts';
import { retryAfterMs } from '../../src/routing/retry-after.ts';
import { createRetryBudget } from '../../src/routing/rolling-counts.ts';

const option = fc
  .record({
    weight: fc.integer({ min: 1, max: 20 }),
    key: fc.integer({ min: 0, max: 0xffffffff }),
    inFlight: fc.nat(40),
    firstTokenMs: fc.option(fc.integer({ min: 1, max: 60_000 })),
    outcomes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(fc.boolean(), { maxLength: 30 })),
  })
  .map(({ weight, key, inFlight, firstTokenMs, outcomes }): Pickable => {
    const state = newLaneState('a/m', 'a#0', newCredentialState());
    if (firstTokenMs !== null) state.firstToken.observe(firstTokenMs, 0);
    state.inFlight = inFlight;
    state.awaiting = inFlight;
    for (const answered of outcomes) {
      if (answered) state.share.succeeded('dev/laptop', 0);
      else state.share.failed('dev/laptop', 0);
    }
    return { weight, key, state };
  });
const affinity = fc.option(fc.integer({ min: 0, max: 0xffffffff }));
const nowMs = fc.integer({ min: 0, max: 60_000 });

test('of two, none is taken that is worse than the other by more than what counts as equal', () => {
  fc.assert(
    fc.property(option, option, affinity, fc.integer(), nowMs, (a, b, own, seed, atMs) => {
      const taken = pick([a, b], own, seededRandom(seed), atMs);
      const left = taken === a ? b : a;
      const factor = own === null ? 1.25 : 2;
      // A draw has already counted the health of the drawn one, so the other is weighed by its own alone.
      const [takenLoad, leftLoad] = [loadOf(taken.state, atMs), loadOf(left.state, atMs) / healthOf(left.state, atMs)];
      const unloaded = a.state.inFlight === 0 && b.state.inFlight === 0;
      if (unloaded && takenLoad <= leftLoad * factor) return;
      assert.ok(takenLoad / taken.weight <= (leftLoad / left.weight) * factor * (1 + 1e-9));
    }),
    { numRuns: 2_000 },
  );
});

test('the share of the picks falls with the share of the requests that fail', () => {
  const rate = fc.integer({ min: 0, max: 10 });
  fc.assert(
    fc.property(rate, rate, fc.integer(), (few, more, seed) => {
      fc.pre(more > few + 1);
      const failing = (id: number, failedOf10: number): Pickable => {
        const state = newLaneState(`${id}/m`, `${id}#0`, newCredentialState());
        state.firstToken.observe(100, 0);
        for (let i = 0; i < 100; i++) {
          if (i % 10 < failedOf10) state.share.failed('dev/laptop', 0);
          else state.share.succeeded('dev/laptop', 0);
        }
        return { weight: 1, key: id, state };
      };
      const [better, worse] = [failing(1, few), failing(2, more)];
      const random = seededRandom(seed);
      let picked = 0;
      for (let i = 0; i < 400; i++) if (pick([better, worse], null, random, 0) === better) picked++;
      assert.ok(picked >= 200, `${picked} of 400 to the better one`);
    }),
    { numRuns: 100 },
  );
});

test('with affinity and nobody loaded, the same options give the same one, in whatever order they stand', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(option, { minLength: 1, maxLength: 6, selector: ({ key }) => key }),
      fc.integer({ min: 0, max: 0xffffffff }),
      (options, own) => {
        for (const { state } of options) {
          state.inFlight = 0;
          state.share.clear();
          state.firstToken.observe(60_000, 0);
        }
        const first = pick(options, own, seededRandom(1), 0);
        assert.equal(pick(options.toReversed(), own, seededRandom(2), 0), first);
      },
    ),
  );
});

test('F11 in no ten seconds are more further attempts granted than a fifth of the requests', () => {
  const event = fc.record({
    afterMs: fc.integer({ min: 0, max: 400 }),
    kind: fc.constantFrom('request', 'take', 'take'),
  });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 800, minLength: 200, size: 'max' }),
      fc.integer({ min: 0, max: 400 }),
      (events, busy) => {
        const budget = createRetryBudget();
        const requests: number[] = [];
        const grants: number[] = [];
        let atMs = 0;
        for (let i = 0; i < busy; i++) {
          budget.requested('smart', 0);
          requests.push(0);
        }
        for (const { afterMs, kind } of events) {
          atMs += afterMs;
          if (kind === 'request') {
            budget.requested('smart', atMs);
            requests.push(atMs);
            continue;
          }
          if (!budget.take('smart', atMs)) continue;
          grants.push(atMs);
          // The window's last bucket may be one second short of ten.
          const granted = grants.filter((ms) => ms > atMs - 9_000).length;
          const asked = requests.filter((ms) => ms > atMs - 10_000).length;
          assert.ok(granted <= asked * 0.2, `${granted} granted for ${asked}`);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('F10 no header, however strange, gives anything but null or 1 s to 5 min', () => {
  const value = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    fc.array(fc.constantFrom('1', '60', '.5', 'h', 'm', 's', 'ms', ' ')).map((parts) => parts.join('')),
  );
  const names = [
    'retry-after',
    'retry-after-ms',
    'x-ratelimit-reset-requests',
    'anthropic-ratelimit-tokens-reset',
    'ratelimit',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...names), value, (name, text) => {
      const headers = { get: (asked: string) => (asked === name ? text : undefined), names: () => [name] };
      const ms = retryAfterMs(headers, 1_750_000_000_000);
      assert.ok(ms === null || (ms >= 1_000 && ms <= 300_000), `${name}: ${text} → ${ms}`);
    }),
    { numRuns: 3_000 },
  );
});
