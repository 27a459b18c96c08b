/**
 * Finds how many rows the bit stage must keep, on the first searches after the bits were made and on searches for
 * stored vectors between them: those are answered without the bits, and it counts which of their results each width
 * would have kept.
 */
export type BitTrial = ReturnType<typeof createBitTrial>;

export const trialSearches = 32;

/** Rows kept for ten results or fewer; for more, as many more. The first that is good enough is taken. */
const keeps = [100, 300, 1_000, 3_000, 10_000] as const;

/** Required share of the results over the whole trial. It is above the promised 0.99, because a trial is a sample. */
const recallMin = 0.995;

/** `ended`: what an earlier trial of the same rows has shown (`result`). */
export function createBitTrial(ended?: number) {
  let left = ended === undefined ? trialSearches : 0;
  let results = 0;
  const hits = keeps.map(() => 0);
  const seen = new Set<number>();
  let chosen: number | null = ended ?? null;

  const widened = (keep: number, k: number): number => Math.max(keep, (keep / 10) * k);

  return {
    /** Its result, to begin another one with; undefined while it runs. */
    get result(): number | null | undefined {
      return left > 0 ? undefined : chosen;
    },
    /** Searches that are still to come. */
    get left(): number {
      return left;
    },
    /** Rows to keep for the best `k`; null: the bits are of no use for this collection. Undefined while the trial runs. */
    keep(k: number): number | null | undefined {
      if (left > 0) return undefined;
      return chosen === null ? null : widened(chosen, k);
    },
    /** False for a query that says nothing new. */
    isNew(query: Float32Array): boolean {
      let sum = 0;
      for (let i = 0; i < query.length; i += 1) sum += query[i]! * (i + 1);
      if (seen.has(sum)) return false;
      seen.add(sum);
      return true;
    },
    /** `isNear`: whether result `i` of the `found` ones would have been kept among `keep` rows. */
    record(found: number, k: number, isNear: (i: number, keep: number) => boolean): void {
      results += found;
      keeps.forEach((keep, at) => {
        for (let i = 0; i < found; i += 1) if (isNear(i, widened(keep, k))) hits[at]! += 1;
      });
      left -= 1;
      if (left === 0) chosen = keeps.find((_keep, at) => hits[at]! >= recallMin * results) ?? null;
    },
  };
}
