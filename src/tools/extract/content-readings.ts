import { Readability } from '@mozilla/readability';
import { DefuddleClass } from 'defuddle/node';
import { namedContentOf } from './named-content.ts';
import { withoutUnread } from './page-blocks.ts';
import { bodyOf, type PageDocument, type PageElement } from './page-document.ts';
import { type SeenWords, seenWords } from './seen-words.ts';
import { type TextBlock, textBlocksOf } from './text-blocks.ts';

/** The main content of a page as one extractor sees it, in a separate document. */
export interface Reading {
  root: PageElement;
  blocks: readonly TextBlock[];
  seen: SeenWords;
  /** Size of all blocks. */
  size: number;
}

/** Above it, Defuddle's look at every paragraph's words takes longer than the rest together. */
const patternCharsMax = 150_000;

/**
 * Takes more of forums, and of teasers. `certain`: it knows this site. Null where it finds nothing; `chars`: of the whole
 * page.
 */
export function byDefuddle(
  document: PageDocument,
  chars: number,
  url: string,
): (Reading & { certain: boolean }) | null {
  const parsed = new DefuddleClass(document as never, {
    url,
    // It would fetch from services that know some pages: nothing here leaves this thread.
    useAsync: false,
    removeContentPatterns: chars <= patternCharsMax,
  }).parse();
  const reading = readingOf(bodyOf(parsed.content));
  return reading && { ...reading, certain: parsed.extractorType !== undefined };
}

/** Misses little, but takes more of the surroundings. Null when it finds nothing. */
export function byReadability(document: PageDocument): Reading | null {
  // It takes apart the document that it reads.
  const copy = document.cloneNode(true);
  const article = new Readability<PageElement>(copy as never, {
    disableJSONLD: true,
    // Classes of code that name the language.
    keepClasses: true,
    serializer: (node: PageElement) => node,
  }).parse();
  const root = article?.content?.querySelector('#readability-page-1') ?? null;
  if (root === null) return null;
  root.removeAttribute('id');
  root.removeAttribute('class');
  for (const element of root.querySelectorAll('[class]')) {
    if (element.closest('pre, code') === null) element.removeAttribute('class');
  }
  return readingOf(root);
}

/** By what the parts of the page are called. */
export function byNames(document: PageDocument): Reading | null {
  // It takes apart the document that it reads.
  const root = namedContentOf(document.cloneNode(true));
  return root && readingOf(root);
}

/** Sites that Defuddle has rules for: its look at any other page takes longer than all of the rest. */
const defuddlesHosts =
  /(?:^|\.)(?:x|twitter|reddit|youtube|bilibili|github|linkedin|threads|medium|substack|nytimes|leetcode|chatgpt|grok)\.com$|(?:^|\.)(?:youtu\.be|news\.ycombinator\.com|claude\.ai|gemini\.google\.com|threads\.net|bsky\.app|wiki\.c2\.com|wikipedia\.org|lwn\.net)$/;
/** Posts of Mastodon, threads of Discourse. */
const defuddlesPaths = /\/@[^/]+\/\d+|\/t\/[^/]+\/\d+/;

export function isDefuddlesSite(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (defuddlesHosts.test(parsed.hostname) || defuddlesPaths.test(parsed.pathname));
}

function readingOf(root: PageElement): Reading | null {
  const blocks = textBlocksOf(withoutUnread(root));
  const size = blocks.reduce((all, block) => all + block.size, 0);
  return size === 0 ? null : { root, blocks, seen: seenWords(blocks), size };
}
