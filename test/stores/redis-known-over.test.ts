// Runs with nothing beside it: a file that keeps the thread for a second makes Redis seem gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisMissing } from '../start-redis.ts';
import { counterDrivers } from './counter-drivers.ts';
import { enter, hold, limitOf, mustHold, mustRefuse, newAsker } from './counter-requests.ts';

const unit = 1_000;

/** Whether it was answered before any socket could be read. */
async function isAnsweredHere(asked: () => Promise<{ kind: string }>, kind: string): Promise<boolean> {
  let isLater = false;
  setImmediate(() => {
    isLater = true;
  });
  assert.equal((await asked()).kind, kind);
  return !isLater;
}

test('what Redis has just refused is refused again without asking it', { skip: redisMissing }, async (t) => {
  const under = await counterDrivers.find(({ name }) => name === 'redis')!.create();
  t.after(() => under.remove());
  const { counters } = under;

  await t.test('units, for a moment, and until some are given back here', async () => {
    const who = newAsker();
    const limits = [limitOf(who, 'units', '5h', 2 * unit)];
    const held = await mustHold(counters, who, 2 * unit, limits);
    await mustRefuse(counters, who, unit, limits);
    const again = () => hold(counters, who, unit, limits);
    assert.ok(await isAnsweredHere(again, 'full'));
    assert.equal(await isAnsweredHere(() => hold(counters, who, 1, limits), 'full'), false, 'a smaller request');
    const raised = [limitOf(who, 'units', '5h', 3 * unit)];
    await mustHold(counters, who, unit, raised);
    under.advance?.(251);
    assert.equal(await isAnsweredHere(again, 'full'), false, 'others may have given some back');
    assert.ok(await isAnsweredHere(again, 'full'));
    counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
    await mustHold(counters, who, unit, limits);
  });

  await t.test('calls, until they free', async () => {
    const who = newAsker();
    const rpm = [limitOf(who, 'calls', 'minute', unit)];
    const again = () => enter(counters, who, { rpm });
    assert.equal((await again()).kind, 'entered');
    assert.equal((await again()).kind, 'full');
    under.advance?.(50_000);
    assert.ok(await isAnsweredHere(again, 'full'));
    under.advance?.(11_000);
    assert.equal((await again()).kind, 'entered');
  });
});
