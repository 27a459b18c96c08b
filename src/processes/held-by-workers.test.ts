import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldByWorkers } from './held-by-workers.ts';

/** A worker that adds up what the others hold, as far as it was told. */
function workerOf() {
  const sums: Record<string, number> = {};
  const notify = (_: string, name: string, by: number) => {
    sums[name] = (sums[name] ?? 0) + by;
  };
  return { sums, link: { notify } as never };
}

test('each worker knows what the others hold, also one that comes later, and nothing of the dead', () => {
  const [one, two, late] = [workerOf(), workerOf(), workerOf()];
  let serving = [one, two];
  const held = new HeldByWorkers(() => serving.map(({ link }) => link));
  held.take(one.link, 'bodies', 5);
  held.take(one.link, 'bodies', -2);
  held.take(two.link, 'connections', 1);
  assert.deepEqual([one.sums, two.sums], [{ connections: 1 }, { bodies: 3 }]);
  serving = [one, two, late];
  held.begin(late.link);
  assert.deepEqual(late.sums, { bodies: 3, connections: 1 });
  held.begin(one.link);
  assert.deepEqual(one.sums, { connections: 2 }, 'all but its own');
  serving = [two, late];
  held.end(one.link);
  held.end(one.link);
  assert.deepEqual([two.sums, late.sums], [{ bodies: 0 }, { bodies: 0, connections: 1 }]);
});
