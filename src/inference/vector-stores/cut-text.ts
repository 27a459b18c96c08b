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
  for (const end of ends) {
    const at = text.lastIndexOf(end, furthest - end.length);
    if (at >= least) return at + end.length;
  }
  return furthest;
}

/** The first beginning of a word from `at` on; `at` where there is none before `end`. */
function wordAt(text: string, at: number, end: number): number {
  if (at === end) return at;
  const found = /\s\S/g;
  found.lastIndex = at - 1;
  const next = found.exec(text);
  return next === null || next.index + 1 >= end ? at : next.index + 1;
}
