const rounds = 7;
const roundMs = 80;

/** µs of one call, a figure for each of several rounds after a warm-up. */
export function measureUs(call: () => unknown): number[] {
  const results: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    let calls = 0;
    const begin = process.hrtime.bigint();
    const until = performance.now() + roundMs;
    do {
      for (let i = 0; i < 10; i++) call();
      calls += 10;
    } while (performance.now() < until);
    // The first round warms up.
    if (round > 0) results.push(Number(process.hrtime.bigint() - begin) / 1_000 / calls);
  }
  return results;
}
