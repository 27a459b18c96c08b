import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateLeases } from '../simulation/leases-simulation.ts';
import { redisMissing, startRedis } from '../start-redis.ts';

const runs = 4;

test('replicas that lease headroom die, are cut off, and Redis forgets all: no limit is passed, and what is lost counts', {
  skip: redisMissing,
}, async (t) => {
  const first = Number(process.env.CULVERT_SEED ?? Date.now() % 1_000_000);
  let faults = 0;
  let leased = 0;
  for (let seed = first; seed < first + (process.env.CULVERT_SEED === undefined ? runs : 1); seed += 1) {
    t.diagnostic(`CULVERT_SEED=${seed}`);
    const run = await simulateLeases(t, await startRedis(t), { seed, steps: 900, faults: 'some' });
    t.diagnostic(JSON.stringify(run));
    faults += Math.min(run.crashes, run.partitions, run.flushes);
    leased += run.leased;
  }
  assert.ok(leased > 100, 'many are admitted from leases');
  assert.ok(faults > 0 || process.env.CULVERT_SEED !== undefined, 'all kinds of faults come');
});
