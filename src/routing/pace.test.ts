import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FirstTokenPace } from './pace.ts';

const maxMs = 1_000;

function late(atMs = 0): FirstTokenPace {
  const pace = new FirstTokenPace(maxMs);
  for (let i = 0; i < 3; i++) pace.observe(2_000, atMs);
  return pace;
}

test('F73 three late first tokens of five put a target behind, two do not', () => {
  const pace = new FirstTokenPace(maxMs);
  for (const ms of [2_000, 100, 2_000, 100, 1_000]) pace.observe(ms, 0);
  assert.equal(pace.isBehind('stream', 0), false);
  for (const ms of [2_000, 2_000]) pace.observe(ms, 0);
  assert.equal(pace.isBehind('stream', 0), true);
});

test('F73 one stream looks at a late target after 5 s, and more rarely after each look in vain, 30 s at most', () => {
  const pace = late();
  let atMs = 0;
  for (const everyMs of [5_000, 10_000, 20_000, 30_000, 30_000]) {
    assert.equal(pace.isBehind('stream', atMs + everyMs - 1), true);
    atMs += everyMs;
    assert.equal(pace.isBehind('stream', atMs), false);
    pace.streamSent(atMs);
    assert.equal(pace.isBehind('stream', atMs), true, 'while one looks, others do not');
    pace.observe(2_000, atMs);
  }
});

test('F73 three good looks in a row bring it back, clearly below the maximum', () => {
  const pace = late();
  let atMs = 0;
  const look = (ms: number) => {
    // However rare its looks are by now.
    atMs += 60_000;
    assert.equal(pace.isBehind('stream', atMs), false);
    pace.observe(ms, atMs);
    return pace.isBehind('stream', atMs);
  };
  assert.equal(look(500), true);
  assert.equal(look(900), true, 'as slow as the maximum: in vain');
  assert.equal(look(500), true);
  assert.equal(look(500), true);
  assert.equal(look(500), false);
  pace.observe(2_000, atMs);
  assert.equal(pace.isBehind('stream', atMs), false, 'one late token is no news');
});

test('F73 a target that is late again within ten minutes is looked at more rarely from the start', () => {
  const pace = late();
  let atMs = 5_000;
  for (let i = 0; i < 3; i++, atMs += 1_000) pace.observe(500, atMs);
  for (let i = 0; i < 3; i++) pace.observe(2_000, atMs);
  assert.equal(pace.isBehind('stream', atMs + 9_999), true);
  assert.equal(pace.isBehind('stream', atMs + 10_000), false);
});

test('F73 whole answers take no look, and avoid a late target until nobody has looked for five minutes', () => {
  const pace = late();
  assert.equal(pace.isBehind('whole', 5_000), true);
  assert.equal(pace.isBehind('whole', 304_999), true);
  assert.equal(pace.isBehind('whole', 305_000), false);
});
