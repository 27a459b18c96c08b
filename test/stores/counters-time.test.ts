import assert from 'node:assert/strict';
import { bucketAt, bucketLeavesAtMs, spans, windowNames } from '../../src/books/metering/window.ts';
import { enter, limitOf, mustHold, mustRefuse, newAsker, stateOf, usedOf } from './counter-requests.ts';
import { overTime } from './over-counters.ts';

const unit = 1_000;

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
  await t.counters.read(who.account, tpm);
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
