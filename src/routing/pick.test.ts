import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../kernel/random.ts';
import { healthOf, type LaneState, newCredentialState, newLaneState } from './lane.ts';
import { affinityOf, hashText, loadOf, type Pickable, pick, rendezvousScore } from './pick.ts';

interface Option extends Pickable {
  id: string;
}

/** An option whose time to first token was just seen to be `firstTokenMs`. */
function option(
  id: string,
  facts: { weight?: number; inFlight?: number; firstTokenMs?: number; failedOf10?: number } = {},
): Option {
  const state: LaneState = newLaneState(id, `${id}#0`, newCredentialState());
  if (facts.firstTokenMs !== undefined) state.firstToken.observe(facts.firstTokenMs, 0);
  state.inFlight = facts.inFlight ?? 0;
  state.awaiting = state.inFlight;
  // The failures come first, and stand apart: what happened last is a success.
  for (let i = 0; i < 60; i++) {
    if (i % 10 < (facts.failedOf10 ?? 0)) state.share.failed('dev/laptop', 0);
    else state.share.succeeded('dev/laptop', 0);
  }
  return { id, weight: facts.weight ?? 1, key: hashText(id), state };
}

/** Share of 4,000 picks that `id` got. */
function share(id: string, options: readonly Option[]): number {
  const random = seededRandom(7);
  let count = 0;
  for (let i = 0; i < 4_000; i++) if (pick(options, null, random, 0).id === id) count++;
  return count / 4_000;
}

const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 0.03, `${actual}`);

test('among equals, weights are shares', () => {
  near(
    share('a', [option('a', { weight: 3, firstTokenMs: 100 }), option('b', { weight: 1, firstTokenMs: 110 })]),
    0.75,
  );
  near(share('a', [option('a'), option('b'), option('c')]), 1 / 3);
});

test('a clearly faster target takes the traffic', () => {
  assert.equal(share('slow', [option('slow', { firstTokenMs: 900 }), option('fast', { firstTokenMs: 100 })]), 0);
});

test('requests in flight count against a target, by its weight', () => {
  const busy = option('busy', { firstTokenMs: 100, inFlight: 9 });
  assert.equal(share('busy', [busy, option('idle', { firstTokenMs: 100 })]), 0);
  const big = option('big', { firstTokenMs: 100, inFlight: 9, weight: 10 });
  assert.equal(share('big', [big, option('small', { firstTokenMs: 100, inFlight: 3 })]), 1);
});

test('a new target is tried at once, but not by all before it has answered', () => {
  const known = option('known', { firstTokenMs: 200 });
  assert.equal(share('new', [known, option('new')]), 1);
  assert.equal(share('new', [known, option('new', { inFlight: 1 })]), 0);
});

test('two choices: the worst of three is never taken', () => {
  const options = [
    option('a', { firstTokenMs: 100 }),
    option('b', { firstTokenMs: 100 }),
    option('c', { firstTokenMs: 5_000 }),
  ];
  assert.equal(share('c', options), 0);
});

test('health weighs squared: what fails 30 % gets half of its share', () => {
  const failing = option('failing', { firstTokenMs: 100, failedOf10: 3 });
  const worth = healthOf(failing.state, 0);
  assert.ok(worth > 0.45 && worth < 0.55, `${worth}`);
  const options = [failing, option('good', { firstTokenMs: 100 }), option('fine', { firstTokenMs: 100 })];
  near(share('failing', options), worth / (2 + worth));
});

test('what comes back carries a tenth of its share at first', () => {
  const back = option('back', { firstTokenMs: 100 });
  back.state.breaker = { at: 'ramp', why: 'failing', step: 0, sinceMs: 0 };
  const options = [back, option('a', { firstTokenMs: 100 }), option('b', { firstTokenMs: 100 })];
  near(share('back', options), 0.1 / 2.1);
});

