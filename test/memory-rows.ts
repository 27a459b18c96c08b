import { seededRandom } from '../src/kernel/random.ts';
import type { Distance } from '../src/vectors/collection.ts';
import type { Ranked, RowSource } from '../src/vectors/embedded/index/vector-index.ts';
import { unwatched } from '../src/vectors/embedded/row-watch.ts';

/** Rows of a collection in a map, with the plainest search there is over them. */
export interface MemoryRows extends RowSource {
  vector(slot: number): Float32Array;
  set(slot: number, vector: Float32Array): void;
  delete(slot: number): void;
  slots(): number[];
  bruteForce(distance: Distance, query: Float32Array, k: number, slots?: Iterable<number>): Ranked;
  /** How often a single row was read. */
  reads: number;
}

export function createMemoryRows(): MemoryRows {
  const vectors = new Map<number, Float32Array>();
  const ascending = (): number[] => [...vectors.keys()].sort((a, b) => a - b);
  return {
    reads: 0,
    count: () => vectors.size,
    vector(slot) {
      this.reads += 1;
      const vector = vectors.get(slot);
      if (vector === undefined) throw new Error(`no row in slot ${slot}`);
      return vector;
    },
    each(visit) {
      for (const slot of ascending()) visit(slot, vectors.get(slot)!);
      return null;
    },
    watch: unwatched,
    set: (slot, vector) => void vectors.set(slot, vector),
    delete: (slot) => void vectors.delete(slot),
    slots: ascending,
    bruteForce(distance, query, k, slots = ascending()) {
      const wanted = distance === 'Cosine' ? normalised(query) : query;
      const sign = distance === 'Cosine' || distance === 'Dot' ? -1 : 1;
      const all = [...slots].map((slot) => ({ slot, score: Math.fround(score(distance, wanted, vectors.get(slot)!)) }));
      all.sort((a, b) => (a.score - b.score) * sign || a.slot - b.slot);
      const best = all.slice(0, k);
      return { slots: Uint32Array.from(best, (r) => r.slot), scores: Float64Array.from(best, (r) => r.score) };
    },
  };
}

function score(distance: Distance, a: Float32Array, b: Float32Array): number {
  let sum = 0;
  switch (distance) {
    case 'Cosine':
    case 'Dot':
      for (let i = 0; i < a.length; i += 1) sum += a[i]! * b[i]!;
      return sum;
    case 'Euclid':
      for (let i = 0; i < a.length; i += 1) sum += (a[i]! - b[i]!) * (a[i]! - b[i]!);
      return Math.sqrt(sum);
    case 'Manhattan':
      for (let i = 0; i < a.length; i += 1) sum += Math.abs(a[i]! - b[i]!);
      return sum;
  }
}

export function normalised(vector: Float32Array): Float32Array {
  let square = 0;
  for (let i = 0; i < vector.length; i += 1) square += vector[i]! * vector[i]!;
  const length = Math.sqrt(square);
  if (length === 0) return vector;
  const unit = new Float32Array(vector.length);
  for (let i = 0; i < vector.length; i += 1) unit[i] = vector[i]! / length;
  return unit;
}

/** Vectors as models make them (`clusters` of them around a common mean), or without any order (`clusters: 0`). */
export function vectorMaker(size: number, options: { seed: number; clusters: number }): () => Float32Array {
  const random = seededRandom(options.seed);
  const component = () => random.next() - 0.5;
  const mean = Float32Array.from({ length: size }, component);
  const centres = Array.from({ length: options.clusters }, () => Float32Array.from({ length: size }, component));
  return () => {
    const centre = centres[Math.floor(random.next() * centres.length)];
    const vector = new Float32Array(size);
    for (let i = 0; i < size; i += 1) {
      vector[i] = centre === undefined ? component() : mean[i]! + centre[i]! + component() * 0.8;
    }
    return vector;
  };
}
