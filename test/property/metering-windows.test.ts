import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Limit } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { spans, windowNames } from '../../src/books/metering/window.ts';
import { steppedClock } from '../simulation/stepped-clock.ts';
import { fakeBooks } from '../stores/counter-books.ts';
import { type Asker, limitOf, newRequestId } from '../stores/counter-requests.ts';
import { askers, Beside, type Step } from './metering-beside.ts';
import { MeteringModel } from './metering-model.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const passing = fc.oneof(
  fc.nat(2_000),
  fc.nat(10 * minuteMs),
  fc.nat(6 * hourMs),
  fc.nat(10 * dayMs),
  fc.constantFrom(minuteMs, hourMs, 5 * hourMs, 7 * dayMs, 30 * dayMs, 5 * hourMs + minuteMs),
);

/** Clocks are set by even ms: 1 ms cannot be told from the fraction that a wall clock does not show. */
const steps = {
  hold: { do: fc.constant('hold' as const), who: fc.nat(3), cost: fc.constantFrom(50, 1_000, 1_000, 3_000, 9_000) },
  settle: {
    do: fc.constant('settle' as const),
    which: fc.nat(20),
    kept: fc.constantFrom(0, 0, 0.5, 1, 1),
    tokens: fc.nat(120),
  },
  pass: { do: fc.constant('pass' as const), ms: passing },
  set: {
    do: fc.constant('set' as const),
    ms: fc.oneof(
      passing.map((ms) => 2 * ms),
      passing.map((ms) => -2 * ms),
    ),
  },
  setBack: { do: fc.constant('set' as const), ms: passing.map((ms) => -2 * ms) },
  crash: { do: fc.constant('crash' as const), ms: fc.nat(2 * minuteMs) },
};

const runs = (...more: ('set' | 'setBack' | 'crash')[]) =>
  fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record(steps.hold) },
      { weight: 4, arbitrary: fc.record(steps.settle) },
      { weight: 4, arbitrary: fc.record(steps.pass) },
      ...more.map((name) => ({ weight: 1, arbitrary: fc.record(steps[name] as typeof steps.set) })),
    ),
    { maxLength: 80, size: 'max' },
  );

/** Every window, over the account, the key and the tier, in units and tokens; tight, so that refusals are common. */
function limitsFor(who: Asker, spansToo: readonly 'minute'[] = []): readonly Limit[] {
  const [account, key, tier] = who.scopes as [string, string, string];
  return [
    limitOf(who, 'units', '5h', 4_000, { scope: tier, id: 'tier:5h' }),
    limitOf(who, 'units', 'week', 9_000, { scope: tier, id: 'tier:week' }),
    ...windowNames.map((name, i) => limitOf(who, 'units', name, 5_000 * (i + 1), { scope: account })),
    ...windowNames.map((name, i) => limitOf(who, 'units', name, 3_500 * (i + 1), { scope: key, id: `key:${name}` })),
    limitOf(who, 'tokens', '5h', 300, { scope: account }),
    limitOf(who, 'tokens', 'month', 900, { scope: key }),
    ...spansToo.map((name) => limitOf(who, 'tokens', name, 100, { scope: account })),
  ];
}

function holds(name: string, arbitrary: fc.Arbitrary<readonly Step[]>, limitsOf: (who: Asker) => readonly Limit[]) {
  test(name, () => {
    fc.assert(
      fc.property(arbitrary, (run) => {
        const beside = new Beside(limitsOf);
        for (const step of run) beside.take(step);
      }),
      { numRuns: 400 },
    );
  });
}

holds(
  'never more than the plan in any true window, and a unit back one bucket late at most: reserve, settle, give back',
  runs(),
  (who) => limitsFor(who, ['minute']),
);
holds(
  'F28 … while somebody sets the wall clock forward and back: no false 429, nothing free but the step',
  runs('set'),
  (who) => limitsFor(who, ['minute']),
);
holds('F28 … and crashes in between, the clock set back while it was down', runs('set', 'crash'), limitsFor);

