import { knownEntry } from '../../kernel/known-entry.ts';
import type { AttributeSelector, AttributeValues } from '../scrape/scraped-page.ts';
import type { Extracted, ExtractOptions, SelectorField } from './extract-order.ts';
import { bringFormulas, holdFormulas } from './hold-formulas.ts';
import { bringNotes, holdNotes, noteNumber } from './hold-notes.ts';
import { mainContentOf } from './main-content.ts';
import { isBlock, withoutUnread } from './page-blocks.ts';
import {
  isElement,
  isText,
  type PageDocument,
  type PageElement,
  type PageNode,
  pageDocument,
} from './page-document.ts';
import { pageFacts } from './page-facts.ts';
import { pageImages, pictureIn } from './page-images.ts';
import { absoluteLink, firstLinks, linksMax, onlyFirst, tidyLine, tidyText } from './plain-text.ts';
import { removeBlocks } from './remove-blocks.ts';
import { textBlocksOf } from './text-blocks.ts';
import { htmlOfMarks, textOfMarks, withoutMarks } from './text-marks.ts';
import { tidyCode } from './tidy-code.ts';
import { weigh } from './weigh-elements.ts';
import { writeMarkdown } from './write-markdown.ts';

/** A selector of the caller that cannot be read. */
export class WrongSelector extends Error {
  readonly field: SelectorField;
  constructor(field: SelectorField, selector: string) {
    super(`'${selector.slice(0, 100)}' in '${field}' is not a CSS selector.`);
    this.field = field;
  }
}

/** Longest value of one attribute: `srcdoc` and inlined pictures may be whole files. */
const attributeCharsMax = 10_000;

/** A page as a document. Throws `WrongSelector` and `UnfitPage`. */
export function readHtml(html: string, url: string, options: ExtractOptions): Omit<Extracted, 'rawHtml'> {
  const document = pageDocument(withoutMarks(html));
  const base = baseOf(document, url);
  const facts = pageFacts(document, base);
  const warnings: string[] = [];
  const links = linksOf(document, base, warnings);
  const parts = {
    ...(options.images === true && { images: pageImages(document, base, warnings) }),
    ...(options.attributes !== undefined && { attributes: attributesOf(document, options.attributes, warnings) }),
  };
  const formulas = holdFormulas(document, html);
  tidyCode(document);
  tidyTables(document);
  raiseDigits(document);
  removeAnchors(document);
  const root = contentOf(document, html.length, url, options, warnings);
  bringFormulas(root, formulas);
  // An entity ends a text: a formula may be in several.
  root.normalize();
  makeAbsolute(root, base);
  return {
    markdown: writeMarkdown(root),
    text: writeText(root),
    html: htmlOfMarks(root.innerHTML.trim()),
    links,
    ...parts,
    facts,
    warnings,
  };
}

function baseOf(document: PageDocument, url: string): string {
  const href = document.querySelector('base[href]')?.getAttribute('href');
  return (href == null ? null : absoluteLink(href, url)) ?? url;
}

function linksOf(document: PageDocument, base: string, warnings: string[]): string[] {
  const links = new Set<string>();
  for (const anchor of document.querySelectorAll('a[href], area[href]')) {
    const link = absoluteLink(anchor.getAttribute('href') ?? '', base);
    if (link !== null) links.add(link);
    if (links.size > linksMax) break;
  }
  return firstLinks(links, warnings);
}

/** Attributes of the whole page, with the values of its source. */
function attributesOf(
  document: PageDocument,
  attributes: readonly AttributeSelector[],
  warnings: string[],
): AttributeValues[] {
  return attributes.map(({ selector, attribute }) => {
    const found = selected(document, 'formats', selector).map((element) => element.getAttribute(attribute));
    const values = found.filter((value) => value !== null);
    const shown = values.map((value) => value.slice(0, attributeCharsMax));
    const of = `of '${attribute.slice(0, 100)}'`;
    if (values.length > linksMax) warnings.push(onlyFirst(linksMax, `values ${of}`));
    if (values.some(({ length }) => length > attributeCharsMax)) {
      warnings.push(onlyFirst(attributeCharsMax, `characters of a value ${of}`));
    }
    return { selector, attribute, values: shown.slice(0, linksMax) };
  });
}

