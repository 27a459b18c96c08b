import type { Distance } from '../../collection.ts';
import type { TopK } from './top-k.ts';
import type { Ranked } from './vector-index.ts';

/**
 * How a distance scores two vectors of f32, summed in f64 and given as f32: every tier answers with these scores, so that a
 * point has the same one in all of them. Vectors of Cosine must be normalised.
 */
export interface ExactScore {
  score(a: Float32Array, b: Float32Array): number;
  /** 1: more is nearer; −1: less is. A score times this is a key (more is nearer). */
  sign: 1 | -1;
}

export function exactScore(distance: Distance): ExactScore {
  switch (distance) {
    case 'Cosine':
    case 'Dot':
      return { score: (a, b) => Math.fround(dot(a, b)), sign: 1 };
    case 'Euclid':
      return { score: (a, b) => Math.fround(Math.sqrt(squares(a, b))), sign: -1 };
    case 'Manhattan':
      return { score: (a, b) => Math.fround(absolute(a, b)), sign: -1 };
  }
}

/** The query as its distance wants it: of length 1 for Cosine. One that is so already, or zero, is the same array. */
export function comparable(distance: Distance, query: Float32Array): Float32Array {
  if (distance !== 'Cosine') return query;
  const square = dot(query, query);
  if (square === 0 || Math.abs(square - 1) < 1e-6) return query;
  const length = Math.sqrt(square);
  return query.map((component) => component / length);
}

export function ranked(top: TopK, sign: 1 | -1): Ranked {
  const { keys, ids } = top.drain();
  // + 0: a distance of −0 is shown as 0.
  for (let i = 0; i < keys.length; i += 1) keys[i] = keys[i]! * sign + 0;
  return { slots: ids, scores: keys };
}

/** A component of a vector: all that are compared are of one length, and `i` is below it. */
function at(vector: Float32Array, i: number): number {
  return vector[i]!;
}

// Four sums each: the additions of one would wait for each other.

export function dot(a: Float32Array, b: Float32Array): number {
  const whole = a.length & ~3;
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    s0 += at(a, i) * at(b, i);
    s1 += at(a, i + 1) * at(b, i + 1);
    s2 += at(a, i + 2) * at(b, i + 2);
    s3 += at(a, i + 3) * at(b, i + 3);
  }
  for (let i = whole; i < a.length; i += 1) s0 += at(a, i) * at(b, i);
  return s0 + s1 + (s2 + s3);
}

function squares(a: Float32Array, b: Float32Array): number {
  const whole = a.length & ~3;
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    const [d0, d1] = [at(a, i) - at(b, i), at(a, i + 1) - at(b, i + 1)];
    const [d2, d3] = [at(a, i + 2) - at(b, i + 2), at(a, i + 3) - at(b, i + 3)];
    s0 += d0 * d0;
    s1 += d1 * d1;
    s2 += d2 * d2;
    s3 += d3 * d3;
  }
  for (let i = whole; i < a.length; i += 1) s0 += (at(a, i) - at(b, i)) ** 2;
  return s0 + s1 + (s2 + s3);
}

function absolute(a: Float32Array, b: Float32Array): number {
  const whole = a.length & ~3;
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    s0 += Math.abs(at(a, i) - at(b, i));
    s1 += Math.abs(at(a, i + 1) - at(b, i + 1));
    s2 += Math.abs(at(a, i + 2) - at(b, i + 2));
    s3 += Math.abs(at(a, i + 3) - at(b, i + 3));
  }
  for (let i = whole; i < a.length; i += 1) s0 += Math.abs(at(a, i) - at(b, i));
  return s0 + s1 + (s2 + s3);
}
