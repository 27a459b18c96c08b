import { Readability } from '@mozilla/readability';
import { DefuddleClass } from 'defuddle/node';
import { asidesIn } from './asides.ts';
import { namedContentOf } from './named-content.ts';
import { withoutUnread } from './page-blocks.ts';
import { bodyOf, type PageDocument, type PageElement } from './page-document.ts';
import { removeBlocks } from './remove-blocks.ts';
import { type SeenWords, seenWords, shareSeen, wasSeen } from './seen-words.ts';
import { isForm, type TextBlock, textBlocksOf } from './text-blocks.ts';

/** Two readings that agree on less have found different things: neither can judge the other. */
const leastAgreed = 0.5;
/** Above this size, content that only one reading has found is main content; below it, likelier a label of the frame. */
const loneSizeMax = 80;
/** A reading by names that has less of Readability's has taken a part for a frame. */
const leastOfWide = 0.7;
/** One that has so many times more may have taken teasers for the article, where Readability has found one. */
const mostOfWide = 2;
const articleSize = 500;
/** Largest share of links in an article: a list of links has more. */
const linksShareMax = 0.3;
/** Largest share of links in text that only one reading has found: teasers have more. */
const teaserLinksShare = 0.15;
/** Smaller content is worth another look. */
const scrapSize = 100;
/** In a longer page that is Readability's: Defuddle takes 10 s for 10,000 links in a `div` each, and finds the same. */
const defuddleCharsMax = 150_000;

/**
 * The main content of a page, in a separate document; null when nothing looks like it. `chars`: of the whole page. It
 * is read in two ways, one is believed, and short blocks that the other left out are removed. What they do depends on
 * the page alone, never on the time that it takes.
 */
export function mainContentOf(document: PageDocument, chars: number, url: string): PageElement | null {
  const known = isDefuddlesSite(url) ? orNull(() => byDefuddle(document, chars, url)) : null;
  if (known?.certain) return known.root;
  const wide = orNull(() => byReadability(document));
  const named = orNull(() => byNames(document));
  let chosen = named === null || wide === null ? (named ?? wide) : chosenOf(named, wide);
  if (chosen === null || chosen.size < scrapSize) {
    const longOne = chars > defuddleCharsMax && wide !== null && wide.size >= scrapSize ? wide : null;
    const other = known ?? longOne ?? orNull(() => byDefuddle(document, chars, url));
    if (other !== null && other.size > 2 * (chosen?.size ?? 0)) chosen = other;
  }
  if (chosen === null) return null;
  removeBlocks(chosen.root, asidesIn(textBlocksOf(chosen.root)));
  return chosen.root;
}

/** A fault of one reader leaves the page to the others. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function chosenOf(named: Reading, wide: Reading): Reading {
  const isShort = named.size < leastOfWide * wide.size && linkShareOf(wide.blocks) < linksShareMax;
  const isLong = named.size > mostOfWide * wide.size && wide.size >= articleSize && hasTeasers(named, wide);
  const [chosen, other] = isShort || isLong ? [wide, named] : [named, wide];
  if (shareSeen(chosen.blocks, other.seen) < leastAgreed) return chosen;
  const lone = chosen.blocks.filter(
    (block) => block.size <= loneSizeMax && !isForm(block) && !wasSeen(other.seen, block.words),
  );
  removeBlocks(chosen.root, lone);
  return chosen;
}

/** Whether what the other has not found leads elsewhere. */
function hasTeasers({ blocks }: Reading, other: Reading): boolean {
  return linkShareOf(blocks.filter(({ words }) => !wasSeen(other.seen, words))) > teaserLinksShare;
}

function linkShareOf(blocks: readonly TextBlock[]): number {
  const size = blocks.reduce((sum, block) => sum + block.size, 0);
  return size === 0 ? 0 : blocks.reduce((sum, { linkSize }) => sum + linkSize, 0) / size;
}

/** The main content of a page as one extractor sees it, in a separate document. */
interface Reading {
  root: PageElement;
  blocks: readonly TextBlock[];
  seen: SeenWords;
  /** Size of all blocks. */
  size: number;
}

/** Above it, Defuddle's look at every paragraph's words takes longer than the rest together. */
const patternCharsMax = 150_000;

/** Takes more of forums, and of teasers. `certain`: it knows this site. `chars`: of the whole page. Null: nothing. */
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

function isDefuddlesSite(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (defuddlesHosts.test(parsed.hostname) || defuddlesPaths.test(parsed.pathname));
}

function readingOf(root: PageElement): Reading | null {
  const blocks = textBlocksOf(withoutUnread(root));
  const size = blocks.reduce((all, block) => all + block.size, 0);
  return size === 0 ? null : { root, blocks, seen: seenWords(blocks), size };
}
