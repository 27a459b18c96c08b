const rounds = 9;
const roundMs = 120;

/** Median µs of one call, over several rounds after a warm-up. */
export function measureUs(call: () => unknown): number {
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
  return results.sort((a, b) => a - b)[Math.floor(results.length / 2)]!;
}

export const print = (what: string, us: number) => console.log(`${what.padEnd(60)} ${us.toFixed(2).padStart(9)} µs`);
