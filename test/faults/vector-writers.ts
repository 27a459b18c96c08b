/** Agreements between the killed store and the test that kills it. */
export const writers = 8;
export const batchSize = 5;

/** Two writers share a collection, so that their calls meet in one commit. */
export function tenantOf(writer: number): string {
  return `tenant-${writer % 4}`;
}
