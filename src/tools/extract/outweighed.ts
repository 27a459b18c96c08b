import { knownEntry } from '../../kernel/known-entry.ts';
import type { PageElement } from './page-document.ts';
import { textBlocksOf } from './text-blocks.ts';
import { weigh } from './weigh-elements.ts';

/** Warning of main content that may be a dump of data instead of the article. */
export const outweighed =
  'Nearly all of the main content is one long text, and other text of the page is left out. ' +
  'For all of it, set onlyMainContent to false.';

/** A smaller block is a paragraph. */
const blockSizeMin = 20_000;
/** Its share of the main content. */
const blockShareMin = 0.9;
/** Less prose may be a note below the page. */
const leftOutMin = 150;

/**
 * Whether one block of `main` has so many letters that it may have decided alone what the main content is, while prose of
 * `page` is left out.
 */
export function isOutweighed(main: PageElement, page: PageElement): boolean {
  const sizes = textBlocksOf(main).map(({ size }) => size);
  const longest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (longest < blockSizeMin || longest < blockShareMin * size) return false;
  return proseOf(page) - proseOf(main) >= leftOutMin;
}

function proseOf(root: PageElement): number {
  return knownEntry(weigh(root), root).prose;
}
