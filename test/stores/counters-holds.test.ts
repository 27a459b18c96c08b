import assert from 'node:assert/strict';
import type { Held } from '../../src/books/metering/counters.ts';
import { bucketAt, bucketLeavesAtMs, spans, windowNames } from '../../src/books/metering/window.ts';
import { hold, limitOf, mustHold, mustRefuse, newAsker, newRequestId, stateOf, usedOf } from './counter-requests.ts';
import { over } from './over-counters.ts';

const unit = 1_000;
const vectorCall = 50;

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

over('every scope is counted whatever the limits are, so that a new plan finds the windows as they are', async (t) => {
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
});

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

over('what is given back leaves the windows that it stood in', async (t) => {
  const { counters } = t;
  const who = newAsker();
  const usdNano = 500_000_000;
  const held = await mustHold(counters, who, 5 * unit, [limitOf(who, 'units', '5h', 9 * unit)]);
  counters.settle(held, { costMilli: 5 * unit, tokens: 700, usdNano });
  await mustHold(counters, who, unit, [limitOf(who, 'units', '5h', 9 * unit)]);
  const { account, scopes, quotaMs } = held;
  const back = { account, scopes, costMilli: 5 * unit, tokens: 700, usdNano, quotaMs, settledMs: t.nowMs() };
  counters.giveBack(back);
  for (const window of windowNames) {
    for (const scope of who.scopes) {
      assert.equal(await usedOf(counters, who, 'units', window, scope), unit);
      assert.equal(await usedOf(counters, who, 'usd', window, scope), 0);
      assert.equal(await usedOf(counters, who, 'tokens', window, scope), 0);
    }
  }
  t.advance?.(spans['5h'].spanMs + spans['5h'].bucketMs);
  counters.giveBack(back);
  if (t.advance !== null) assert.equal(await usedOf(counters, who, 'units', '5h'), 0);
});
