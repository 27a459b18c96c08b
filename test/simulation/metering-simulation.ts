import assert from 'node:assert/strict';
import type { EntryAnswer, Held, Limit } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { windowNames } from '../../src/books/metering/window.ts';
import { type Random, seededRandom } from '../../src/kernel/random.ts';
import { fakeClock } from '../fake-clock.ts';
import { type Counted, MeteringModel } from '../property/metering-model.ts';
import { booked, fakeBooks } from '../stores/counter-books.ts';
import { type Asker, limitOf, newAsker, newRequestId } from '../stores/counter-requests.ts';

/** How a run came out, in requests. */
export interface MeteringRun {
  settled: number;
  refused: number;
  /** Their process died. */
  crashed: number;
  crashes: number;
}

interface Running {
  id: string;
  who: Asker;
  entered: Extract<EntryAnswer, { kind: 'entered' }>;
  held: Held | null;
  units: Counted | null;
  tokens: Counted | null;
}

const requestsMax = 400;
const concurrency = 6;

/** A tenth of all requests cost several units, a third a twentieth of one. */
function costOf(random: Random): number {
  const chance = random.next();
  return chance < 0.1 ? 3_000 : chance < 0.4 ? 50 : 1_000;
}

function windowLimits(who: Asker): readonly Limit[] {
  const [account, key] = who.scopes as [string, string];
  return [
    ...windowNames.map((name, i) => limitOf(who, 'units', name, 20_000 * (i + 1), { scope: account })),
    ...windowNames.map((name, i) => limitOf(who, 'units', name, 9_000 * (i + 1), { scope: key, id: `key:${name}` })),
    limitOf(who, 'tokens', 'week', 4_000, { scope: account }),
  ];
}

/**
 * The real counters and books that commit late, on a clock of their own: requests come, wait for the books, run, are
 * settled or given back; the process dies at any step and another begins. All of it follows from the seed, and what
 * must always hold is asserted after every step.
 */
