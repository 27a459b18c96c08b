import type { CacheKey } from '../cache-key.ts';
import type { Observed } from './error-bound.ts';

/** A question that was asked, with what the upstream's answers to others near it have shown. */
export interface KnownQuestion {
  id: string;
  /** Vector of length 1. */
  vector: Float32Array;
  /** The template that was taken out before it was embedded; vectors of another one say nothing. */
  template: string;
  /** The digest under which its answer is kept. */
  answer: string;
  observed: Observed;
}

/** Questions of one place; among more, the best observed stay. */
export const questionsMax = 8;

/** Packs questions as a row of the cache's store has them: those that differ in common words and word order alone. */
export function packQuestions(questions: readonly KnownQuestion[], { scope, digest }: CacheKey): Buffer {
  const rows = questions.map(({ vector, ...question }) => ({
    ...question,
    vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
  }));
  return Buffer.from(JSON.stringify({ key: { scope, digest }, questions: rows }));
}

/** None where the row is damaged, or kept for another key. */
export function unpackQuestions(body: Buffer, { scope, digest }: CacheKey): KnownQuestion[] {
  try {
    const { key, questions } = JSON.parse(body.toString('utf8')) as {
      key: CacheKey;
      questions: (Omit<KnownQuestion, 'vector'> & { vector: string })[];
    };
    if (key.scope !== scope || key.digest !== digest) return [];
    return questions.map(({ vector, ...question }) => {
      // A copy: the vector's bytes must begin at a multiple of four.
      const bytes = new Uint8Array(Buffer.from(vector, 'base64'));
      return { ...question, vector: new Float32Array(bytes.buffer, 0, bytes.byteLength >> 2) };
    });
  } catch {
    return [];
  }
}

export interface NearQuestion {
  question: KnownQuestion;
  /** Cosine, at most 1. */
  similarity: number;
}

/** Further ones are other questions. */
const similarityMin = 0.7;

/** The nearest question of the same template; null: none is near. */
export function nearest(
  questions: readonly KnownQuestion[],
  vector: Float32Array,
  template: string,
): NearQuestion | null {
  let found: NearQuestion | null = null;
  for (const question of questions) {
    if (question.template !== template || question.vector.length !== vector.length) continue;
    const similarity = cosine(question.vector, vector);
    if (similarity >= (found?.similarity ?? similarityMin)) found = { question, similarity };
  }
  return found;
}

/** Similarity of vectors of length 1. */
export function cosine(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return Math.min(1, sum);
}

/** Vectors of length 1; none where one of them is no vector that can be compared. */
export function vectorsOf(rows: readonly (readonly number[])[] | null): Float32Array[] {
  const vectors = (rows ?? []).map((row) => ({ row, length: Math.hypot(...row) }));
  if (vectors.some(({ length }) => !(length > 0 && length < Number.POSITIVE_INFINITY))) return [];
  return vectors.map(({ row, length }) => Float32Array.from(row, (number) => number / length));
}
