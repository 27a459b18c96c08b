/** A sentence's end, with the white space behind it. */
const sentenceEnd = /[.!?…][")'\]]*\s+|[。！？]|\n\s*/g;
/** A text without ends is cut here. */
const sentenceCharsMax = 400;

/** The sentences of a text and its lines, without those of white space alone. */
export function sentencesIn(text: string): { start: number; end: number }[] {
  const ends = Array.from(text.matchAll(sentenceEnd), (match) => match.index + match[0].length);
  const found: { start: number; end: number }[] = [];
  let start = 0;
  for (const end of [...ends, text.length]) {
    for (; start < end; start = Math.min(end, start + sentenceCharsMax)) {
      const to = Math.min(end, start + sentenceCharsMax);
      if (text.slice(start, to).trim() !== '') found.push({ start, end: to });
    }
  }
  return found;
}
