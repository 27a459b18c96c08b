// Stands for fast-check in tests, see seeded-properties.mjs.
import fc from 'fast-check';

const { FC_SEED, FC_RUNS, FC_SHARE } = process.env;

fc.configureGlobal({ seed: Number(FC_SEED), ...(FC_RUNS && { numRuns: Number(FC_RUNS) }) });

/** fast-check's own, but a property that names its number of cases tries FC_SHARE of it, and no fewer than FC_RUNS. */
export function assert(property, parameters) {
  if (!FC_SHARE || parameters?.numRuns === undefined) return fc.assert(property, parameters);
  const { numRuns } = parameters;
  const share = Math.max(Number(FC_RUNS), Math.ceil(numRuns * Number(FC_SHARE)));
  return fc.assert(property, { ...parameters, numRuns: Math.min(numRuns, share) });
}

export * from 'fast-check';
export default { ...fc, assert };
