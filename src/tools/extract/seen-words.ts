import type { TextBlock } from './text-blocks.ts';

/** The runs of words of a text, so that blocks of another can be looked for in it. */
export interface SeenWords {
  /** Each four words in a row. */
  runs: ReadonlySet<string>;
  /** Blocks of fewer than four words, whole. */
  short: ReadonlySet<string>;
}

const runWords = 4;
/** A block may have lost the mark of a note, or some words of a link. */
const leastShare = 0.75;

export function seenWords(blocks: readonly TextBlock[]): SeenWords {
  const runs = new Set<string>();
  const short = new Set<string>();
  for (const { words } of blocks) {
    if (words.length < runWords) short.add(words.join(' '));
    else for (const run of runsOf(words)) runs.add(run);
  }
  return { runs, short };
}

/** Whether the text contains nearly all of these words, in their order. */
export function wasSeen({ runs, short }: SeenWords, words: readonly string[]): boolean {
  if (words.length < runWords) return short.has(words.join(' '));
  let found = 0;
  for (const run of runsOf(words)) if (runs.has(run)) found += 1;
  return found >= leastShare * (words.length - runWords + 1);
}

/** The share of the blocks, by size, that is in the text: 0 to 1. */
export function shareSeen(blocks: readonly TextBlock[], seen: SeenWords): number {
  let all = 0;
  let found = 0;
  for (const { size, words } of blocks) {
    all += size;
    if (wasSeen(seen, words)) found += size;
  }
  return all === 0 ? 1 : found / all;
}

function* runsOf(words: readonly string[]): Generator<string> {
  for (let at = 0; at + runWords <= words.length; at++) yield words.slice(at, at + runWords).join(' ');
}
