import assert from 'node:assert/strict';
import { test } from 'node:test';
import { affinityOf, hashText, rendezvousScore } from './affinity.ts';

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