/** The wanted part of the page, in a separate document. */
function contentOf(
  document: PageDocument,
  chars: number,
  url: string,
  options: ExtractOptions,
  warnings: string[],
): PageElement {
  for (const selector of options.excludeTags ?? []) {
    for (const element of selected(document, 'excludeTags', selector)) element.remove();
  }
  if (options.includeTags !== null) return includedOf(document, options.includeTags);
  const notes = holdNotes(document);
  const main = options.onlyMainContent ? mainOf(document, chars, url) : null;
  if (main !== null && isOutweighed(main, document.body)) warnings.push(outweighed);
  const root = main ?? withoutUnread(document.body);
  bringNotes(document, root, notes);
  return root;
}

function mainOf(document: PageDocument, chars: number, url: string): PageElement | null {
  const heading = headingOf(document);
  const main = mainContentOf(document, chars, url);
  if (main !== null) restoreHeading(main, heading);
  return main;
}

function selected(document: PageDocument, field: SelectorField, selector: string): PageElement[] {
  try {
    return [...document.querySelectorAll(selector)];
  } catch {
    throw new WrongSelector(field, selector);
  }
}

function includedOf(document: PageDocument, selectors: readonly string[]): PageElement {
  const included = new Set(selectors.flatMap((selector) => selected(document, 'includeTags', selector)));
  const root = document.createElement('div');
  // In the order of the page. An element inside another wanted one comes with it.
  for (const element of [...document.querySelectorAll('*')]) {
    if (included.has(element) && !hasAncestorIn(element, included)) root.append(element);
  }
  return withoutUnread(root);
}

function hasAncestorIn(element: PageElement, included: ReadonlySet<unknown>): boolean {
  for (let at = element.parentNode as PageElement | null; at !== null; at = at.parentNode as PageElement | null) {
    if (included.has(at)) return true;
  }
  return false;
}

const addressed = [
  ['a', 'href'],
  ['area', 'href'],
  ['img', 'src'],
  ['video', 'src'],
  ['audio', 'src'],
  ['source', 'src'],
] as const;

/** Makes addresses absolute. Removes those that are not http(s) (scripts, inlined pictures) and event handlers. */
function makeAbsolute(root: PageElement, base: string): void {
  for (const image of root.querySelectorAll('img')) {
    const address = pictureIn(image);
    if (address !== null) image.setAttribute('src', address);
  }
  for (const [name, attribute] of addressed) {
    for (const element of root.querySelectorAll(`${name}[${attribute}]`)) {
      const value = element.getAttribute(attribute) ?? '';
      const link = absoluteLink(value, base) ?? (/^(?:mailto|tel):/i.test(value) ? value : null);
      if (link === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, link);
    }
  }
  /** Elements that browsers take for text up to their end, even an end in a value, and all in them. */
  const unseen = new Set<PageNode | null>();
  for (const element of [root, ...root.querySelectorAll('*')]) {
    const isUnseen = unseen.has(element.parentNode) || /^(?:noframes|noembed|plaintext)$/.test(element.localName);
    if (isUnseen) unseen.add(element);
    for (const { name, value } of [...element.attributes]) {
      const isScript = /^[\0-\x20]*(?:java|vb)script:/i.test(value.replace(/[\t\n\r]/g, ''));
      const isActive = isScript || (isUnseen && value.includes('<'));
      if (name.startsWith('on') || name === 'srcset' || name === 'style' || isActive) element.removeAttribute(name);
    }
    // Browsers end some comments sooner, and would run what follows.
    for (const node of [...element.childNodes]) if (!isElement(node) && !isText(node)) element.removeChild(node);
  }
}

/** Keeps in `data-align` which way cells are set: extractors take styles away. */
function tidyTables(document: PageDocument): void {
  for (const cell of document.querySelectorAll('th[align], th[style], td[align], td[style]')) {
    const declared =
      /text-align:\s*(left|center|right)/i.exec(cell.getAttribute('style') ?? '')?.[1] ?? cell.getAttribute('align');
    const align = declared?.toLowerCase() ?? '';
    if (/^(?:left|center|right)$/.test(align)) cell.setAttribute('data-align', align);
  }
}

