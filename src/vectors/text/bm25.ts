import type { SparseVector } from '../point.ts';
import { murmur3 } from './murmur3.ts';
import { englishText, type TextOptions, termsOf } from './text-terms.ts';

/** The built-in sparse model, and the names by which clients of Qdrant and FastEmbed know it. */
export const bm25Model = 'culvert-bm25';
const bm25Names: ReadonlySet<string> = new Set([bm25Model, 'qdrant/bm25', 'Qdrant/bm25', 'bm25']);

export function isBm25(model: string): boolean {
  return bm25Names.has(model);
}

export interface Bm25Options {
  /** How soon a repeated term counts no more; from 0. */
  k: number;
  /** How much long texts are held down, 0 to 1. */
  b: number;
  /** Terms that a text has on average. */
  averageLength: number;
  text: TextOptions;
}

export const bm25Defaults: Bm25Options = { k: 1.2, b: 0.75, averageLength: 256, text: englishText };

/**
 * The BM25 vector of a text: one number a term, by how often it occurs. The collection weighs how rare a term is
 * (`modifier: idf`). The same numbers as Qdrant's and FastEmbed's `Qdrant/bm25`.
 */
export function bm25Document(text: string, { k, b, averageLength, text: options }: Bm25Options): SparseVector {
  const terms = termsOf(text, options);
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  const long = k * (1 - b + (b * terms.length) / averageLength);
  const weights = new Map<number, number>();
  for (const [term, count] of counts) weights.set(numberOf(term), (count * (k + 1)) / (count + long));
  return sparseOf(weights);
}

/** For a query: every term counts the same, however often it occurs. */
export function bm25Query(text: string, { text: options }: Bm25Options): SparseVector {
  return sparseOf(new Map(termsOf(text, options).map((term) => [numberOf(term), 1])));
}

const encoder = new TextEncoder();

function numberOf(term: string): number {
  return Math.abs(murmur3(encoder.encode(term)) | 0);
}

function sparseOf(weights: ReadonlyMap<number, number>): SparseVector {
  const indices = Uint32Array.from(weights.keys()).sort();
  return { indices, values: Float32Array.from(indices, (index) => weights.get(index) ?? 0) };
}