test('F28 a wall clock that is only ever set back frees nothing before its true time', () => {
  const limit = limitOf(askers[0]!, 'units', '5h', 2_000);
  fc.assert(
    fc.property(runs('setBack', 'crash'), (run) => {
      const beside = new Beside(() => [limit]);
      const heldAtTrueMs: number[] = [];
      for (const step of run) {
        if (step.do === 'hold') {
          const answer = beside.hold(askers[0]!, 1_000);
          if (answer.kind === 'held') heldAtTrueMs.push(beside.clock.monotonicMs());
        } else if (step.do !== 'settle') beside.take(step);
      }
      for (const atMs of heldAtTrueMs) {
        const within = heldAtTrueMs.filter((other) => other <= atMs && other >= atMs - spans['5h'].spanMs);
        assert.ok(within.length <= 2, `${within.length} in five hours`);
      }
    }),
    { numRuns: 300 },
  );
});

test('the named instant is exact: one millisecond before it is refused, and then it passes', () => {
  fc.assert(
    fc.property(runs('set', 'crash'), fc.constantFrom(50, 1_000, 3_000), (run, cost) => {
      const beside = new Beside(limitsFor);
      for (const step of run) beside.take(step);
      for (const who of askers) {
        const answer = beside.hold(who, cost);
        if (answer.kind === 'held' || answer.freeAtMs === null) continue;
        beside.clock.advance(answer.freeAtMs - beside.clock.wallMs() - 1);
        const before = beside.hold(who, cost);
        assert.ok(before.kind === 'full' && before.freeAtMs === answer.freeAtMs);
        beside.clock.advance(1);
        assert.equal(beside.hold(who, cost).kind, 'held');
      }
    }),
    { numRuns: 300 },
  );
});

test('calls a minute: never more in any 60 s, back within 61, by the account and by the key', () => {
  const call = fc.record({
    who: fc.nat(3),
    callMilli: fc.constantFrom(50, 1_000),
    passMs: fc.oneof(fc.nat(400), fc.nat(9_000)),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 120, size: 'max' }), (calls) => {
      const clock = steppedClock(1_750_000_000_500);
      const counters = new MemoryCounters({ clock, books: fakeBooks('at once') });
      const model = new MeteringModel();
      for (const { who, callMilli, passMs } of calls) {
        clock.advance(passMs);
        const { account, scopes } = askers[who]!;
        const [whole, key] = scopes as [string, string];
        const limits = [
          limitOf(askers[who]!, 'calls', 'minute', 8_000, { scope: whole }),
          limitOf(askers[who]!, 'calls', 'minute', 5_000, { scope: key, id: 'key:minute' }),
        ];
        const answer = counters.enter({ requestId: newRequestId(), account, callMilli, limits, places: [] });
        assert.ok(!(answer instanceof Promise) && answer.kind !== 'unavailable');
        if (answer.kind === 'full') {
          const refused = limits.find(({ id }) => id === answer.limit)!;
          assert.ok(model.truly(refused, clock.wallMs(), spans.minute.bucketMs) + callMilli > refused.allowed);
        } else {
          model.count(clock.wallMs(), [whole, key], 'calls', callMilli);
          for (const limit of limits) assert.ok(model.truly(limit, clock.wallMs()) <= limit.allowed);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('F29 windows are so many seconds, whatever the date: 2024 to 2032, leap days, months, clock changes', () => {
  const zone = process.env.TZ;
  // A zone with summer time: were dates read in local time, two days a year would have 23 and 25 hours.
  process.env.TZ = 'Europe/Berlin';
  try {
    const instant = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2032, 11, 31) });
    const known = [Date.UTC(2024, 1, 28, 12), Date.UTC(2028, 1, 29), Date.UTC(2026, 2, 28, 23), Date.UTC(2031, 9, 25)];
    fc.assert(
      fc.property(fc.oneof(instant, fc.constantFrom(...known)), fc.constantFrom(...windowNames), (startMs, name) => {
        const [who] = askers as [Asker];
        const limit = limitOf(who, 'units', name, 1_000);
        const beside = new Beside(() => [limit], startMs);
        assert.equal(beside.hold(who, 1_000).kind, 'held');
        const { spanMs, bucketMs } = spans[name];
        beside.clock.advance(spanMs);
        const full = beside.hold(who, 1_000);
        assert.ok(full.kind === 'full' && full.freeAtMs! > startMs + spanMs);
        assert.ok(full.freeAtMs! <= startMs + spanMs + bucketMs);
        beside.clock.advance(bucketMs);
        assert.equal(beside.hold(who, 1_000).kind, 'held');
      }),
      { numRuns: 500 },
    );
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});
