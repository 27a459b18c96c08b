import type { SparseVector } from '../../point.ts';

/** Sum over the indices that both have; null when there is none: then the vectors do not compare. */
export function sparseDot(a: SparseVector, b: SparseVector): number | null {
  let sum = 0;
  let met = false;
  for (let i = 0, j = 0; i < a.indices.length && j < b.indices.length; ) {
    const difference = a.indices[i]! - b.indices[j]!;
    if (difference === 0) {
      sum += a.values[i++]! * b.values[j++]!;
      met = true;
    } else if (difference < 0) i++;
    else j++;
  }
  return met ? sum : null;
}

/** How much a term weighs that `frequency` of `count` vectors have, as Qdrant's modifier `idf` reckons it. */
export function inverseFrequency(count: number, frequency: number): number {
  return Math.log((count - frequency + 0.5) / (frequency + 0.5) + 1);
}

/** The query, each value times its term's weight. */
export function weighByTerms(query: SparseVector, count: number, frequencyOf: (index: number) => number): SparseVector {
  const values = query.values.map((value, i) => value * inverseFrequency(count, frequencyOf(query.indices[i]!)));
  return { indices: query.indices, values };
}
