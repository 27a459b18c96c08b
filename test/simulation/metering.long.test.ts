import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MeteringRun, simulateMetering } from './metering-simulation.ts';
import { forEachSeed } from './routing-simulation.ts';

test('F52 whatever is refused, given back, settled late or cut by a crash: held = settled + open, and nothing is left', () => {
  const runs: MeteringRun[] = [];
  forEachSeed(40, (seed) => runs.push(simulateMetering(seed)));
  if (process.env.SIMULATION_SEED !== undefined) return;
  // The runs must reach their subjects.
  for (const what of ['settled', 'refused', 'crashed', 'crashes'] as const)
    assert.ok(runs.filter((run) => run[what] > 0).length > runs.length / 2, `${what} in most runs`);
});
