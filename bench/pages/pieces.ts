import type { Score } from './shingles.ts';

/** How many pieces of a page were found: of those that belong to its text, and of the others. */
export interface Found {
  wanted: number;
  missed: number;
  unwanted: number;
}

/** As trafilatura's own comparison counts: white space is one blank, everything else must be the same. */
export function foundIn(text: string, wanted: readonly string[], unwanted: readonly string[]): Found {
  const given = oneLine(text);
  const holds = (piece: string) => given.includes(oneLine(piece));
  const found = wanted.filter(holds).length;
  return { wanted: found, missed: wanted.length - found, unwanted: unwanted.filter(holds).length };
}

/** Over the pieces of all pages together. */
export function scoreOfPieces(pages: readonly Found[]): Score {
  const sum = (name: keyof Found) => pages.reduce((all, page) => all + page[name], 0);
  const [wanted, missed, unwanted] = [sum('wanted'), sum('missed'), sum('unwanted')];
  return {
    precision: wanted / (wanted + unwanted),
    recall: wanted / (wanted + missed),
    f1: (2 * wanted) / (2 * wanted + unwanted + missed),
  };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
