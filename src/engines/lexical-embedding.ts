import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EmbeddingEngine } from './embedding-engine.ts';
import { addFeatures } from './lexical-features.ts';

export const lexicalModel = 'culvert-lexical-1024';
export const lexicalDimensions = 1_024;

/** UTF-16 code units of one text that count, before and after normalisation; the rest of a longer text is left out. */
export const lexicalTextMax = 65_536;

/** How much text is done in one turn of the loop: some 5 ms. A longer single text is one turn. */
const sliceChars = 32_768;

/**
 * Vectors of which words and word parts a text has: real, of no language in particular, and lexical. Texts with the
 * same words, forms of them or slips of the pen are near each other; synonyms are not. The same text gives the same
 * vector on every machine and in every version of Culvert: what would change a vector is a model of another name.
 */
export function createLexicalEmbedding(): EmbeddingEngine {
  // Five megabytes, for its users.
  let sum: FeatureSum | null = null;

  return {
    model: lexicalModel,
    dimensions: lexicalDimensions,
    async embed(_tenant, texts) {
      sum ??= createFeatureSum(lexicalDimensions);
      const rows = new Float32Array(texts.length * lexicalDimensions);
      let chars = 0;
      for (const [at, text] of texts.entries()) {
        // Compatible characters and cases are one. Cut twice: one character may become eighteen.
        addFeatures(text.slice(0, lexicalTextMax).normalize('NFKC').toLowerCase().slice(0, lexicalTextMax), sum.add);
        sum.take(rows.subarray(at * lexicalDimensions, (at + 1) * lexicalDimensions));
        chars += Math.min(text.length, lexicalTextMax);
        if (chars < sliceChars || at === texts.length - 1) continue;
        chars = 0;
        await nextTurn();
      }
      return rows;
    },
  };
}

/** Adds up the features of one text after another. The features of the longest text bound its memory. */
type FeatureSum = ReturnType<typeof createFeatureSum>;

/** A power of two, for the mask; above it no new feature of a text is taken, which no text of allowed length reaches. */
const tableSlots = 262_144;
const featuresMax = 229_376;

/** Sums into vectors of `dimensions` numbers, a power of two. */
function createFeatureSum(dimensions: number) {
  // Counts before the hash is folded: twice the same word is less than two different ones.
  const hashes = new Uint32Array(tableSlots);
  const counts = new Uint32Array(tableSlots);
  const weights = new Float64Array(tableSlots);
  // In the order of their coming, so that sums are rounded alike everywhere.
  const used = new Uint32Array(featuresMax);
  let usedCount = 0;
  const sums = new Float64Array(dimensions);

  return {
    /** One occurrence. Of a feature that came before, the weight is that of its first. */
    add(hash: number, weight: number): void {
      const key = hash >>> 0;
      // The high bits: the low ones are the vector's own.
      let slot = (key >>> 14) & (tableSlots - 1);
      while (counts[slot] !== 0) {
        if (hashes[slot] === key) {
          counts[slot]! += 1;
          return;
        }
        slot = (slot + 1) & (tableSlots - 1);
      }
      if (usedCount === featuresMax) return;
      hashes[slot] = key;
      counts[slot] = 1;
      weights[slot] = weight;
      used[usedCount] = slot;
      usedCount += 1;
    },
    /** Writes the unit vector of everything added since the last one, and begins anew. */
    take(row: Float32Array): void {
      sums.fill(0);
      for (let at = 0; at < usedCount; at += 1) {
        const slot = used[at]!;
        const hash = hashes[slot]!;
        // The square root and not a logarithm: IEEE 754 says its last bit, so every machine has the same.
        const value = weights[slot]! * Math.sqrt(counts[slot]!);
        // The sign lets features that share a place cancel instead of adding up.
        sums[hash & (dimensions - 1)]! += hash & 0x8000_0000 ? -value : value;
        counts[slot] = 0;
      }
      usedCount = 0;
      let squares = 0;
      for (const value of sums) squares += value * value;
      const length = Math.sqrt(squares);
      if (length === 0) row.fill(0)[0] = 1;
      else for (let at = 0; at < dimensions; at += 1) row[at] = sums[at]! / length;
    },
  };
}
