import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';
import { lanesMax } from './health.ts';

test('a reload keeps what is known of targets that stay and forgets the others', () => {
  const { health, run, open, standing } = setUp();
  for (const id of ['a/m', 'b/m']) open(laneOf(health, targetOf(id)));
  run(laneOf(health, targetOf('c/m')), 'rate_limited', { retryAfterMs: 60_000 });
  health.retain([targetOf('a/m', { weight: 5 })]);
  assert.deepEqual(
    ['a/m', 'b/m', 'c/m'].map((id) => standing(laneOf(health, targetOf(id)))),
    ['refused', 'ready', 'ready'],
  );
});

test('a reload keeps what is known of a target in another use, whatever its name', () => {
  const { health, open, standing } = setUp();
  const ids = ['a/m', 'a/m (videos)', 'a/big (old)', 'b/m (videos)'];
  for (const id of ids) open(laneOf(health, { ...targetOf(id.replace(' (videos)', '')), healthId: id }));
  health.retain([targetOf('a/m'), targetOf('a/big (old)')]);
  assert.deepEqual(
    ids.map((id) => standing(laneOf(health, { ...targetOf(id.replace(' (videos)', '')), healthId: id }))),
    ['refused', 'refused', 'refused', 'ready'],
  );
});

test('a request that outlives a reload still ends well', () => {
  const { health, now } = setUp();
  const lane = laneOf(health, targetOf('a/m'));
  const attempt = {};
  health.began(lane, attempt, 600_000, now());
  health.retain([]);
  health.ended(lane, attempt, endOf('ok'), now());
  assert.equal(laneOf(health, targetOf('a/m')).state.inFlight, 0);
});

test('names that callers invent do not pile up; a running attempt’s lane stays', () => {
  const { health, now } = setUp();
  const busy = targetOf('busy/m');
  health.began(laneOf(health, busy), {}, 600_000, now());
  for (let i = 0; i < lanesMax * 2; i++) health.lanes(targetOf(`a/invented-${i}`));
  const kept = health.snapshot(now());
  assert.ok(kept.length <= lanesMax);
  assert.equal(kept.find((lane) => lane.target === 'busy/m')?.inFlight, 1);
});

test('a target whose lane made room for others is counted again when it comes back', () => {
  const { health, now } = setUp();
  const first = targetOf('a/first');
  laneOf(health, first);
  for (let i = 0; i < lanesMax; i++) health.lanes(targetOf(`a/invented-${i}`));
  health.began(laneOf(health, first), {}, 600_000, now());
  assert.equal(health.snapshot(now()).find(({ target }) => target === 'a/first')?.inFlight, 1);
});

test('where all lanes are busy, the oldest is forgotten, and its requests still end', () => {
  const { health, now } = setUp();
  const lanes = Array.from({ length: lanesMax + 3 }, (_, nth) => {
    const lane = laneOf(health, targetOf(`a/m${nth}`));
    health.began(lane, lane, 600_000, now());
    return lane;
  });
  const kept = health.snapshot(now()).map(({ target }) => target);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [lanesMax, 'a/m3', `a/m${lanesMax + 2}`]);
  health.ended(lanes[0]!, lanes[0]!, endOf('ok'), now());
  assert.equal(lanes[0]!.state.inFlight, 0);
});
