import { setImmediate as turn } from 'node:timers/promises';
import { isPieceOfText, type TextPart } from '../../formats/neutral/json-texts.ts';
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

type Part = Pick<TextPart, 'path' | 'kind' | 'text' | 'as'>;

/** The findings of each part of a request, also of what goes across parts that a model reads as one text. */
export async function findingsOfParts(check: Check, parts: readonly Part[]): Promise<Finding[][]> {
  const texts = parts.map(({ text }) => text);
  const found = await findingsOf(check, texts);
  // Other members of the parts may be between their texts.
  const pieces = [...parts.entries()].filter(([, part]) => isPieceOfText(part));
  for (let at = 0, end = 0; at < pieces.length; at = end) {
    do end += 1;
    while (goesOn(pieces[end - 1]?.[1], pieces[end]?.[1]));
    const run = end === at + 1 ? [] : pieces.slice(at, end);
    const [across = []] = await findingsOf(check, run.length === 0 ? [] : [run.map(([, { text }]) => text).join('')]);
    let from = 0;
    let next = 0;
    for (const [place, { text }] of run) {
      const to = from + text.length;
      // They come in their order: each is looked at in its parts alone.
      while ((across[next]?.end ?? to + 1) <= from) next += 1;
      let behind = next;
      while ((across[behind]?.start ?? to) < to) behind += 1;
      addAcross(found[place] ?? [], across.slice(next, behind), from, to);
      from = to;
    }
  }
  return found;
}

/** Google's clients keep an answer in the pieces in which it was streamed, as parts or as turns; others as parts. */
function goesOn(before: Part | undefined, part: Part | undefined): boolean {
  if (before === undefined || part === undefined || part.kind !== before.kind) return false;
  const [list, other] = [part, before].map(({ path }) => path.slice(0, -2).join());
  const isNextTurn = Number(part.path[1]) - Number(before.path[1]) === 1 && part.path[3] === 0;
  return list === other || (part.path[0] === 'contents' && isNextTurn);
}

function addAcross(ofPart: Finding[], across: readonly Finding[], from: number, to: number): void {
  for (const { kind, start, end, isUnread } of across) {
    const isWithin = start >= from && end <= to;
    if (isUnread === true || isWithin || from === to) continue;
    const piece = { kind, start: Math.max(start, from) - from, end: Math.min(end, to) - from };
    if (ofPart.every((one) => one.end <= piece.start || one.start >= piece.end)) ofPart.push(piece);
  }
  ofPart.sort((one, other) => one.start - other.start);
}

function placed(held: HeldText, finding: Finding): Finding {
  const { start, end, since } = finding;
  const place = { ...finding, start: held.placeOf(start), end: held.placeOf(end) };
  return since === undefined ? place : { ...place, since: held.placeOf(since) };
}
