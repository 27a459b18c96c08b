import { isBlock } from './page-blocks.ts';
import { isElement, isText, type PageElement, type PageNode } from './page-document.ts';

/** A run of text on separate lines: a paragraph, an item, a heading, words between two line breaks. */
export interface TextBlock {
  /** Innermost element that holds it; perhaps other blocks too. */
  element: PageElement;
  /** All of the block, in order: children of `element`. */
  nodes: readonly PageNode[];
  /** The text, unchanged. */
  text: string;
  /** Lower-case words without punctuation. */
  words: readonly string[];
  /** Letters and digits, those of scripts without spaces counted twice: they say as much. */
  size: number;
  /** `size` of the text in links. */
  linkSize: number;
}

/** The blocks of `root` in the order of the page; those without a letter or digit are left out. */
export function textBlocksOf(root: PageElement): TextBlock[] {
  const blocks: TextBlock[] = [];
  collect(root, blocks);
  return blocks;
}

/** Counts whatever the number of its words: a heading, code, a cell, a formula, an item that is not a link. */
export function isForm({ element, size, linkSize, text }: TextBlock): boolean {
  if (element.closest('h1, h2, h3, h4, h5, h6, pre, table') !== null || /[\ue001-\ue005]/.test(text)) return true;
  return linkSize < size / 2 && element.closest('li, dt, dd') !== null;
}

function collect(parent: PageElement, blocks: TextBlock[]): void {
  let run: PageNode[] = [];
  const flush = () => {
    if (run.length > 0) push(parent, run, blocks);
    run = [];
  };
  for (const child of parent.childNodes) {
    if (!isElement(child)) {
      if (isText(child)) run.push(child);
    } else if (child.localName === 'br') {
      flush();
    } else if (isBlock(child.localName) || holdsBlock(child)) {
      flush();
      collect(child, blocks);
    } else run.push(child);
  }
  flush();
}

/** Such as a link around a card. */
function holdsBlock(element: PageElement): boolean {
  for (const child of element.childNodes) {
    if (isElement(child) && (isBlock(child.localName) || child.localName === 'td' || holdsBlock(child))) return true;
  }
  return false;
}

function push(element: PageElement, nodes: readonly PageNode[], blocks: TextBlock[]): void {
  const text = nodes.map((node) => node.textContent ?? '').join('');
  const words = splitWords(text);
  if (words.length === 0) return;
  const inLink = element.closest('a[href]') !== null;
  blocks.push({
    element,
    nodes,
    text,
    words,
    size: sizeOf(words),
    linkSize: inLink ? sizeOf(words) : linkSizeIn(nodes),
  });
}

function linkSizeIn(nodes: Iterable<PageNode>): number {
  let size = 0;
  for (const node of nodes) {
    if (!isElement(node)) continue;
    size += node.localName === 'a' ? sizeOf(splitWords(node.textContent ?? '')) : linkSizeIn(node.childNodes);
  }
  return size;
}

function splitWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function sizeOf(words: readonly string[]): number {
  let size = 0;
  for (const word of words)
    size += /^[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(word) ? 2 * word.length : word.length;
  return size;
}
