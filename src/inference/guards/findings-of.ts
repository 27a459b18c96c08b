import { setImmediate as turn } from 'node:timers/promises';
import { type Check, type Finding, findingsIn, openAt } from '../../guards/check.ts';
import { HeldText } from '../../guards/held-text.ts';

/** Characters that are checked at a stretch: the slowest check takes 3 ms for so many characters. */
const stretchChars = 16 * 1024;

/** The findings of each text. After a stretch others on the loop have their turn, however much one caller sends. */
export async function findingsOf(check: Check, texts: readonly string[]): Promise<Finding[][]> {
  const found: Finding[][] = [];
  let chars = 0;
  for (const text of texts) {
    const ofText: Finding[] = [];
    const held = new HeldText();
    for (let start = 0; start < text.length; start += stretchChars) {
      const end = start + stretchChars;
      held.push(text.slice(start, end));
      if (end >= text.length) held.end();
      const before = end >= text.length ? held.text.length : openAt(check, held.text, held.from, held.seen);
      const some = findingsIn(check, held.text, held.from, before, held.seen);
      for (const finding of some) ofText.push(placed(held, finding));
      chars += held.text.length;
      held.passTo(Math.max(before, some.at(-1)?.end ?? 0));
      if (chars < stretchChars) continue;
      chars = 0;
      await turn();
    }
    found.push(ofText);
  }
  return found;
}

function placed(held: HeldText, finding: Finding): Finding {
  const { start, end, since } = finding;
  const place = { ...finding, start: held.placeOf(start), end: held.placeOf(end) };
  return since === undefined ? place : { ...place, since: held.placeOf(since) };
}
