import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Counters, Held, Limit, Measure } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import type { SpanName } from '../../src/books/metering/window.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { fakeClock } from '../fake-clock.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { fakeBooks } from './counter-books.ts';
import { type Asker, limitOf, newAsker } from './counter-requests.ts';

type Step =
  | { kind: 'wait'; ms: number }
  | { kind: 'enter'; callMilli: number; allowed: number }
  | { kind: 'hold'; costMilli: number; allowed: readonly number[]; tokensAllowed: number; rpm: number }
  | { kind: 'settle'; which: number; share: number; tokens: number; usdNano: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const amount = fc.integer({ min: 0, max: 6 }).map((n) => n * 500);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        // Within a bucket, over a few, over a window, and out of all of them.
        ms: fc.oneof(
          fc.integer({ min: 0, max: 3_000 }),
          fc.integer({ min: 0, max: 5 * minuteMs }),
          fc.integer({ min: 0, max: 6 * hourMs }),
          fc.integer({ min: 0, max: 8 * 24 * hourMs }),
          fc.constantFrom(31 * 24 * hourMs, 5 * hourMs, 5 * hourMs + minuteMs, 7 * 24 * hourMs, hourMs),
        ),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('enter' as const),
        callMilli: fc.constantFrom(50, 1_000),
        allowed: amount,
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('hold' as const),
        costMilli: amount,
        allowed: fc.array(
          fc.integer({ min: 0, max: 12 }).map((n) => n * 1_000),
          { minLength: 3, maxLength: 3 },
        ),
        tokensAllowed: fc.integer({ min: 0, max: 60 }),
        rpm: fc.constantFrom(1_000, 2_000, 9_000),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        which: fc.nat(),
        share: fc.integer({ min: 0, max: 4 }),
        tokens: fc.integer({ min: 0, max: 20 }),
        usdNano: fc.integer({ min: 0, max: 9 }),
      }),
    },
  ),
  { minLength: 5, maxLength: 60 },
);

const asked: readonly (readonly [Measure, SpanName])[] = [
  ['calls', 'minute'],
  ['units', '5h'],
  ['units', 'week'],
  ['units', 'month'],
  ['tokens', 'minute'],
  ['tokens', '5h'],
  ['tokens', 'week'],
  ['tokens', 'month'],
  ['usd', '5h'],
  ['usd', 'month'],
];

function limitsFor(who: Asker, step: Step & { kind: 'hold' }): Limit[] {
  const [fiveHours, week, month] = step.allowed as [number, number, number];
  return [
    limitOf(who, 'calls', 'minute', step.rpm, { scope: who.scopes[2]!, id: 'tier:premium:rpm' }),
    limitOf(who, 'units', '5h', fiveHours),
    limitOf(who, 'units', 'week', week, { scope: who.scopes[1]! }),
    limitOf(who, 'units', 'month', month, { scope: who.scopes[3]! }),
    limitOf(who, 'tokens', 'week', step.tokensAllowed),
    limitOf(who, 'tokens', 'minute', step.tokensAllowed),
  ];
}

/** Everything that one driver answers to the steps, and how full everything is after each. */
async function play(
  counters: Counters,
  who: Asker,
  run: readonly Step[],
  advance: (ms: number) => void,
): Promise<unknown[]> {
  const told: unknown[] = [];
  const held: Held[] = [];
  for (const [i, step] of run.entries()) {
    const requestId = `${who.account}-${i}`;
    if (step.kind === 'wait') advance(step.ms);
    if (step.kind === 'enter') {
      const limits = [limitOf(who, 'calls', 'minute', step.allowed)];
      const answer = await counters.enter({
        requestId,
        account: who.account,
        callMilli: step.callMilli,
        limits,
        places: [],
      });
      told.push(answer.kind === 'entered' ? answer.states : answer);
    }
    if (step.kind === 'hold') {
      const limits = limitsFor(who, step);
      const { account, scopes } = who;
      const answer = await counters.hold({ requestId, account, scopes, costMilli: step.costMilli, limits });
      if (answer.kind === 'held') held.push(answer);
      told.push(answer.kind === 'held' ? { ...answer, bookByMs: undefined } : answer);
    }
    if (step.kind === 'settle' && held.length > 0) {
      const one = held[step.which % held.length]!;
      counters.settle(one, { ...step, costMilli: Math.floor((one.costMilli * step.share) / 4) });
    }
    const limits = who.scopes.flatMap((scope) =>
      asked.map(([measure, span]) => limitOf(who, measure, span, Number.POSITIVE_INFINITY, { scope })),
    );
    told.push([step, await counters.read(who.account, limits)]);
  }
  return told;
}

test('Redis counts as memory does, whatever is held, settled and waited for, and in whatever order', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  const startMs = Date.now();
  let clock = fakeClock(startMs);
  const counters = new RedisCounters({
    url: redis.url,
    booksId: 'test',
    books: fakeBooks('later'),
    rules: { scopesOf, callMilliIn },
    clock: systemClock,
    nowMs: () => clock.wallMs(),
    onTrouble: () => {},
  });
  t.after(() => counters.close());
  await counters.whenReady();
  await fc.assert(
    fc.asyncProperty(steps, async (run) => {
      const who = newAsker({ tier: 'premium' });
      clock = fakeClock(startMs);
      const overRedis = await play(counters, who, run, (ms) => clock.advance(ms));
      const own = fakeClock(startMs);
      const memory = new MemoryCounters({ clock: own, books: fakeBooks('at once') });
      assert.deepEqual(overRedis, await play(memory, who, run, (ms) => own.advance(ms)));
      await memory.close();
    }),
    { numRuns: Number(process.env.CULVERT_RUNS ?? 60) },
  );
});
