import { setImmediate as turn } from 'node:timers/promises';
import { type Check, contextChars, type Finding, findingsIn, openAt } from '../../guards/check.ts';

/** What is looked through at a stretch: the slowest check takes 3 ms for so many characters. */
const stretchChars = 16 * 1024;

/** The findings of each text. After a stretch others on the loop have their turn, however much one caller sends. */
export async function findingsOf(check: Check, texts: readonly string[]): Promise<Finding[][]> {
  const found: Finding[][] = [];
  let chars = 0;
  for (const text of texts) {
    const ofText: Finding[] = [];
    let from = 0;
    for (let end = 0; end < text.length; ) {
      const start = Math.max(0, from - contextChars);
      end = Math.min(text.length, Math.max(from, end) + stretchChars);
      const seen = text.slice(start, end);
      const before = end === text.length ? seen.length : openAt(check, seen, from - start);
      const some = findingsIn(check, seen, from - start, before);
      for (const finding of some) ofText.push(movedBy(start, finding));
      from = start + Math.max(before, some.at(-1)?.end ?? 0);
      chars += end - start;
      if (chars < stretchChars) continue;
      chars = 0;
      await turn();
    }
    found.push(ofText);
  }
  return found;
}

function movedBy(chars: number, { kind, start, end, since }: Finding): Finding {
  return { kind, start: start + chars, end: end + chars, ...(since !== undefined && { since: since + chars }) };
}
