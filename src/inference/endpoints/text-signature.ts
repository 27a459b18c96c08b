/**
 * Signatures of texts: a bit for each three letters in a row that a text has. A text that lacks one of the bits of a
 * word does not have the word, so that a search opens only few of all bodies. A text that has them all may still lack it.
 * Never leaves this process unsealed: from bits one could guess words.
 */

/** Bits of the widest signature; a power of two. */
const widestBits = 2 ** 16;
const narrowestBits = 2 ** 9;
/** A signature has at least so many bits for each one that is set: a word of six letters is missed once in 1,000 times. */
const bitsForEach = 4;

/** At most 8 KB, less for shorter texts. `texts` are in lower case. */
export function signatureOf(texts: readonly string[]): Uint8Array {
  const wide = new Uint8Array(widestBits / 8);
  let set = 0;
  for (const text of texts) {
    for (let at = 2; at < text.length; at += 1) {
      const bit = bitOf(text, at);
      const mask = 1 << (bit & 7);
      const byte = wide[bit >>> 3] ?? 0;
      if ((byte & mask) !== 0) continue;
      wide[bit >>> 3] = byte | mask;
      set += 1;
    }
  }
  let bits = widestBits;
  let signature = wide;
  while (bits > narrowestBits && bits / 2 >= set * bitsForEach) {
    bits /= 2;
    signature = folded(signature);
  }
  return signature;
}

/** False: none of the texts of the signature has the word, which is in lower case. */
export function mayHave(signature: Uint8Array, word: string): boolean {
  const last = signature.length * 8 - 1;
  for (let at = 2; at < word.length; at += 1) {
    const bit = bitOf(word, at) & last;
    if (((signature[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** The bit of the letter at this place and the two before it. */
function bitOf(text: string, at: number): number {
  const three = Math.imul(Math.imul(text.charCodeAt(at - 2), 31) + text.charCodeAt(at - 1), 31) + text.charCodeAt(at);
  return Math.imul(three, 0x9e37_79b1) >>> 16;
}

/** Half as long: each bit of the upper half joins that of the lower one. */
function folded(signature: Uint8Array): Uint8Array<ArrayBuffer> {
  const half = new Uint8Array(signature.length / 2);
  for (let at = 0; at < half.length; at += 1) half[at] = (signature[at] ?? 0) | (signature[at + half.length] ?? 0);
  return half;
}
