/**
 * How many of `all` cases a test with a loop of its own tries: `npm test` the share that it tries of properties too
 * (scripts/seeded-fast-check.mjs), a file that is run by itself all of them.
 */
export function casesOf(all: number): number {
  const { FC_SHARE, FC_RUNS } = process.env;
  return FC_SHARE === undefined
    ? all
    : Math.min(all, Math.max(Number(FC_RUNS ?? 1), Math.ceil(all * Number(FC_SHARE))));
}
