import assert from 'node:assert/strict';
import type { Counters, Full, Held, Limit } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { spans } from '../../src/books/metering/window.ts';
import { type SteppedClock, steppedClock } from '../simulation/stepped-clock.ts';
import { booked, fakeBooks } from '../stores/counter-books.ts';
import { type Asker, newAsker, newRequestId } from '../stores/counter-requests.ts';
import { reservationRow } from '../stores/rows.ts';
import { type Counted, MeteringModel } from './metering-model.ts';

const minuteMs = 60_000;

/** Two keys of one account, each on two tiers: they share some scopes and not others. */
export const askers: readonly Asker[] = ['one', 'two'].flatMap((key) =>
  ['premium', 'standard'].map((tier) => newAsker({ account: 'acme', key, tier })),
);

/** Possible events, in any order. `set` moves the wall clock; `which` picks one of the running requests. */
export type Step =
  | { do: 'hold'; who: number; cost: number }
  | { do: 'settle'; which: number; kept: number; tokens: number }
  | { do: 'pass'; ms: number }
  | { do: 'set'; ms: number }
  | { do: 'crash'; ms: number };

/** The real counters over a ledger, beside the model, on one clock. The rules are asserted at every answer. */
export class Beside {
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
    this.#counters = new MemoryCounters({ clock: this.clock, books: this.#books });
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

  /** As the counters do, it sees the clock only when somebody asks. */
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
      this.#books.open(reservationRow({ requestId, atMs, account, tenant, tier, quotaMs: answer.quotaMs, costMilli }));
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

  /** The process dies and another begins: open requests are charged whole, as in the ledger. */
  crash(downMs: number): void {
    for (const { held, who } of this.#open.splice(0)) {
      const { account, tenant, tier } = who;
      const event = booked(account, held.quotaMs, { costMilli: held.costMilli, tenant, tier });
      this.#books.settle(held.requestId, event);
    }
    this.clock.advance(downMs);
    this.#counters = new MemoryCounters({ clock: this.clock, books: this.#books });
    this.#lastTrueMs = this.clock.monotonicMs();
    this.#quotaMs = this.clock.wallMs();
    const counted = this.model.events.filter(({ amount }) => amount > 0);
    this.#newestBucketMs = Math.max(0, ...counted.map(({ atMs }) => atMs - (atMs % minuteMs)));
  }
}
