import assert from 'node:assert/strict';
import { endless } from '../../src/kernel/limits.ts';

import { until } from '../until.ts';
import { enter, limitOf, mustHold, newAsker, usedOf } from './counter-requests.ts';
import { over } from './over-counters.ts';

const unit = 1_000;
const vectorCall = 50;

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

over('requests that run already count in a limit of places that is set meanwhile', async ({ counters, another }) => {
  const who = newAsker();
  const [scope = '', ofKey = ''] = who.scopes;
  const unlimited = [
    { scope, allowed: endless },
    { scope: ofKey, allowed: endless },
  ];
  const limited = (allowed: number) => [
    { scope, allowed: endless },
    { scope: ofKey, allowed },
  ];
  const left = await enter(counters, who, { places: unlimited });
  const first = await enter(counters, who, { places: unlimited });
  const second = await enter(counters, who, { places: unlimited });
  assert.ok(left.kind === 'entered' && first.kind === 'entered' && second.kind === 'entered');
  assert.deepEqual(await counters.running(who.account, [scope, ofKey]), [3, 3], 'they show though nothing limits them');
  left.leave();
  const refused = await enter(counters, who, { places: limited(2) });
  assert.ok(refused.kind === 'full', refused.kind);
  assert.deepEqual([refused.scope, refused.used, refused.allowed], [ofKey, 2, 2]);
  const third = await enter(counters, who, { places: limited(3) });
  assert.ok(third.kind === 'entered');
  // Elsewhere, where the limit is not known yet.
  const elsewhere = await another?.();
  const fourth = await enter(elsewhere ?? counters, who, { places: unlimited });
  await elsewhere?.sweepAll();
  assert.deepEqual(await counters.running(who.account, [ofKey]), [4]);
  assert.equal((await enter(counters, who, { places: limited(4) })).kind, 'full');
  for (const one of [first, first, second, third, fourth]) if (one.kind === 'entered') one.leave();
  await until('all have left', async () => (await counters.running(who.account, [ofKey]))[0] === 0);
  assert.equal((await enter(counters, who, { places: limited(1) })).kind, 'entered');
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

over('64 parallel callers for 10 calls and 10 places: exactly 10 enter', async ({ counters }) => {
  const who = newAsker();
  const rpm = [limitOf(who, 'calls', 'minute', 10 * unit)];
  const places = [{ scope: who.scopes[1]!, allowed: 10 }];
  for (const asks of [{ rpm }, { places }]) {
    const answers = await Promise.all(Array.from({ length: 64 }, () => enter(counters, who, asks)));
    assert.equal(answers.filter(({ kind }) => kind === 'entered').length, 10);
  }
});
