import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { keysOf, scopeKey } from '../../src/stores/redis/keys.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { fakeBooks } from './counter-books.ts';
import { enter, mustHold, newAsker, usedOf } from './counter-requests.ts';

const unit = 1_000;
/** Longer than Redis may be silent, and shorter than a connection is given up. */
const stallMs = 900;
/** By then it is known to be silent, and is not asked. */
const silentMs = 400;

test('what is given back while Redis answers late', { skip: redisMissing }, async (t) => {
  const redis = await startRedis(t);
  const counters = new RedisCounters({
    url: redis.url,
    booksId: 'late',
    books: fakeBooks('later'),
    rules: { scopesOf, callMilliIn },
    clock: systemClock,
    onTrouble: () => {},
  });
  t.after(() => counters.close());
  await counters.whenReady();

  await t.test('places of requests that end are free as soon as it answers', async () => {
    const who = newAsker();
    const places = [{ scope: who.scopes[0]!, allowed: 2 }];
    const [first, second] = [await enter(counters, who, { places }), await enter(counters, who, { places })];
    assert.ok(first.kind === 'entered' && second.kind === 'entered');
    redis.cli('client', 'pause', String(stallMs), 'all');
    first.leave();
    assert.equal((await enter(counters, who, { places })).kind, 'unavailable');
    await sleep(silentMs);
    second.leave();
    const sinceMs = performance.now();
    // Otherwise they count for 30 s.
    await until('free', async () => (await counters.running(who.account, [who.scopes[0]!]).catch(() => [9]))[0] === 0);
    assert.ok(performance.now() - sinceMs < 15_000);
  });

  await t.test('requests that run while Redis forgets a scope still count in it', async () => {
    const who = newAsker();
    const held = await mustHold(counters, who, 2 * unit);
    assert.equal(redis.cli('del', `${keysOf('late')}${scopeKey(who.account, who.scopes[0]!)}`), '1');
    assert.equal(await usedOf(counters, who, 'units', '5h'), 2 * unit);
    counters.settle(held, { costMilli: unit, tokens: 0, usdNano: 0 });
    await until('settled', async () => (await usedOf(counters, who, 'units', '5h')) === unit);
  });

  await t.test('units of a failed job come back, once', async () => {
    const who = newAsker();
    const held = await mustHold(counters, who, 8 * unit);
    counters.settle(held, { costMilli: 8 * unit, tokens: 0, usdNano: 0 });
    const returned = { ...who, ...held, costMilli: 3 * unit, tokens: 0, usdNano: 0, settledMs: held.quotaMs };
    redis.cli('client', 'pause', String(stallMs), 'all');
    void counters.read(who.account, []).catch(() => {});
    await sleep(silentMs);
    counters.giveBack(returned);
    const used = () => usedOf(counters, who, 'units', '5h');
    await until('given back', async () => (await used().catch(() => 0)) === 5 * unit);
    await sleep(1_200);
    assert.equal(await used(), 5 * unit);
  });
});