test('what fails at once does not look fast for that', () => {
  const failing = option('failing', { failedOf10: 7 });
  assert.ok(loadOf(failing.state, 0) > loadOf(option('known', { firstTokenMs: 900 }).state, 0));
  const worth = healthOf(failing.state, 0);
  near(share('failing', [failing, option('known', { firstTokenMs: 900 })]), worth / (1 + worth));
});

test('weight 0 is taken only when nothing else is there', () => {
  const off = option('off', { weight: 0, firstTokenMs: 1 });
  assert.equal(share('off', [off, option('on', { firstTokenMs: 900, inFlight: 50 })]), 0);
  assert.equal(share('off', [off]), 1);
});

test('a conversation stays with its target among equals, up to twice the load, not beyond', () => {
  const affinity = affinityOf('acme', 'hello');
  const random = seededRandom(3);
  const ids = ['a', 'b', 'c'];
  const options = ids.map((id) => option(id, { firstTokenMs: 100 }));
  const own = pick(options, affinity, random, 0);
  for (let i = 0; i < 200; i++) assert.equal(pick(options, affinity, random, 0), own);
  own.state.inFlight = 1;
  for (let i = 0; i < 200; i++) assert.equal(pick(options, affinity, random, 0), own);
  own.state.inFlight = 3;
  const others = new Set(Array.from({ length: 200 }, () => pick(options, affinity, random, 0).id));
  assert.deepEqual(
    [...others].toSorted(),
    ids.filter((id) => id !== own.id),
  );
  // Of two there is nothing to draw.
  const drawn = { ...random, next: () => assert.fail('drawn') };
  assert.notEqual(pick([own, options.find((one) => one !== own)!], affinity, drawn as never, 0), own);
});

test('a conversation stays with a target that fails now and then, and leaves one that fails half of the time', () => {
  const affinity = affinityOf('acme', 'hello');
  const random = seededRandom(3);
  const stays = (failedOf10: number) => {
    const options = ['a', 'b', 'c'].map((id) => option(id, { firstTokenMs: 100 }));
    const id = pick(options, affinity, random, 0).id;
    const now = options.map((one) => (one.id === id ? option(id, { firstTokenMs: 100, failedOf10 }) : one));
    for (const { state } of now) state.inFlight = 1;
    return (
      Array.from({ length: 200 }, () => pick(now, affinity, random, 0)).filter((one) => one.id === id).length / 200
    );
  };
  assert.deepEqual([stays(1), stays(6)], [1, 0]);
});

function winner(affinity: number, ids: readonly string[], weights: readonly number[] = []): string {
  const scored = ids.map((id, i) => ({ id, score: rendezvousScore(affinity, hashText(id), weights[i] ?? 1) }));
  return scored.reduce((best, one) => (one.score > best.score ? one : best)).id;
}

const conversations = Array.from({ length: 4_000 }, (_, i) => affinityOf('acme/app', `conversation ${i}`));

test('FNV-1a as published', () => {
  assert.equal(hashText(''), 0x811c9dc5);
  assert.equal(hashText('a'), 0xe40c292c);
  assert.equal(hashText('foobar'), 0xbf9cf968);
});

test('a conversation keeps its number, and tenants do not share one', () => {
  assert.equal(affinityOf('acme/app', 'hello'), affinityOf('acme/app', 'hello'));
  assert.notEqual(affinityOf('acme/app', 'hello'), affinityOf('other/app', 'hello'));
  assert.notEqual(affinityOf('acme/ap', 'phello'), affinityOf('acme/app', 'hello'));
});

test('conversations spread over targets by weight', () => {
  const ids = ['a/m', 'b/m', 'c/m'];
  const count = conversations.filter((one) => winner(one, ids, [2, 1, 1]) === 'a/m').length;
  assert.ok(Math.abs(count / conversations.length - 0.5) < 0.03, `${count} of ${conversations.length}`);
});

test('when a target leaves, only its own conversations move', () => {
  for (const one of conversations) {
    const before = winner(one, ['a/m', 'b/m', 'c/m']);
    if (before !== 'c/m') assert.equal(winner(one, ['a/m', 'b/m']), before);
  }
});
