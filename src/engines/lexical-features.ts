import { charClass } from './lexical-characters.ts';
import { mixed, step, wordSeed } from './lexical-hash.ts';
import { isStopWord } from './lexical-stop-words.ts';

/** Takes one occurrence of a feature: a well mixed 32-bit hash, and what one occurrence weighs. */
export type TakeFeature = (hash: number, weight: number) => void;

const wordWeight = 1;
const stopWordWeight = 0.12;
const wordPairWeight = 0.4;
/** Together the parts of a word of ten letters weigh about what the word does: a slip of the pen keeps half of it. */
const partWeights: readonly (readonly [length: number, weight: number])[] = [
  [3, 0.22],
  [4, 0.22],
];
const signWeight = 0.6;
const signPairWeight = 1;

/** Only the first letters of a longer run have parts: it is a blob rather than a word. */
const partedCharsMax = 48;

// Each kind of feature starts from a different number, so that the word `abc` is not the part `abc`.
const pairSeed = 0x3c6ef372;
const partSeed = 0xa54ff53a;
const signSeed = 0x510e527f;
const otherSeed = 0x9b05688c;

/** Word borders in parts; no text has this character after normalisation to words. */
const border = 0x20;

/**
 * The features of a normalised text: words, pairs of neighbours, parts of words; in scripts that part no words, signs
 * and pairs of signs. A text without any gives its characters.
 */
export function addFeatures(text: string, take: TakeFeature): void {
  let found = 0;
  let previous = 0;
  let previousIsStop = true;
  let at = 0;
  while (at < text.length) {
    const kind = charClass(text.charCodeAt(at));
    if (kind === 'between') {
      at += 1;
      continue;
    }
    found += 1;
    const start = at;
    if (kind === 'sign') {
      at = takeSigns(text, start, take);
      previous = 0;
      continue;
    }
    let hash = wordSeed;
    while (at < text.length && charClass(text.charCodeAt(at)) === 'letter') {
      hash = step(hash, text.charCodeAt(at));
      at += 1;
    }
    const word = mixed(hash);
    const stop = isStopWord(hash >>> 0);
    take(word, stop ? stopWordWeight : wordWeight);
    if (!stop) takeParts(text, start, Math.min(at, start + partedCharsMax), take);
    if (previous !== 0 && !(stop && previousIsStop)) take(mixed(step(step(pairSeed, previous), word)), wordPairWeight);
    previous = word;
    previousIsStop = stop;
  }
  if (found === 0) for (let one = 0; one < text.length; one += 1) take(mixed(step(otherSeed, text.charCodeAt(one))), 1);
}

/** A run of signs: each of them, and each with the one before it. Returns where it ends. */
function takeSigns(text: string, start: number, take: TakeFeature): number {
  let at = start;
  let previous = 0;
  while (at < text.length && charClass(text.charCodeAt(at)) === 'sign') {
    const code = text.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    take(mixed(step(signSeed, code)), signWeight);
    if (previous !== 0) take(mixed(step(step(signSeed, previous), code)), signPairWeight);
    previous = code;
  }
  return at;
}

/** The word's parts of three and four characters; its borders count as characters. */
function takeParts(text: string, start: number, end: number, take: TakeFeature): void {
  for (const [length, weight] of partWeights) {
    for (let first = start - 1; first + length <= end + 1; first += 1) {
      let hash = step(partSeed, length);
      for (let at = first; at < first + length; at += 1) {
        hash = step(hash, at < start || at >= end ? border : text.charCodeAt(at));
      }
      take(mixed(hash), weight);
    }
  }
}
