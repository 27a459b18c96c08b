// Loaded before each test file by scripts/test.mjs: properties get the seed of FC_SEED, so that a run can be repeated and
// what is submitted does not hang on chance; `npm run test:fuzz` looks further, with a new seed and ten times the cases.
import { registerHooks } from 'node:module';

const seeded = new URL('./seeded-fast-check.mjs', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'fast-check' && context.parentURL !== seeded
      ? { url: seeded, format: 'module', shortCircuit: true }
      : next(specifier, context),
});
