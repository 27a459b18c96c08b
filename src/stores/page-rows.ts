import type { KeptPage } from '../tools/page-store.ts';
import type { PageMetadata } from '../tools/scrape/scraped-page.ts';

/** How much is kept of a tenant's pages: of what comes beyond, the oldest go. */
export interface PageBounds {
  pagesMax: number;
  /** Of everything that is kept of them. */
  charsMax: number;
}

export const pageBounds: PageBounds = { pagesMax: 10_000, charsMax: 500_000_000 };

/** A page of more than this is not kept at all: what is read from the web is smaller, as long as it is text. */
export const pageCharsMax = 20_000_000;
/** Of a page's text, how much can be found by its words; snippets come from there too. */
export const searchedCharsMax = 100_000;

/** Columns of one page, in both databases. */
export interface PageColumns {
  tenant: string;
  url: string;
  variant: string;
  fetched_ms: number;
  markdown: string;
  text: string;
  html: string;
  links: string;
  metadata: string;
}

export function keptPageOf(row: PageColumns): KeptPage {
  return {
    tenant: row.tenant,
    url: row.url,
    variant: row.variant,
    fetchedMs: row.fetched_ms,
    markdown: row.markdown,
    text: row.text,
    html: row.html,
    links: JSON.parse(row.links) as string[],
    metadata: JSON.parse(row.metadata) as PageMetadata,
  };
}

/** What stands in the columns; `chars` is what it counts against the bounds. */
export function columnsOf(page: KeptPage): PageColumns & { title: string; chars: number } {
  const links = JSON.stringify(page.links);
  const metadata = JSON.stringify(page.metadata);
  const { markdown, text, html } = page;
  const chars = markdown.length + text.length + html.length + links.length + metadata.length;
  const title = page.metadata.title ?? '';
  return { ...page, fetched_ms: page.fetchedMs, links, metadata, title: title.slice(0, 1_000), chars };
}

const wordsMax = 32;
const wordCharsMax = 64;

/** The words of a query as a person types it, lower case, each once: no operator of a database gets through. */
export function wordsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.slice(0, wordCharsMax)))].slice(0, wordsMax);
}

const snippetChars = 300;
/** Places of one word that are looked at. */
const placesMax = 50;

/** The piece of a text in which most of the words stand, on one line; its beginning when none is found. */
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
  let best = 0;
  let bestWords = 0;
  for (const { at } of places) {
    const held = new Set(places.filter((one) => one.at >= at && one.at < at + snippetChars).map(({ word }) => word));
    if (held.size > bestWords) {
      best = at;
      bestWords = held.size;
    }
  }
  // Some words before the first one, from the beginning of a word on.
  const from = best === 0 ? 0 : Math.max(0, text.indexOf(' ', Math.max(0, best - 60)) + 1);
  const start = from > best ? best : from;
  const piece = text
    .slice(start, start + snippetChars)
    .toWellFormed()
    .replace(/\s+/g, ' ')
    .trim();
  return `${start > 0 ? '… ' : ''}${piece}${start + snippetChars < text.length ? ' …' : ''}`;
}