export function simulateMetering(seed: number): MeteringRun {
  const random = seededRandom(seed);
  const clock = fakeClock();
  const books = fakeBooks('at once');
  const model = new MeteringModel();
  const askers = ['one', 'two', 'three'].map((key) => newAsker({ account: `acme-${seed}`, key, tier: 'premium' }));
  const [account] = askers[0]!.scopes as [string];
  let counters = new MemoryCounters({ clock, books });
  /** Of this process: gone when it dies. */
  let agenda: { atMs: number; run: () => void }[] = [];
  let running = new Set<Running>();
  const refused = new Set<string>();
  const run: MeteringRun = { settled: 0, refused: 0, crashed: 0, crashes: 0 };

  function later(ms: number, step: () => void): void {
    const atMs = clock.wallMs() + ms;
    const i = agenda.findLastIndex((one) => one.atMs <= atMs);
    agenda.splice(i + 1, 0, { atMs, run: step });
  }

  function arrive(): void {
    const who = askers[Math.floor(random.next() * askers.length)]!;
    const id = newRequestId();
    const entered = counters.enter({
      requestId: id,
      account: who.account,
      callMilli: 1_000,
      limits: [limitOf(who, 'calls', 'minute', 30_000, { scope: account })],
      places: [{ id: 'concurrency', scope: account, allowed: concurrency }],
    });
    assert.ok(!(entered instanceof Promise) && entered.kind !== 'unavailable');
    if (entered.kind === 'full') {
      assert.ok(entered.limit !== 'concurrency' || running.size === concurrency, 'a place was free');
      refuse(id);
    } else {
      assert.ok(running.size < concurrency, 'a place too many');
      const request: Running = { id, who, entered, held: null, units: null, tokens: null };
      running.add(request);
      later(random.next() * 50, () => reserve(request));
    }
  }

  function refuse(id: string): void {
    refused.add(id);
    run.refused++;
  }

  function reserve(request: Running): void {
    const { id, who } = request;
    const limits = windowLimits(who);
    const costMilli = costOf(random);
    const expected = model.refusal(limits, clock.wallMs(), costMilli);
    const answer = counters.hold({ requestId: id, account: who.account, scopes: who.scopes, costMilli, limits });
    assert.ok(!(answer instanceof Promise) && answer.kind !== 'unavailable');
    assert.equal(answer.kind, expected === null ? 'held' : 'full');
    if (answer.kind === 'full') {
      refuse(id);
      leave(request);
      return;
    }
    request.held = answer;
    request.units = model.count(answer.quotaMs, who.scopes, 'units', costMilli);
    // The books commit it a little later, or say that they cannot.
    if (random.next() < 0.05) later(random.next() * 250, () => settle(request, { kept: 0, tokens: 0, inBooks: 'no' }));
    else later(random.next() * 3, () => dispatch(request, answer));
  }

  function dispatch(request: Running, { quotaMs, costMilli }: Held): void {
    const { id, who } = request;
    books.open({
      requestId: id,
      bootId: `boot_${run.crashes}`,
      atMs: clock.wallMs(),
      account: who.account,
      keyId: 'key',
      tenant: who.tenant,
      endpoint: 'chat',
      alias: 'smart',
      tier: who.tier,
      quotaMs,
      costMilli,
      furtherScopes: null,
      inputTokensEstimate: 0,
    });
    const kept = random.next() < 0.25 ? 0 : 1;
    const tokens = Math.floor(random.next() * 200);
    later(random.next() * 90_000, () => settle(request, { kept, tokens, inBooks: 'yes' }));
  }

  function settle(request: Running, end: { kept: number; tokens: number; inBooks: 'yes' | 'no' }): void {
    const { id, who, units } = request;
    const held = request.held!;
    const settledMs = clock.wallMs();
    const costMilli = held.costMilli * end.kept;
    // Twice, as a fault somewhere might: only the first counts.
    counters.settle(held, { costMilli, tokens: end.tokens, usdNano: 0 });
    counters.settle(held, { costMilli: 0, tokens: 999, usdNano: 999 });
    units!.amount = costMilli;
    request.tokens = model.count(settledMs, who.scopes, 'tokens', end.tokens);
    leave(request);
    if (end.inBooks === 'no') return;
    const event = booked(who.account, held.quotaMs, { ...end, costMilli, tenant: who.tenant, tier: who.tier });
    closing.add(request);
    later(random.next() * 20_000, () => {
      closing.delete(request);
      books.settle(id, { ...event, settledMs });
      run.settled++;
    });
  }

  function leave(request: Running): void {
    running.delete(request);
    request.entered.leave();
    request.entered.leave();
  }

  /** Settled, but the books have not committed it. */
  let closing = new Set<Running>();

  /** Everything in memory is gone. Open reservations of the ledger are charged whole, once; unknown ones never ran. */
  function crash(): void {
    run.crashes++;
    const inBooks = new Set(books.openReservations().map(({ requestId }) => requestId));
    for (const request of [...running, ...closing]) {
      const { id, who, units, tokens, held } = request;
      if (tokens !== null) tokens.amount = 0;
      if (units === null || held === null) continue;
      units.amount = inBooks.has(id) ? held.costMilli : 0;
      if (!inBooks.has(id)) continue;
      const { tenant, tier } = who;
      books.settle(id, booked(who.account, held.quotaMs, { costMilli: held.costMilli, tenant, tier }));
      run.crashed++;
    }
    agenda = [];
    running = new Set();
    closing = new Set();
    clock.advance(1_000 + random.next() * 120_000);
    counters = new MemoryCounters({ clock, books });
  }

  function check(): void {
    const open = [...running].filter(({ held }) => held !== null);
    if (counters.gauges().scopes > 0) {
      assert.equal(counters.gauges().holds, open.length, 'open holds');
      for (const who of askers)
        for (const limit of windowLimits(who)) {
          const [state] = readNow(who, limit);
          const { used } = state!;
          assert.equal(
            used,
            model.byBuckets(limit, clock.wallMs()),
            `${limit.scope} ${limit.id}: held = settled + open`,
          );
          if (limit.rule === 'exact') assert.ok(used <= limit.allowed, `${limit.id}: ${used}`);
        }
    }
    for (const { requestId } of books.openReservations())
      assert.ok(!refused.has(requestId), 'refused and in the books');
  }

  /** As `read`, now: a hold of nothing whose limits let everything pass. */
  function readNow(who: Asker, limit: Limit) {
    const id = newRequestId();
    const answer = counters.hold({
      requestId: id,
      account: who.account,
      scopes: [],
      costMilli: 0,
      limits: [{ ...limit, allowed: Number.POSITIVE_INFINITY }],
    });
    assert.ok(!(answer instanceof Promise) && answer.kind === 'held');
    counters.settle(answer, { costMilli: 0, tokens: 0, usdNano: 0 });
    return answer.states;
  }

  for (let i = 0; i < requestsMax; i++) {
    // Mostly one after the other; sometimes a quiet hour, day or week lets windows roll on.
    const chance = random.next();
    const untilMs =
      clock.wallMs() + random.next() * (chance < 0.9 ? 20_000 : chance < 0.97 ? 3 * 3_600_000 : 5 * 86_400_000);
    while (agenda.length > 0 && agenda[0]!.atMs <= untilMs) {
      const { atMs, run: step } = agenda.shift()!;
      clock.advance(Math.max(0, atMs - clock.wallMs()));
      step();
      check();
      if (random.next() < 0.01) crash();
    }
    clock.advance(Math.max(0, untilMs - clock.wallMs()));
    arrive();
    check();
  }
  while (agenda.length > 0) {
    const { atMs, run: step } = agenda.shift()!;
    clock.advance(Math.max(0, atMs - clock.wallMs()));
    step();
    check();
  }

  assert.equal(counters.gauges().holds, 0, 'F52 no hold is left at idle');
  assert.deepEqual(books.openReservations(), [], 'F52 no reservation is left at idle');
  const before = askers.map((who) => windowLimits(who).map((limit) => readNow(who, limit)));
  counters = new MemoryCounters({ clock, books });
  assert.deepEqual(
    askers.map((who) => windowLimits(who).map((limit) => readNow(who, limit))),
    before,
    'the next start knows what this one knew',
  );
  return run;
}
