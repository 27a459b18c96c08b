import type { Chunking } from './store-facts.ts';

/** A piece of a text. `repeats`: characters at its beginning that the piece before it has, too. */
export interface TextPiece {
  text: string;
  repeats: number;
}

/** Where a piece may end, the best first: a paragraph, a line, a sentence, a word. */
const ends = ['\n\n', '\n', '. ', ' '] as const;
/** A piece is at most so much shorter than it may be, for the sake of a better end. */
const shorterShareMax = 0.4;

/**
 * A text in pieces of at most `sizeTokens`, each beginning with the last `overlapTokens` of the one before. Tokens are
 * estimated: four characters of ASCII or one other, which is more than tokenizers make of most languages.
 */
export function cutText(text: string, { sizeTokens, overlapTokens }: Chunking): TextPiece[] {
  const pieces: TextPiece[] = [];
  let start = 0;
  let repeats = 0;
  while (start < text.length) {
    const furthest = forward(text, start, sizeTokens);
    const end = furthest === text.length ? furthest : bestEnd(text, start, furthest);
    const piece = text.slice(start, end);
    if (piece.trim() !== '') pieces.push({ text: piece, repeats: pieces.length === 0 ? 0 : repeats });
    if (end === text.length) break;
    const next = overlapTokens === 0 ? end : Math.max(start + 1, backward(text, end, overlapTokens));
    start = wordAt(text, next, end);
    repeats = end - start;
  }
  return pieces;
}

function forward(text: string, start: number, tokens: number): number {
  let quarters = 4 * tokens;
  let at = start;
  for (; at < text.length; at++) {
    quarters -= weightOf(text.charCodeAt(at));
    if (quarters < 0) break;
  }
  return whole(text, Math.max(at, start + 1));
}

function backward(text: string, end: number, tokens: number): number {
  let quarters = 4 * tokens;
  let at = end;
  for (; at > 0; at--) {
    quarters -= weightOf(text.charCodeAt(at - 1));
    if (quarters < 0) break;
  }
  return whole(text, at);
}

/** Quarters of a token. Both halves of a surrogate pair together are one character. */
function weightOf(code: number): number {
  if (code < 0x80) return 1;
  return code >= 0xd800 && code < 0xe000 ? 2 : 4;
}

/** Not between the halves of a surrogate pair. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000 ? at + 1 : at;
}

function bestEnd(text: string, start: number, furthest: number): number {
  const least = Math.ceil(furthest - (furthest - start) * shorterShareMax);
  // Only there: a text without any would be searched whole for each of its pieces.
  const last = text.slice(least, furthest);
  for (const end of ends) {
    const at = last.lastIndexOf(end);
    if (at >= 0) return least + at + end.length;
  }
  return furthest;
}

/** The first beginning of a word from `at` on; `at` where there is none before `end`. */
function wordAt(text: string, at: number, end: number): number {
  const found = text.slice(at - 1, end).search(/\s\S/);
  return found < 0 ? at : at + found;
}
