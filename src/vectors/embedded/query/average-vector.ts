import { isMulti, isSparse, type SparseVector, type VectorValue } from '../../point.ts';
import type { ResolvedInput } from './resolve-input.ts';

export interface Examples {
  positive: readonly ResolvedInput[];
  negative: readonly ResolvedInput[];
}

/** Qdrant's average_vector: the mean of the positive examples, moved away from the mean of the negative ones. */
export function averageOf({ positive, negative }: Examples): VectorValue {
  const [first] = positive;
  if (first === undefined) throw new Error('The average has no positive example.');
  if (isSparse(first.vector)) return averageSparse(positive, negative);
  if (isMulti(first.vector)) return joined(positive, negative);
  const size = first.vector.length;
  const liked = mean(positive, size);
  if (negative.length === 0) return liked;
  const disliked = mean(negative, size);
  return liked.map((component, i) => component + component - disliked[i]!);
}

function mean(examples: readonly ResolvedInput[], size: number): Float32Array {
  const sum = new Float64Array(size);
  for (const { vector } of examples) {
    for (let i = 0; i < size; i++) sum[i] = sum[i]! + (vector as Float32Array)[i]!;
  }
  return Float32Array.from(sum, (component) => component / examples.length);
}

function averageSparse(positive: readonly ResolvedInput[], negative: readonly ResolvedInput[]): SparseVector {
  const sums = new Map<number, number>();
  const addAll = (examples: readonly ResolvedInput[], factor: number) => {
    for (const { vector } of examples) {
      const { indices, values } = vector as SparseVector;
      indices.forEach((index, i) => {
        sums.set(index, (sums.get(index) ?? 0) + values[i]! * factor);
      });
    }
  };
  addAll(positive, (negative.length === 0 ? 1 : 2) / positive.length);
  if (negative.length > 0) addAll(negative, -1 / negative.length);
  const indices = Uint32Array.from(sums.keys()).sort();
  return { indices, values: Float32Array.from(indices, (index) => sums.get(index) ?? 0) };
}

/** Multivectors have no mean: all rows are used, those of negative examples negated. */
function joined(positive: readonly ResolvedInput[], negative: readonly ResolvedInput[]): VectorValue {
  const parts = [
    ...positive.map(({ vector }) => vector),
    ...negative.map(({ vector }) => {
      const multi = vector as Extract<VectorValue, { rows: number }>;
      return { rows: multi.rows, numbers: multi.numbers.map((number) => -number) };
    }),
  ] as Extract<VectorValue, { rows: number }>[];
  const numbers = new Float32Array(parts.reduce((sum, part) => sum + part.numbers.length, 0));
  let at = 0;
  for (const part of parts) {
    numbers.set(part.numbers, at);
    at += part.numbers.length;
  }
  return { rows: parts.reduce((sum, part) => sum + part.rows, 0), numbers };
}
