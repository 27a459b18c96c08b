import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Counters, Full, Held, Limit } from '../../src/metering/counters.ts';
import { createMemoryCounters } from '../../src/metering/memory-counters.ts';
import { spans, windowNames } from '../../src/metering/window.ts';
import { type SteppedClock, steppedClock } from '../simulation/stepped-clock.ts';
import { booked, fakeBooks } from '../stores/counter-books.ts';
import { type Asker, limitOf, newAsker, newRequestId } from '../stores/counter-requests.ts';
import { type Counted, MeteringModel } from './metering-model.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Two keys of one account, each on two tiers: they share some scopes and not others. */
const askers: readonly Asker[] = ['one', 'two'].flatMap((key) =>
  ['premium', 'standard'].map((tier) => newAsker({ account: 'acme', key, tier })),
);

const passing = fc.oneof(
  fc.nat(2_000),
  fc.nat(10 * minuteMs),
  fc.nat(6 * hourMs),
  fc.nat(10 * dayMs),
  fc.constantFrom(minuteMs, hourMs, 5 * hourMs, 7 * dayMs, 30 * dayMs, 5 * hourMs + minuteMs),
);

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
      passing,
      passing.map((ms) => -ms),
    ),
  },
  setBack: { do: fc.constant('set' as const), ms: passing.map((ms) => -ms) },
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

type Step =
  | { do: 'hold'; who: number; cost: number }
  | { do: 'settle'; which: number; kept: number; tokens: number }
  | { do: 'pass'; ms: number }
  | { do: 'set'; ms: number }
  | { do: 'crash'; ms: number };

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

/** The real counters over books, beside the model, on one clock. What must hold is asserted at every answer. */
class Beside {
  readonly clock: SteppedClock;
  readonly model = new MeteringModel();
  readonly #books = fakeBooks('at once');
  readonly #limitsOf: (who: Asker) => readonly Limit[];
  readonly #open: { held: Held; who: Asker; units: Counted }[] = [];
  #counters: Counters;
  /** Quota time by the words of design and faults.md F28, computed here once more. */
  #quotaMs: number;
  #lastTrueMs: number;
  /** After a crash: what the first request finds in the books. */
  #newestBucketMs = 0;

  constructor(limitsOf: (who: Asker) => readonly Limit[], startMs = 1_750_000_000_123) {
    this.#limitsOf = limitsOf;
    this.clock = steppedClock(startMs);
    this.#counters = createMemoryCounters({ clock: this.clock, books: this.#books });
    this.#quotaMs = this.clock.wallMs();
    this.#lastTrueMs = this.clock.monotonicMs();
  }

  take(step: Step): void {
    if (step.do === 'pass') this.clock.advance(step.ms);
    else if (step.do === 'set') this.clock.step(step.ms);
    else if (step.do === 'crash') this.crash(step.ms);
    else if (step.do === 'hold') this.hold(askers[step.who]!, step.cost);
    else if (step.do === 'settle') this.settle(step.which, step.kept, step.tokens);
  }

  /** As the counters, it sees the clock only when somebody asks. */
  now(): number {
    const trueMs = this.clock.monotonicMs();
    this.#quotaMs = Math.max(this.#quotaMs + trueMs - this.#lastTrueMs, this.clock.wallMs());
    this.#lastTrueMs = trueMs;
    return this.#quotaMs;
  }

  hold(who: Asker, costMilli: number): Held | Full {
    this.#quotaMs = Math.max(this.now(), this.#newestBucketMs);
    this.#newestBucketMs = 0;
    const nowMs = this.#quotaMs;
    const limits = this.#limitsOf(who);
    const answer = this.#ask(who, costMilli, limits);
    const expected = this.model.refusal(limits, nowMs, costMilli);
    if (answer.kind === 'full') {
      const refused = limits.find(({ id }) => id === answer.limit)!;
      const nearly = this.model.truly(refused, nowMs, spans[refused.span].bucketMs);
      assert.ok(!this.model.passes(refused, nearly, costMilli), `${refused.id}: refused for what left long ago`);
      const freeAtMs = answer.freeAtMs === null ? null : answer.freeAtMs + nowMs - this.clock.wallMs();
      assert.deepEqual({ limit: answer.limit, used: answer.used, freeAtMs }, expected);
      return answer;
    }
    assert.equal(answer.quotaMs, nowMs);
    assert.equal(expected, null, 'nothing is let in that the buckets refuse');
    for (const limit of limits) {
      const used = this.model.truly(limit, nowMs);
      assert.ok(this.model.passes(limit, used, costMilli), `${limit.id}: ${used} and ${costMilli} more`);
    }
    const units = this.model.count(nowMs, who.scopes, 'units', costMilli);
    for (const [i, limit] of limits.entries())
      assert.equal(answer.states[i]!.used, this.model.byBuckets(limit, nowMs), limit.id);
    this.#open.push({ held: answer, who, units });
    return answer;
  }

  #ask({ account, scopes, tenant, tier }: Asker, costMilli: number, limits: readonly Limit[]): Held | Full {
    const requestId = newRequestId();
    const answer = this.#counters.hold({ requestId, account, scopes, costMilli, limits });
    if (answer instanceof Promise || answer.kind === 'unavailable') assert.fail('the books answer at once');
    const atMs = this.clock.wallMs();
    if (answer.kind === 'held')
      this.#books.open({
        requestId,
        bootId: 'boot',
        atMs,
        account,
        keyId: 'key',
        tenant,
        endpoint: 'chat',
        alias: 'smart',
        tier,
        quotaMs: answer.quotaMs,
        costMilli,
        inputTokensEstimate: 0,
      });
    return answer;
  }

  settle(which: number, kept: number, tokens: number): void {
    if (this.#open.length === 0) return;
    const [one] = this.#open.splice(which % this.#open.length, 1);
    const { held, who, units } = one!;
    const costMilli = held.costMilli * kept;
    const nowMs = this.now();
    this.#counters.settle(held, { costMilli, tokens, usdNano: 0 });
    units.amount = costMilli;
    this.model.count(nowMs, who.scopes, 'tokens', tokens);
    const { account, tenant, tier } = who;
    const event = booked(account, held.quotaMs, { costMilli, tokens, tenant, tier });
    this.#books.settle(held.requestId, { ...event, settledMs: nowMs });
  }

  /** The process dies and another begins: what was open is charged whole, as the ledger does. */
  crash(downMs: number): void {
    for (const { held, who } of this.#open.splice(0)) {
      const { account, tenant, tier } = who;
      const event = booked(account, held.quotaMs, { costMilli: held.costMilli, tenant, tier });
      this.#books.settle(held.requestId, event);
    }
    this.clock.advance(downMs);
    this.#counters = createMemoryCounters({ clock: this.clock, books: this.#books });
    this.#lastTrueMs = this.clock.monotonicMs();
    this.#quotaMs = this.clock.wallMs();
    const counted = this.model.events.filter(({ amount }) => amount > 0);
    this.#newestBucketMs = Math.max(0, ...counted.map(({ atMs }) => atMs - (atMs % minuteMs)));
  }
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
      const counters = createMemoryCounters({ clock, books: fakeBooks('at once') });
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
