import type { AttributeSelector, AttributeValues } from '../scrape/scraped-page.ts';
import type { Extracted, ExtractOptions, SelectorField } from './extract-order.ts';
import { bringFormulas, holdFormulas } from './hold-formulas.ts';
import { bringNotes, holdNotes } from './hold-notes.ts';
import { mainContentOf } from './main-content.ts';
import { isOutweighed, outweighed } from './outweighed.ts';
import { withoutUnread } from './page-blocks.ts';
import { documentOf, type PageDocument, type PageElement } from './page-document.ts';
import { pageFacts } from './page-facts.ts';
import { headingOf, restoreHeading } from './page-heading.ts';
import { pageImages } from './page-images.ts';
import { absoluteLink, firstLinks, linksMax, onlyFirst } from './plain-text.ts';
import { htmlOfMarks, withoutMarks } from './text-marks.ts';
import { tidyCode } from './tidy-code.ts';
import { tidyTables } from './tidy-tables.ts';
import { writeMarkdown } from './write-markdown.ts';
import { writeText } from './write-text.ts';

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

/** A page as a document; `html` was scanned. Throws `WrongSelector`. */
export function readHtml(html: string, url: string, options: ExtractOptions): Omit<Extracted, 'rawHtml'> {
  const document = documentOf(withoutMarks(html));
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
  for (const [name, attribute] of addressed) {
    for (const element of root.querySelectorAll(`${name}[${attribute}]`)) {
      const value = element.getAttribute(attribute) ?? '';
      const link = absoluteLink(value, base) ?? (/^(?:mailto|tel):/i.test(value) ? value : null);
      if (link === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, link);
    }
  }
  for (const element of root.querySelectorAll('*')) {
    for (const { name } of [...element.attributes]) {
      if (name.startsWith('on') || name === 'srcset' || name === 'style') element.removeAttribute(name);
    }
  }
}
