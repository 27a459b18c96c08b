import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FailureError } from '../../src/kernel/failure.ts';
import type { Held } from '../../src/metering/counters.ts';
import { bucketAt, bucketLeavesAtMs, spans, windowNames } from '../../src/metering/window.ts';
import { booked } from './counter-books.ts';
import { type CountersUnderTest, counterDrivers } from './counter-drivers.ts';
import {
  enter,
  hold,
  limitOf,
  mustHold,
  mustRefuse,
  newAsker,
  newRequestId,
  stateOf,
  usedOf,
} from './counter-requests.ts';

const unit = 1_000;
const vectorCall = 50;

for (const driver of counterDrivers) {
  const missing = driver.missing();

  /** One case over counters of its own. */
  const over = (title: string, run: (under: CountersUnderTest, t: TestContext) => Promise<void>) =>
    test(`counters over ${driver.name}: ${title}`, { skip: missing ?? false }, async (t) => {
      const under = await driver.create();
      t.after(() => under.remove());
      await run(under, t);
    });

  /** As `over`, where time must pass. */
  const overTime = (
    title: string,
    run: (under: CountersUnderTest & { advance: (ms: number) => void }, t: TestContext) => Promise<void>,
  ) =>
    over(title, async (under, t) => {
      const { advance } = under;
      if (advance === null) return t.skip('its clock is not ours to move');
      await run({ ...under, advance }, t);
    });

  for (const window of windowNames) {
    over(`the ${window} window passes up to its limit and refuses what is above, saying how full it is`, async (t) => {
      const who = newAsker();
      const limit = limitOf(who, 'units', window, 3 * unit);
      const first = await mustHold(t.counters, who, unit, [limit]);
      await mustHold(t.counters, who, unit, [limit]);
      const third = await mustHold(t.counters, who, unit, [limit]);
      assert.equal(third.states[0]!.used, 3 * unit);

      const span = spans[window];
      assert.deepEqual(await mustRefuse(t.counters, who, unit, [limit]), {
        kind: 'full',
        limit: window,
        scope: limit.scope,
        used: 3 * unit,
        allowed: 3 * unit,
        freeAtMs: bucketLeavesAtMs(span, bucketAt(span, first.quotaMs)),
      });
    });
  }

  over('0.05 of a unit is counted exactly: twenty of them are one unit, not one more', async ({ counters }) => {
    const who = newAsker();
    const limits = windowNames.map((name) => limitOf(who, 'units', name, unit));
    for (let i = 0; i < 20; i++) await mustHold(counters, who, vectorCall, limits);
    assert.equal((await mustRefuse(counters, who, vectorCall, limits)).used, unit);
    assert.equal((await mustRefuse(counters, who, 1, limits)).used, unit);
  });

  over('a refusal counts nowhere: all limits or none', async ({ counters }) => {
    const who = newAsker({ tier: 'premium' });
    const wide = limitOf(who, 'units', '5h', 100 * unit);
    const narrow = limitOf(who, 'units', 'week', unit, { scope: who.scopes[2]!, id: 'tier:premium:week' });
    const calls = limitOf(who, 'calls', 'minute', 9 * unit, { scope: who.scopes[2]!, id: 'tier:premium:rpm' });
    await mustHold(counters, who, unit, [calls, wide, narrow]);
    for (let i = 0; i < 5; i++)
      assert.equal((await mustRefuse(counters, who, unit, [calls, wide, narrow])).limit, 'tier:premium:week');
    for (const scope of who.scopes) assert.equal(await usedOf(counters, who, 'units', '5h', scope), unit, scope);
    assert.equal(await usedOf(counters, who, 'calls', 'minute', who.scopes[2]), unit);
  });

  over('of several reached limits the one that frees last is named, with the instant when all pass', async (t) => {
    const who = newAsker();
    const limits = windowNames.map((name) => limitOf(who, 'units', name, unit));
    const held = await mustHold(t.counters, who, unit, limits);
    const full = await mustRefuse(t.counters, who, unit, limits);
    assert.equal(full.limit, 'month');
    assert.equal(full.freeAtMs, bucketLeavesAtMs(spans.month, bucketAt(spans.month, held.quotaMs)));
  });

  over('what costs more than a limit will ever allow is refused without an instant', async ({ counters }) => {
    const who = newAsker();
    const limits = [limitOf(who, 'units', '5h', unit), limitOf(who, 'units', 'month', 10 * unit)];
    const full = await mustRefuse(counters, who, 2 * unit, limits);
    assert.deepEqual([full.limit, full.used, full.allowed, full.freeAtMs], ['5h', 0, unit, null]);
    await mustHold(counters, who, unit, limits);
    const nothing = [limitOf(who, 'units', 'week', 0)];
    assert.equal((await mustRefuse(counters, who, unit, nothing)).freeAtMs, null);
  });

  over(
    'every scope is counted whatever the limits are, so that a new plan finds the windows as they are',
    async (t) => {
      const who = newAsker({ tier: 'premium' });
      const held = await mustHold(t.counters, who, 2 * unit);
      t.counters.settle(held, { costMilli: 2 * unit, tokens: 30, usdNano: 7 });
      for (const scope of who.scopes)
        for (const window of windowNames) {
          assert.equal(await usedOf(t.counters, who, 'units', window, scope), 2 * unit, `${scope} ${window}`);
          assert.equal(await usedOf(t.counters, who, 'tokens', window, scope), 30, `${scope} ${window}`);
          assert.equal(await usedOf(t.counters, who, 'usd', window, scope), 7, `${scope} ${window}`);
        }
      assert.equal(await usedOf(t.counters, who, 'tokens', 'minute'), 30);
      await mustRefuse(t.counters, who, unit, [limitOf(who, 'units', 'week', 2 * unit)]);
      await mustHold(t.counters, who, unit, [limitOf(who, 'units', 'week', 3 * unit)]);
    },
  );

  over('keys share what their account has, and not what each of them has', async ({ counters }) => {
    const one = newAsker({ key: 'one' });
    const two = newAsker({ account: one.account, key: 'two' });
    const other = newAsker();
    const limitsFor = (who: typeof one) => [
      limitOf(who, 'units', '5h', 3 * unit),
      limitOf(who, 'units', 'week', 2 * unit, { scope: who.scopes[1]! }),
    ];
    await mustHold(counters, one, unit, limitsFor(one));
    await mustHold(counters, one, unit, limitsFor(one));
    assert.equal((await mustRefuse(counters, one, unit, limitsFor(one))).limit, 'week');
    await mustHold(counters, two, unit, limitsFor(two));
    assert.equal((await mustRefuse(counters, two, unit, limitsFor(two))).limit, '5h');
    await mustHold(counters, other, unit, limitsFor(other));
  });

  over('a tier has windows and calls of its own', async ({ counters }) => {
    const premium = newAsker({ tier: 'premium' });
    const standard = newAsker({ account: premium.account, tier: 'standard' });
    const limitsFor = (who: typeof premium) => [
      limitOf(who, 'calls', 'minute', unit, { scope: who.scopes[2]!, id: `tier:${who.tier}:rpm` }),
      limitOf(who, 'units', '5h', 2 * unit, { scope: who.scopes[2]!, id: `tier:${who.tier}:5h` }),
    ];
    const held = await mustHold(counters, premium, vectorCall, limitsFor(premium));
    assert.deepEqual(
      held.states.map(({ used }) => used),
      [unit, vectorCall],
    );
    const full = await mustRefuse(counters, premium, vectorCall, limitsFor(premium));
    assert.equal(full.limit, 'tier:premium:rpm');
    assert.equal(full.freeAtMs, bucketLeavesAtMs(spans.minute, bucketAt(spans.minute, held.quotaMs)));
    await mustHold(counters, standard, vectorCall, limitsFor(standard));
  });

  over('states tell the use with this request, and when the oldest of it leaves', async ({ counters }) => {
    const who = newAsker();
    const limits = windowNames.map((name) => limitOf(who, 'units', name, 100 * unit));
    const empty = await counters.read(who.account, limits);
    for (const state of empty) assert.deepEqual(state, { used: 0, leavesAtMs: null });
    const first = await mustHold(counters, who, unit, limits);
    const second = await mustHold(counters, who, 2 * unit, limits);
    for (const [i, name] of windowNames.entries()) {
      const leavesAtMs = bucketLeavesAtMs(spans[name], bucketAt(spans[name], first.quotaMs));
      assert.deepEqual(first.states[i], { used: unit, leavesAtMs }, name);
      assert.deepEqual(second.states[i], { used: 3 * unit, leavesAtMs }, name);
    }
    assert.deepEqual(await counters.read(who.account, limits), second.states);
    assert.deepEqual(await counters.read(who.account, limits), second.states, 'reading counts nothing');
  });

  over('what is given back can be used again, once', async ({ counters }) => {
    const who = newAsker();
    const limits = windowNames.map((name) => limitOf(who, 'units', name, 4 * unit));
    const held = await mustHold(counters, who, 4 * unit, limits);
    await mustRefuse(counters, who, unit, limits);
    counters.settle(held, { costMilli: unit, tokens: 0, usdNano: 0 });
    for (let i = 0; i < 3; i++) counters.settle(held, { costMilli: 0, tokens: 5, usdNano: 5 });
    assert.equal(await usedOf(counters, who, 'units', 'month'), unit);
    assert.equal(await usedOf(counters, who, 'tokens', 'month'), 0, 'only the first settlement counts');
    await mustHold(counters, who, 3 * unit, limits);
    assert.equal((await mustRefuse(counters, who, 1, limits)).used, 4 * unit);
  });

  over('a window whose use was all given back is empty', async ({ counters }) => {
    const who = newAsker();
    const held = await mustHold(counters, who, unit);
    counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
    for (const name of windowNames)
      assert.deepEqual(await stateOf(counters, who, 'units', name), { used: 0, leavesAtMs: null });
  });

  over('a settlement of what was never held counts nothing', async ({ counters }) => {
    const who = newAsker();
    const held = await mustHold(counters, who, unit);
    const stranger: Held = { ...held, requestId: newRequestId() };
    counters.settle(stranger, { costMilli: 0, tokens: 9, usdNano: 9 });
    assert.equal(await usedOf(counters, who, 'units', '5h'), unit);
    assert.equal(await usedOf(counters, who, 'tokens', '5h'), 0);
  });

  over('the same request held twice is counted once', async ({ counters }) => {
    const who = newAsker();
    const limits = [limitOf(who, 'units', '5h', unit)];
    const request = { requestId: newRequestId(), account: who.account, scopes: who.scopes, costMilli: unit, limits };
    const first = await counters.hold(request);
    const again = await counters.hold(request);
    assert.deepEqual([first.kind, again.kind], ['held', 'held']);
    assert.equal(await usedOf(counters, who, 'units', '5h'), unit);
    assert.equal((again as Held).quotaMs, (first as Held).quotaMs);
  });

  over('tokens and USD pass until they are used up, and are known only afterwards', async ({ counters }) => {
    for (const measure of ['tokens', 'usd'] as const) {
      const who = newAsker();
      const limits = [limitOf(who, measure, 'week', 100)];
      const running = [await mustHold(counters, who, unit, limits), await mustHold(counters, who, unit, limits)];
      counters.settle(running[0]!, { costMilli: unit, tokens: 99, usdNano: 99 });
      running.push(await mustHold(counters, who, unit, limits));
      assert.equal(running[2]!.states[0]!.used, 99);
      counters.settle(running[1]!, { costMilli: unit, tokens: 99, usdNano: 99 });
      const full = await mustRefuse(counters, who, unit, limits);
      assert.deepEqual([full.limit, full.used, full.allowed], [`${measure}:week`, 198, 100]);
      assert.ok(full.freeAtMs !== null && full.freeAtMs > running[0]!.quotaMs + spans.week.spanMs);
      assert.equal(await usedOf(counters, who, 'units', 'week'), 3 * unit);
    }
  });

  over('tokens a minute hold back what comes next', async ({ counters }) => {
    const who = newAsker();
    const limits = [limitOf(who, 'tokens', 'minute', 50)];
    const held = await mustHold(counters, who, unit, limits);
    counters.settle(held, { costMilli: unit, tokens: 50, usdNano: 0 });
    const full = await mustRefuse(counters, who, unit, limits);
    assert.equal(full.limit, 'tokens:minute');
    assert.ok(full.freeAtMs! > held.quotaMs + 60_000 && full.freeAtMs! <= held.quotaMs + 62_000);
  });

  over('calls a minute: a call is 1, a vector call 0.05, and a refused one nothing', async ({ counters }) => {
    const who = newAsker();
    const rpm = [limitOf(who, 'calls', 'minute', 2 * unit)];
    const first = await enter(counters, who, { rpm });
    assert.equal(first.kind === 'entered' && first.states[0]!.used, unit);
    for (let i = 0; i < 20; i++)
      assert.equal((await enter(counters, who, { rpm, callMilli: vectorCall })).kind, 'entered');
    for (let i = 0; i < 3; i++) {
      const full = await enter(counters, who, { rpm, callMilli: vectorCall });
      assert.ok(full.kind === 'full', full.kind);
      assert.deepEqual([full.limit, full.used, full.allowed], ['minute', 2 * unit, 2 * unit]);
      assert.ok(full.freeAtMs !== null);
    }
    assert.equal(await usedOf(counters, who, 'calls', 'minute'), 2 * unit);
    assert.equal(await usedOf(counters, who, 'units', '5h'), 0, 'calls are no units');
  });

  over('two limits over the same scope count a call once', async ({ counters }) => {
    const who = newAsker();
    const rpm = [limitOf(who, 'calls', 'minute', 5 * unit), limitOf(who, 'calls', 'minute', 3 * unit, { id: 'own' })];
    const scope = who.scopes[0]!;
    const places = [
      { scope, allowed: 5 },
      { scope, allowed: 4 },
    ];
    for (let i = 0; i < 3; i++) assert.equal((await enter(counters, who, { rpm, places })).kind, 'entered');
    const full = await enter(counters, who, { rpm, places });
    assert.ok(full.kind === 'full');
    assert.equal(full.limit, 'own');
    assert.deepEqual(await counters.running(who.account, [scope]), [3]);
    const tiered = newAsker({ tier: 'premium' });
    const tierRpm = (id: string) => limitOf(tiered, 'calls', 'minute', 9 * unit, { scope: tiered.scopes[2]!, id });
    const held = await mustHold(counters, tiered, unit, [tierRpm('one'), tierRpm('two')]);
    assert.deepEqual(
      held.states.map(({ used }) => used),
      [unit, unit],
    );
  });

  over('so many run at one time, and a place comes back once', async ({ counters }) => {
    const who = newAsker();
    const places = [{ scope: who.scopes[0]!, allowed: 2 }];
    const rpm = [limitOf(who, 'calls', 'minute', 100 * unit)];
    const first = await enter(counters, who, { rpm, places });
    assert.equal((await enter(counters, who, { rpm, places })).kind, 'entered');
    const full = await enter(counters, who, { rpm, places });
    assert.deepEqual(full, {
      kind: 'full',
      limit: 'concurrency',
      scope: who.scopes[0],
      used: 2,
      allowed: 2,
      freeAtMs: null,
    });
    assert.equal(await usedOf(counters, who, 'calls', 'minute'), 2 * unit, 'a refused one is no call');
    assert.ok(first.kind === 'entered');
    first.leave();
    first.leave();
    assert.deepEqual(await counters.running(who.account, who.scopes), [1, 0]);
    assert.equal((await enter(counters, who, { rpm, places })).kind, 'entered');
    assert.equal((await enter(counters, who, { rpm, places })).kind, 'full');
  });

  over('when calls and places are both used up, the calls are named: their instant is known', async ({ counters }) => {
    const who = newAsker();
    const asks = {
      rpm: [limitOf(who, 'calls', 'minute', unit)],
      places: [{ scope: who.scopes[0]!, allowed: 1 }],
    };
    assert.equal((await enter(counters, who, asks)).kind, 'entered');
    const full = await enter(counters, who, asks);
    assert.ok(full.kind === 'full' && full.limit === 'minute' && full.freeAtMs !== null, JSON.stringify(full));
  });

  over('a request without limits enters, and leaves', async ({ counters }) => {
    const who = newAsker();
    const answer = await enter(counters, who, {});
    assert.ok(answer.kind === 'entered');
    assert.deepEqual(answer.states, []);
    answer.leave();
  });

  over('64 parallel callers on the last 10 units: exactly 10 pass', async ({ counters, another }) => {
    const replicas = another === null ? [counters] : [counters, await another(), await another()];
    for (const [cost, before] of [
      [unit, 90],
      [vectorCall, 30],
    ] as const) {
      const who = newAsker({ tier: 'premium' });
      const limits = who.scopes.flatMap((scope) =>
        windowNames.map((name) => limitOf(who, 'units', name, (before + 10) * cost, { scope, id: `${scope}:${name}` })),
      );
      await mustHold(counters, who, before * cost, limits);
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) => hold(replicas[i % replicas.length]!, who, cost, limits)),
      );
      assert.equal(answers.filter(({ kind }) => kind === 'held').length, 10, `${cost} milli-units each`);
      assert.equal(answers.filter(({ kind }) => kind === 'full').length, 54);
      assert.equal(await usedOf(counters, who, 'units', 'month'), (before + 10) * cost);
    }
  });

  over('64 parallel callers for 10 calls and 10 places: exactly 10 enter', async ({ counters }) => {
    const who = newAsker();
    const rpm = [limitOf(who, 'calls', 'minute', 10 * unit)];
    const places = [{ scope: who.scopes[1]!, allowed: 10 }];
    for (const asks of [{ rpm }, { places }]) {
      const answers = await Promise.all(Array.from({ length: 64 }, () => enter(counters, who, asks)));
      assert.equal(answers.filter(({ kind }) => kind === 'entered').length, 10);
    }
  });

  over('what the books know of the past counts from the first request on', async ({ counters, books, nowMs }) => {
    const who = newAsker({ tier: 'premium' });
    const minuteMs = 60_000;
    const hourMs = 60 * minuteMs;
    const spent = { costMilli: unit, tokens: 10, usd: 0.5, tenant: who.tenant, tier: who.tier };
    books.settle('past_1', booked(who.account, nowMs() - 2 * minuteMs, spent));
    books.settle('past_2', booked(who.account, nowMs() - 6 * hourMs, spent));
    books.settle('past_3', booked(who.account, nowMs() - 8 * 24 * hourMs, spent));
    books.settle('past_4', booked(who.account, nowMs() - 31 * 24 * hourMs, spent));
    books.settle('other', booked(newAsker().account, nowMs() - minuteMs, { costMilli: unit }));
    for (const scope of who.scopes)
      for (const [i, name] of windowNames.entries()) {
        assert.equal(await usedOf(counters, who, 'units', name, scope), (i + 1) * unit, `${scope} ${name}`);
        assert.equal(await usedOf(counters, who, 'tokens', name, scope), (i + 1) * 10, `${scope} ${name}`);
        assert.equal(await usedOf(counters, who, 'usd', name, scope), (i + 1) * 500_000_000, `${scope} ${name}`);
      }
    const limits = [limitOf(who, 'units', '5h', 2 * unit)];
    await mustHold(counters, who, unit, limits);
    await mustRefuse(counters, who, unit, limits);
  });

  over('calls of the last minute are known to counters that begin', async ({ counters, books, nowMs }) => {
    const who = newAsker({ tier: 'premium' });
    const colleague = newAsker({ account: who.account, key: 'other' });
    const call = (by: typeof who, agoMs: number) =>
      books.open({
        requestId: newRequestId(),
        bootId: 'boot_before',
        atMs: nowMs() - agoMs,
        account: by.account,
        keyId: 'key_1',
        tenant: by.tenant,
        endpoint: 'chat',
        alias: 'smart',
        tier: by.tier,
        quotaMs: nowMs() - agoMs,
        costMilli: 0,
        inputTokensEstimate: 0,
      });
    call(who, 5_000);
    call(who, 20_000);
    call(who, 90_000);
    call(colleague, 10_000);
    const seen = await Promise.all(who.scopes.map((scope) => usedOf(counters, who, 'calls', 'minute', scope)));
    assert.deepEqual(seen, [3 * unit, 2 * unit, 2 * unit, 2 * unit]);
  });

  over('nobody is let in while the books cannot be read, and everybody once they can', async ({ counters, books }) => {
    const who = newAsker();
    const limits = [limitOf(who, 'units', '5h', unit)];
    books.broken = true;
    const refused = await hold(counters, who, unit, limits);
    assert.equal(refused.kind, 'unavailable');
    assert.ok(
      refused.kind === 'unavailable' && !refused.reason.includes('fake ledger'),
      'its words are for the caller',
    );
    await assert.rejects(
      counters.read(who.account, limits),
      (error) => error instanceof FailureError && error.failure.kind === 'quota-unavailable',
    );
    books.broken = false;
    await mustHold(counters, who, unit, limits);
    await mustRefuse(counters, who, unit, limits);
  });

  overTime('units come back at the named instant, and not a millisecond before', async (t) => {
    for (const name of windowNames) {
      const who = newAsker();
      const limits = [limitOf(who, 'units', name, 2 * unit)];
      await mustHold(t.counters, who, unit, limits);
      t.advance(spans[name].bucketMs * 3);
      await mustHold(t.counters, who, unit, limits);
      const { freeAtMs } = await mustRefuse(t.counters, who, unit, limits);
      t.advance(freeAtMs! - 1 - t.nowMs());
      assert.equal((await mustRefuse(t.counters, who, unit, limits)).freeAtMs, freeAtMs, name);
      t.advance(1);
      await mustHold(t.counters, who, unit, limits);
      const next = await mustRefuse(t.counters, who, unit, limits);
      assert.equal(next.freeAtMs, freeAtMs! + spans[name].bucketMs * 3, 'then the next');
    }
  });

  overTime('a request that needs several units waits until enough have left', async (t) => {
    const who = newAsker();
    const limits = [limitOf(who, 'units', '5h', 5 * unit)];
    for (let i = 0; i < 5; i++) {
      await mustHold(t.counters, who, unit, limits);
      t.advance(60_000);
    }
    const one = (await mustRefuse(t.counters, who, unit, limits)).freeAtMs!;
    const three = (await mustRefuse(t.counters, who, 3 * unit, limits)).freeAtMs!;
    assert.equal(three - one, 2 * 60_000);
  });

  overTime('calls and tokens of a minute leave with it', async (t) => {
    const who = newAsker();
    const rpm = [limitOf(who, 'calls', 'minute', unit)];
    const tpm = [limitOf(who, 'tokens', 'minute', 10)];
    assert.equal((await enter(t.counters, who, { rpm })).kind, 'entered');
    t.counters.settle(await mustHold(t.counters, who, unit, tpm), { costMilli: unit, tokens: 10, usdNano: 0 });
    t.advance(59_999);
    assert.equal((await enter(t.counters, who, { rpm })).kind, 'full');
    await mustRefuse(t.counters, who, unit, tpm);
    t.advance(1_001);
    assert.equal((await enter(t.counters, who, { rpm })).kind, 'entered');
    await mustHold(t.counters, who, unit, tpm);
  });

  overTime('what is given back late goes to the bucket that it came from, or nowhere', async (t) => {
    const who = newAsker();
    const early = await mustHold(t.counters, who, unit);
    t.advance(spans['5h'].spanMs + spans['5h'].bucketMs);
    const late = await mustHold(t.counters, who, unit);
    t.counters.settle(early, { costMilli: 0, tokens: 0, usdNano: 0 });
    assert.equal(await usedOf(t.counters, who, 'units', '5h'), unit, 'the other one is still there');
    assert.equal(await usedOf(t.counters, who, 'units', 'week'), unit);
    assert.deepEqual((await stateOf(t.counters, who, 'units', 'week')).used, unit);
    const span = spans.week;
    assert.equal(
      (await stateOf(t.counters, who, 'units', 'week')).leavesAtMs,
      bucketLeavesAtMs(span, bucketAt(span, late.quotaMs)),
    );
  });

  overTime('tokens count from the instant at which they are known', async (t) => {
    const who = newAsker();
    const held = await mustHold(t.counters, who, unit);
    t.advance(10 * 60_000);
    t.counters.settle(held, { costMilli: unit, tokens: 7, usdNano: 0 });
    const span = spans['5h'];
    const leaves = (atMs: number) => bucketLeavesAtMs(span, bucketAt(span, atMs));
    assert.equal((await stateOf(t.counters, who, 'tokens', '5h')).leavesAtMs, leaves(t.nowMs()));
    assert.equal((await stateOf(t.counters, who, 'units', '5h')).leavesAtMs, leaves(held.quotaMs));
  });
}
