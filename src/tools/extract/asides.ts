import { buttons, dateWords, teaserLabels } from './aside-phrases.ts';
import { isForm, type TextBlock } from './text-blocks.ts';

/** A paragraph has at least this size; the text of a page begins with the first and ends with the last. */
const paragraphSize = 80;
/** A call to subscribe is no longer. */
const callSizeMax = 200;

/** Finds parts among a page's text that do not belong to it: buttons, teasers, calls to subscribe, its date. */
export function asidesIn(blocks: readonly TextBlock[]): TextBlock[] {
  const first = blocks.findIndex(isParagraph);
  const last = blocks.findLastIndex(isParagraph);
  let underLabel = false;
  return blocks.filter((block, at) => {
    const isLabel = isTeaserLabel(block);
    underLabel = isLabel || (underLabel && isLink(block) && !isForm(block));
    if (isForm(block)) return isLabel;
    return (
      underLabel ||
      isButton(block) ||
      isTeaser(block) ||
      isCall(block, at < first || at > last) ||
      ((at < first || at > last) && isDate(block)) ||
      isRepeated(block, blocks.slice(Math.max(0, at - nearBlocks), at))
    );
  });
}

function isParagraph({ size, linkSize }: TextBlock): boolean {
  return size >= paragraphSize && linkSize < 0.3 * size;
}

function isLink({ size, linkSize }: TextBlock): boolean {
  return linkSize >= 0.8 * size;
}

function isTeaserLabel({ words, linkSize, size }: TextBlock): boolean {
  if (words.length > 6) return false;
  if (teaserLabels.has(words.join(' '))) return true;
  return words[0] === 'more' && /^(?:from|in|on)$/.test(words[1] ?? '') && words.length <= 5 && linkSize < size;
}

function isButton({ words }: TextBlock): boolean {
  return words.length <= 8 && buttons.has(words.filter((word) => !/^\d+$/.test(word)).join(' '));
}

/** A link alone that shouts, or says that it leads elsewhere. */
function isTeaser(block: TextBlock): boolean {
  if (!isLink(block)) return false;
  const text = block.text.trim();
  const isLoud = block.words.length >= 4 && /\p{Lu}/u.test(text) && text === text.toUpperCase();
  return isLoud || teaserStart.test(text);
}

const teaserStart =
  /^\(?(?:related|read more|see more|see also|also see|also read|also|read also|read next|more|watch|don.t miss|leggi anche|lire aussi|lea también|leia também|lesen sie auch|lees ook|читайте также)\b.{0,20}:/iu;

/** Within the text, a longer one may be part of it. */
function isCall({ element, size, text }: TextBlock, outside: boolean): boolean {
  if (size >= (outside ? callSizeMax : paragraphSize) || element.closest('li') !== null) return false;
  return calls.test(text.trim());
}

const calls =
  /^(?:(?:please )?(?:subscribe to|sign up (?:for|to)|follow (?:us|me|our) |click here to |get the .{1,30} app|like this (?:story|article)|share your thoughts|tell us what you think|want more stories|already a subscriber|copyright|©|ⓒ|\(c\) \d{4}|first published:|filed under|posted in|tags?:|was this (?:article|page) helpful|join the (?:discussion|conversation)))|all rights reserved\.?$|subject to copyright|무단전재/iu;

/** One that stands alone at the head or the end of a page, with its year or a word that says what of. */
function isDate({ words }: TextBlock): boolean {
  return (
    words.length <= 16 &&
    words.some((word) => /^(?:(?:19|20)\d\d|posted|published|updated)$/.test(word)) &&
    words.every((word) => dateWords.has(word) || /^\d+(?:st|nd|rd|th|am|pm|h|z|t\d+)?$/.test(word))
  );
}

const nearBlocks = 3;

/** A caption that is written for narrow windows too; verses may say the same again, in one element. */
function isRepeated({ element, size, words }: TextBlock, before: readonly TextBlock[]): boolean {
  if (size < 25) return false;
  const text = words.join(' ');
  return before.some((other) => other.element !== element && other.size === size && other.words.join(' ') === text);
}