/** Removes the signs next to headings that lead to these themselves. */
function removeAnchors(document: PageDocument): void {
  const headings = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')];
  for (const anchor of headings.flatMap((heading) => [...heading.querySelectorAll('a')])) {
    const isSign = !/[\p{L}\p{N}]/u.test(anchor.textContent ?? '') && anchor.querySelector('img') === null;
    if (isSign && (anchor.getAttribute('href') ?? '').includes('#')) anchor.remove();
  }
}

const digits = '0123456789+-−';
const raisedDigits = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻';

/** Writes the exponent of a number as one: 10⁶ is not 106. */
function raiseDigits(document: PageDocument): void {
  for (const raised of document.querySelectorAll('sup')) {
    const exponent = raised.textContent ?? '';
    if (!/^[+−-]?\d{1,4}$/.test(exponent) || !/\d$/.test(raised.previousSibling?.textContent ?? '')) continue;
    // Those that lead somewhere are notes.
    if (raised.querySelector('a') !== null || raised.closest('a, pre') !== null) continue;
    const signs = [...exponent].map((sign) => raisedDigits.charAt(digits.indexOf(sign)));
    raised.replaceWith(document.createTextNode(signs.join('')));
  }
}

/** Warning of main content that may be a dump of data instead of the article. */
const outweighed =
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
function isOutweighed(main: PageElement, page: PageElement): boolean {
  const sizes = textBlocksOf(main).map(({ size }) => size);
  const longest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (longest < blockSizeMin || longest < blockShareMin * size) return false;
  return proseOf(page) - proseOf(main) >= leftOutMin;
}

function proseOf(root: PageElement): number {
  return knownEntry(weigh(root), root).prose;
}

/** The heading of the page's subject: many sites have their own name as the first heading. */
function headingOf(document: PageDocument): string | null {
  const within = document.querySelector('article h1, main h1, [role="main"] h1');
  if (within !== null) return tidyLine(within.textContent);
  const title = tidyLine(document.querySelector('title')?.textContent)?.toLowerCase() ?? '';
  const all = [...document.querySelectorAll('h1')].map((one) => ({
    text: tidyLine(one.textContent) ?? '',
    framed: one.closest(frame) !== null,
  }));
  const headings = all.filter(({ text, framed }) => text !== '' && !framed);
  const named = headings.find(({ text }) => title.includes(text.toLowerCase())) ?? headings[0];
  // A title begins with the page's subject; the site's name comes last.
  const above = all.find(({ text, framed }) => framed && text !== '' && title.startsWith(text.toLowerCase()));
  return (named ?? above)?.text ?? null;
}

const frame = 'nav, header, footer, aside, [role="banner"]';

/** The main content comes without the page's own heading, or with one that has become a second. */
function restoreHeading(main: PageElement, heading: string | null): void {
  if (heading === null || main.querySelector('h1') !== null) return;
  const second = main.querySelector('h2');
  const same = second !== null && tidyLine(second.textContent) === heading ? second : null;
  const html = same?.innerHTML ?? heading.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  same?.remove();
  const first = textBlocksOf(main).slice(0, 3);
  removeBlocks(
    main,
    first.filter(({ text }) => tidyLine(text) === heading),
  );
  main.innerHTML = `<h1>${html}</h1>${main.innerHTML}`;
}

/** Text as people read it: a line for each block, without any other form. */
export function writeText(root: PageElement): string {
  const parts: string[] = [];
  collect(root, parts);
  return textOfMarks(tidyText(parts.join('')));
}

function collect(parent: PageNode, parts: string[]): void {
  for (const child of parent.childNodes) {
    if (isText(child)) parts.push((child.textContent ?? '').replace(/\s+/g, ' '));
    else if (isElement(child)) {
      if (child.localName === 'pre') parts.push('\n', child.textContent ?? '', '\n');
      else if (child.localName === 'br') parts.push('\n');
      else if (isBlock(child.localName)) {
        const note = noteNumber(child);
        parts.push(note === null ? '\n' : `\n[${note}] `);
        const from = parts.length;
        collect(child, parts);
        // The words of a note begin next to its number, though they are a separate paragraph.
        if (note !== null) parts.push(parts.splice(from).join('').trimStart());
        parts.push('\n');
      } else {
        // Cells of a row are next to each other.
        if (child.localName === 'td' || child.localName === 'th') parts.push(' ');
        collect(child, parts);
      }
    }
  }
}
