import { isElement, isText, type PageElement } from './page-document.ts';

/** Weight of an element, in letters and digits; those of scripts without spaces count twice. */
export interface Weight {
  size: number;
  linkSize: number;
  /** Weight of runs of text outside of links that are as long as a sentence. */
  prose: number;
}

/** In the order of the page, without elements that nobody reads. */
export type Weights = ReadonlyMap<PageElement, Weight>;

/** A shorter run of text may be a label, a name or a date. */
export const proseSize = 60;
/** Largest weight of one run: hardly a paragraph is so long, and a dump of data must not outweigh a page. */
const runSizeMax = 20_000;

const unread = new Set(
  'script style noscript template iframe object embed svg canvas link meta title select button input textarea dialog'.split(
    ' ',
  ),
);
const inlines = new Set(
  'a abbr b bdi br cite code em font i kbd mark q s small span strong sub sup time u wbr'.split(' '),
);

/** In one pass over `root`. */
export function weigh(root: PageElement): Weights {
  const weights = new Map<PageElement, Weight>();
  add(root, weights, false);
  return weights;
}

function add(element: PageElement, weights: Map<PageElement, Weight>, inLink: boolean): Weight {
  const weight = { size: 0, linkSize: 0, prose: 0 };
  weights.set(element, weight);
  const linked = inLink || element.localName === 'a';
  let run = 0;
  const flush = () => {
    if (run >= proseSize) weight.prose += Math.min(run, runSizeMax);
    run = 0;
  };
  for (const child of element.childNodes) {
    if (isText(child)) {
      const size = sizeOf(child.textContent ?? '');
      weight.size += size;
      if (linked) weight.linkSize += size;
      else run += size;
    } else if (isElement(child) && !unread.has(child.localName)) {
      const inner = add(child, weights, linked);
      weight.size += inner.size;
      weight.linkSize += inner.linkSize;
      if (inlines.has(child.localName) && inner.prose === 0) run += inner.size - inner.linkSize;
      else {
        flush();
        weight.prose += inner.prose;
      }
    }
  }
  flush();
  return weight;
}

/** Roughly: a character above the signs and blanks of ASCII. */
function sizeOf(text: string): number {
  let size = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 47 && code !== 160) size += code >= 0x3040 && code < 0xd7b0 ? 2 : 1;
  }
  return size;
}
