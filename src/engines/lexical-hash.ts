/** The start value of a word's hash. */
export const wordSeed = 0x811c9dc5;

/** One step of FNV-1a, over 16 or more bits at once. Part of the model: never changed, as all of this file. */
export function step(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}

/** The hash of a word as `isStopWord` knows it. */
export function wordHash(word: string): number {
  let hash = wordSeed;
  for (let at = 0; at < word.length; at += 1) hash = step(hash, word.charCodeAt(at));
  return hash >>> 0;
}

/** MurmurHash3's finaliser (Austin Appleby, public domain): FNV's low bits alone are poor. */
export function mixed(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
