/** The median ms of `times` runs, one behind the other. */
export async function medianMs(times: number, work: () => Promise<unknown>): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) {
    const startedMs = performance.now();
    await work();
    all.push(performance.now() - startedMs);
  }
  return all.sort((a, b) => a - b)[times >> 1]!;
}
