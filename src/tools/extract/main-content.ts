import { asidesIn } from './asides.ts';
import { byDefuddle, byReadability, type Reading } from './content-readings.ts';
import type { PageDocument, PageElement } from './page-document.ts';
import { removeBlocks } from './remove-blocks.ts';
import { shareSeen, wasSeen } from './seen-words.ts';
import { isForm, textBlocksOf } from './text-blocks.ts';

/** Two extractors that agree on less have found different things: neither can judge the other. */
const leastAgreed = 0.5;
/**
 * Above this size, content that only one extractor has found is main content; below it, it is likelier a caption of the
 * frame.
 */
const loneSizeMax = 200;

/**
 * The main content of a page, in a document of its own; null when nothing looks like it. `chars`: of the whole page.
 * Two extractors read it, one is believed, and short blocks that the other left out are removed.
 */
export function mainContentOf(document: PageDocument, chars: number, url: string): PageElement | null {
  const formed = orNull(() => byDefuddle(document, chars, url));
  if (formed?.certain) return formed.root;
  const wide = orNull(() => byReadability(document));
  const chosen = formed === null || wide === null ? (formed ?? wide) : chosenOf(formed, wide);
  if (chosen === null) return null;
  removeBlocks(chosen.root, asidesIn(textBlocksOf(chosen.root)));
  return chosen.root;
}

/** A fault of one extractor leaves the page to the other. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function chosenOf(formed: Reading, wide: Reading): Reading {
  if (isScrap(wide, formed)) return formed;
  if (shareSeen(wide.blocks, formed.seen) < leastAgreed) return wide;
  const lone = wide.blocks.filter(
    (block) => block.size <= loneSizeMax && !isForm(block) && !wasSeen(formed.seen, block.words),
  );
  removeBlocks(wide.root, lone);
  return wide;
}

/** Readability skips what a script would show; it is left with a word or two, Defuddle looks again. */
function isScrap(wide: Reading, formed: Reading): boolean {
  if (wide.size >= 400 || wide.size >= formed.size / 3) return false;
  const linked = formed.blocks.reduce((all, { linkSize }) => all + linkSize, 0);
  return linked < 0.3 * formed.size;
}
