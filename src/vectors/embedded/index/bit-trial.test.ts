import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBitTrial, trialSearches } from './bit-trial.ts';

/** A trial in which the result at `worst` needs as many rows kept, the others none. */
function trialOf(needs: (search: number) => number) {
  const trial = createBitTrial();
  for (let search = 0; search < trialSearches; search += 1) {
    assert.equal(trial.keep(10), undefined);
    trial.record(10, 10, (i, keep) => i > 0 || keep >= needs(search));
  }
  return trial;
}

test('the smallest width that keeps what is found is taken, and as many more rows as more results are wanted', () => {
  assert.equal(trialOf(() => 500).keep(10), 1_000);
  assert.equal(trialOf(() => 500).keep(1), 1_000);
  assert.equal(trialOf(() => 500).keep(50), 5_000);
  assert.equal(trialOf(() => 2_500).keep(10), 3_000);
  assert.equal(trialOf(() => 9_000).keep(20), 20_000);
});

test('one miss of all results is let pass, two are not', () => {
  assert.equal(trialOf((search) => (search === 0 ? 20_000 : 0)).keep(10), 100);
  assert.equal(trialOf((search) => (search < 2 ? 2_000 : 0)).keep(10), 3_000);
});

test('bits that would lose results at every width are of no use', () => {
  assert.equal(trialOf(() => 20_000).keep(10), null);
});

test('the same search again is nothing new', () => {
  const trial = createBitTrial();
  assert.equal(trial.isNew(Float32Array.of(1, 2, 3)), true);
  assert.equal(trial.isNew(Float32Array.of(1, 2, 3)), false);
  assert.equal(trial.isNew(Float32Array.of(2, 1, 3)), true);
});
