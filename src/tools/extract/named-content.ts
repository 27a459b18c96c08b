import { knownEntry } from '../../kernel/known-entry.ts';
import { bringLead } from './bring-lead.ts';
import { bodyNames, commentNames, frameNames } from './frame-names.ts';
import { isElement, type PageDocument, type PageElement } from './page-document.ts';
import { proseSize, type Weight, type Weights, weigh } from './weigh-elements.ts';

/** A part with more of the page's prose is no frame, whatever its name says. */
const frameShareMax = 0.4;
/** Comments are left out where at least so much of the prose remains: a forum consists of them. */
const uncommentedShareMin = 0.15;
/** A part with so many letters in links, and no prose, leads elsewhere. */
const linksShareMin = 0.6;
/** A longer caption explains its picture. */
const captionSizeMax = 250;
/** A body holds so much of the prose; the smallest part that holds nearly all of it is the content. */
const bodyShareMin = 0.4;
const contentShareMin = 0.95;
/** Share of prose in a lead, which many sites call a teaser. */
const leadShareMin = 0.7;

/**
 * The main content of a page by what its parts are called, and by where its prose is. It takes apart the document. Null:
 * there is no text.
 */
export function namedContentOf(document: PageDocument): PageElement | null {
  const { body } = document;
  const whole = weigh(body);
  const { prose } = knownEntry(whole, body);
  removeFrames(body, whole, prose, { left: prose });
  const weights = weigh(body);
  if (knownEntry(weights, body).size === 0) return null;
  const root = densest(bodyIn(body, weights), weights);
  const heading = document.querySelector('article h1, main h1, [role="main"] h1') ?? document.querySelector('h1');
  if (heading !== null) bringLead(body, root, heading, weights);
  return root;
}

/** `remaining`: prose that is left of the page's `prose`. */
function removeFrames(parent: PageElement, weights: Weights, prose: number, remaining: { left: number }): void {
  for (const child of [...parent.childNodes]) {
    if (!isElement(child)) continue;
    const weight = weights.get(child);
    if (weight === undefined) {
      child.remove();
      continue;
    }
    const part = isLinks(child, weights) ? 'frame' : partOf(child, weight);
    const leftWithout = remaining.left - weight.prose;
    const isFrame = part === 'frame' && weight.prose <= frameShareMax * prose;
    const isAside = part === 'comments' && leftWithout >= Math.max(5 * proseSize, uncommentedShareMin * prose);
    if (isFrame || isAside) {
      remaining.left = leftWithout;
      child.remove();
    } else removeFrames(child, weights, prose, remaining);
  }
}

const boxes = new Set('ul ol dl div section table header'.split(' '));

/** A list of links, or cards of them. */
function isLinks(element: PageElement, weights: Weights): boolean {
  const { size, linkSize, prose } = knownEntry(weights, element);
  return boxes.has(element.localName) && prose === 0 && size > 0 && linkSize >= linksShareMin * size;
}

const frames = new Set('nav footer aside menu form'.split(' '));
const frameRoles = new Set(
  'navigation banner complementary contentinfo search dialog alertdialog menu menubar toolbar'.split(' '),
);
/** Their names say how they look, not what they are. */
const nameless = new Set('table tbody tr td th h1 h2 p pre code em strong b i'.split(' '));

function partOf(element: PageElement, weight: Weight): 'frame' | 'comments' | null {
  const { localName } = element;
  if (localName === 'article' || localName === 'main' || localName === 'body') return null;
  if (localName === 'figcaption' && weight.size <= captionSizeMax) return 'frame';
  if (frames.has(localName) || frameRoles.has(element.getAttribute('role') ?? '') || isHidden(element)) return 'frame';
  const names = nameless.has(localName) ? '' : namesOf(element);
  if (names === '') return null;
  if (commentNames.test(names)) return 'comments';
  if (!frameNames.test(names)) return null;
  return isLead(weight) && !frameNames.test(names.replace(teaserWords, ' ')) ? null : 'frame';
}

const teaserWords = /(?<![\w-])[\w-]*teaser(?!-?list)[\w-]*/g;

/** Prose without a link: a teaser of another page leads there. */
function isLead({ size, linkSize, prose }: Weight): boolean {
  return linkSize === 0 && prose >= proseSize && prose >= leadShareMin * size;
}

function isHidden(element: PageElement): boolean {
  const style = element.getAttribute('style');
  if (style !== null && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)) return true;
  return element.getAttribute('hidden') !== null || element.getAttribute('aria-hidden') === 'true';
}

function namesOf(element: PageElement): string {
  const names = `${element.getAttribute('class') ?? ''} ${element.getAttribute('id') ?? ''}`;
  // WordPress names an article by its categories and tags.
  return names === ' ' ? '' : names.toLowerCase().replace(/(?:^|\s)(?:category|tag|status|type|format)-\S+/g, ' ');
}

/** The part that is called the body of an article and has most of the prose. */
function bodyIn(page: PageElement, weights: Weights): PageElement {
  let best = page;
  let bestProse = 0;
  for (const [element, { prose }] of weights) {
    if (prose < bodyShareMin * knownEntry(weights, page).prose || prose <= 1.02 * bestProse || !isBody(element))
      continue;
    best = element;
    bestProse = prose;
  }
  return best;
}

function isBody(element: PageElement): boolean {
  if (element.localName === 'body') return false;
  if (element.localName === 'article' || element.getAttribute('itemprop') === 'articleBody') return true;
  return element.getAttribute('role') === 'article' || bodyNames.test(namesOf(element));
}

const paragraphs = new Set('p blockquote ul ol li pre span'.split(' '));

/** The smallest part of `from` that holds nearly all of its prose. */
function densest(from: PageElement, weights: Weights): PageElement {
  const least = contentShareMin * knownEntry(weights, from).prose;
  if (least === 0) return from;
  let at = from;
  for (;;) {
    const inner: PageElement[] = [...at.childNodes].filter(isElement);
    const next = inner.find((child) => !paragraphs.has(child.localName) && (weights.get(child)?.prose ?? 0) >= least);
    if (next === undefined) return at;
    at = next;
  }
}
