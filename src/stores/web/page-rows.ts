import type { FoundPage, StoredPage } from '../../tools/page-store.ts';
import { rowShape } from '../row-shape.ts';
import type { Row } from '../sql-tables.ts';

/** Most pages of a tenant; beyond it the oldest go. */
export interface PageBounds {
  pagesMax: number;
  /** Most bytes of all of them. */
  charsMax: number;
}

export const pageBounds: PageBounds = { pagesMax: 10_000, charsMax: 500_000_000 };

/** A larger page is not kept at all: text from the web is smaller. */
export const pageCharsMax = 20_000_000;
/** Variants of one URL: main content and all of it, of a phone and of a desktop. */
export const variantsMax = 4;
/** Part of a page's text whose words can be found; snippets come from it, too. */
export const searchedCharsMax = 100_000;

/** A page as both databases have it. `chars` is its size against the bounds, and against the account's storage. */
type PageRow = Omit<StoredPage, 'validators'> & StoredPage['validators'] & { title: string; chars: number };

export const pageShape = rowShape<PageRow>()({
  text: ['tenant', 'url', 'variant', 'markdown', 'text', 'html', 'title'],
  'text?': ['etag', 'lastModified'],
  number: ['fetchedMs', 'chars'],
  json: ['links', 'metadata'],
});

export function storedPageOf(row: Row): StoredPage {
  const { etag, lastModified, tenant, url, variant, fetchedMs, markdown, text, html, links, metadata } =
    pageShape.read(row);
  const validators = { etag, lastModified };
  return { tenant, url, variant, fetchedMs, validators, markdown, text, html, links, metadata };
}

export function pageRowOf({ validators, ...page }: StoredPage): PageRow {
  const { markdown, text, html, links, metadata } = page;
  const parts = [markdown, text, html, JSON.stringify(links), JSON.stringify(metadata)];
  const chars = parts.reduce((sum, { length }) => sum + length, 0);
  return { ...page, ...validators, title: (metadata.title ?? '').slice(0, 1_000), chars };
}

const snippetChars = 300;
/** Size before the words. */
const leadChars = 60;
/** Places of one word that are looked at. */
const placesMax = 50;

/** The piece of a text that has most of the words, on one line; its beginning when none is found. */
export function snippetOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places: { at: number; word: number }[] = [];
  words.forEach((word, index) => {
    // Both databases find other forms of a word too: its stem is enough here.
    const stem = word.slice(0, Math.max(4, word.length - 2));
    let at = lower.indexOf(stem);
    for (let count = 0; at !== -1 && count < placesMax; count++) {
      places.push({ at, word: index });
      at = lower.indexOf(stem, at + stem.length);
    }
  });
  places.sort((a, b) => a.at - b.at);
  const start = startOf(text, bestOf(places));
  const piece = text
    .slice(start, start + snippetChars)
    .toWellFormed()
    .replace(/\s+/g, ' ')
    .trim();
  return `${start > 0 ? '… ' : ''}${piece}${start + snippetChars < text.length ? ' …' : ''}`;
}

/** Start of the window with the most different words; 0 without any place. `places` is in order. */
function bestOf(places: readonly { at: number; word: number }[]): number {
  const counts = new Map<number, number>();
  let best = 0;
  let bestWords = 0;
  let end = 0;
  for (const { at, word } of places) {
    for (let next = places[end]; next !== undefined && next.at < at + snippetChars; next = places[++end]) {
      counts.set(next.word, (counts.get(next.word) ?? 0) + 1);
    }
    if (counts.size > bestWords) {
      best = at;
      bestWords = counts.size;
    }
    const left = (counts.get(word) ?? 0) - 1;
    if (left === 0) counts.delete(word);
    else counts.set(word, left);
  }
  return best;
}

/** Some words before the first one that was found, from the beginning of a word on. */
function startOf(text: string, best: number): number {
  if (best < leadChars) return 0;
  const space = text.indexOf(' ', best - leadChars);
  return space === -1 || space > best ? best : space + 1;
}

/** A row that was found, as both databases give it. */
export type MatchColumns = { url: string; title: string; text: string; score: number; fetched_ms: number };

export function foundPageOf(
  { url, title, text, score, fetched_ms }: MatchColumns,
  words: readonly string[],
): FoundPage {
  return { url, title, snippet: snippetOf(text, words), score, fetchedMs: fetched_ms };
}
