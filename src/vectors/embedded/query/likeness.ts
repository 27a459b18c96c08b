import type { Distance, VectorSpec } from '../../collection.ts';
import { isMulti, isSparse, type MultiVector, type VectorValue } from '../../point.ts';
import { comparable, exactScore } from '../index/exact-score.ts';
import { sparseDot } from '../index/sparse-score.ts';

/** How alike two vectors of one name are, more is nearer, as Qdrant reckons inside: of Euclid the square of the distance. */
type Likeness = (a: VectorValue, b: VectorValue) => number;

export function likeness(spec: VectorSpec): Likeness {
  switch (spec.kind) {
    case 'dense':
      return denseLikeness(spec.distance) as Likeness;
    case 'multi':
      return maxSim(spec.distance, spec.size) as Likeness;
    case 'sparse':
      return (a, b) => (isSparse(a) && isSparse(b) ? (sparseDot(a, b) ?? 0) : 0);
  }
}

function denseLikeness(distance: Distance): (a: Float32Array, b: Float32Array) => number {
  const { score } = exactScore(distance);
  if (distance === 'Euclid') return (a, b) => -(score(a, b) ** 2);
  if (distance === 'Manhattan') return (a, b) => -score(a, b);
  return score;
}

/** MaxSim: for each of the first's vectors its best match among the other's; the sum of them. */
function maxSim(distance: Distance, size: number): (a: MultiVector, b: MultiVector) => number {
  const alike = denseLikeness(distance);
  return (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.rows; i++) {
      const row = a.numbers.subarray(i * size, (i + 1) * size);
      let best = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < b.rows; j++) best = Math.max(best, alike(row, b.numbers.subarray(j * size, (j + 1) * size)));
      sum += best;
    }
    return sum;
  };
}

/** The vector as `likeness` compares it: rows of Cosine have the length 1. */
export function asCompared(spec: VectorSpec, value: VectorValue): VectorValue {
  if (spec.kind === 'sparse' || isSparse(value) || spec.distance !== 'Cosine') return value;
  if (!isMulti(value)) return comparable(spec.distance, value);
  const { size } = spec;
  const numbers = new Float32Array(value.numbers.length);
  for (let i = 0; i < value.rows; i++) {
    numbers.set(comparable(spec.distance, value.numbers.subarray(i * size, (i + 1) * size)), i * size);
  }
  return { rows: value.rows, numbers };
}
