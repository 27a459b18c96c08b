import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EmbeddingEngine } from './embedding-engine.ts';
import { addFeatures } from './lexical-features.ts';
import { createFeatureSum, type FeatureSum } from './lexical-sum.ts';

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
        addFeatures(normalised(text), sum.add);
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

/** Compatible characters and cases are one. Cut twice: one character may become eighteen. */
function normalised(text: string): string {
  return text.slice(0, lexicalTextMax).normalize('NFKC').toLowerCase().slice(0, lexicalTextMax);
}
