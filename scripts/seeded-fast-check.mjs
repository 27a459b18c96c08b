// Stands for fast-check in tests, see seeded-properties.mjs.
import fc from 'fast-check';

fc.configureGlobal({
  seed: Number(process.env.FC_SEED),
  ...(process.env.FC_RUNS && { numRuns: Number(process.env.FC_RUNS) }),
});

export * from 'fast-check';
export default fc;
