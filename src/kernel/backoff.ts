/** Pause in ms after so many failures in a row: none after 0, `firstMs` after 1, twice as long after each further one. */
export function backoffMs(failures: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  return failures === 0 ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - 1));
}
