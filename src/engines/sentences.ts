/** Longer ones are parted, so that the first sound never waits for a whole chapter, nor a model for its memory. */
const sentenceCharsMax = 300;
/** `Dr.` alone is not a sentence, and it sounds better together with the next words. */
const sentenceCharsMin = 24;

let segmenter: Intl.Segmenter | null = null;

/** A text in the order of its sentences, trimmed, none empty; for engines that speak one after another. */
export function sentencesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' });
  const sentences: string[] = [];
  let short = '';
  for (const paragraph of text.split(/\n\s*\n/)) {
    for (const { segment } of segmenter.segment(paragraph)) {
      const joined = short + segment;
      if (joined.trim().length < sentenceCharsMin) {
        short = joined;
        continue;
      }
      short = '';
      sentences.push(...parted(joined.trim()));
    }
    if (short.trim() !== '') sentences.push(short.trim());
    short = '';
  }
  return sentences;
}

/** After a comma or the like, else between words, else anywhere but inside a character. */
function parted(sentence: string): string[] {
  const parts: string[] = [];
  let rest = sentence;
  while (rest.length > sentenceCharsMax) {
    const head = rest.slice(0, sentenceCharsMax);
    const pause = lastMatch(head, /[,;:–—،、，；](?=\s|$|[^\d\s])/g);
    const blank = head.lastIndexOf(' ');
    let end = pause > sentenceCharsMax / 3 ? pause + 1 : blank > sentenceCharsMax / 3 ? blank : sentenceCharsMax;
    if (/[\uD800-\uDBFF]/.test(rest.charAt(end - 1))) end -= 1;
    parts.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  parts.push(rest);
  return parts.filter((part) => part !== '');
}

function lastMatch(text: string, pattern: RegExp): number {
  let last = -1;
  for (const { index } of text.matchAll(pattern)) last = index;
  return last;
}
