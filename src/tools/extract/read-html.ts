import { DefuddleClass } from 'defuddle/node';
import type { Extracted, ExtractWishes } from './extract-order.ts';
import { isBlock, unreadSelector } from './page-blocks.ts';
import {
  bodyOf,
  documentOf,
  isElement,
  isText,
  type PageDocument,
  type PageElement,
  type PageNode,
} from './page-document.ts';
import { pageFacts } from './page-facts.ts';
import { absoluteLink, linksMax, tidyLine, tidyText } from './plain-text.ts';
import { writeMarkdown } from './write-markdown.ts';

/** A selector of the caller that cannot be read. */
export class WrongSelector extends Error {
  readonly field: 'includeTags' | 'excludeTags';
  constructor(field: 'includeTags' | 'excludeTags', selector: string) {
    super(`'${selector.slice(0, 100)}' in '${field}' is no CSS selector.`);
    this.field = field;
  }
}

/** Above it, what looks at every paragraph's words to find boilerplate takes longer than the rest together. */
const patternCharsMax = 150_000;

/** A page as a document; `html` was scanned. Throws `WrongSelector`. */
export function readHtml(html: string, url: string, wishes: ExtractWishes): Omit<Extracted, 'rawHtml' | 'warnings'> {
  const document = documentOf(html);
  const base = baseOf(document, url);
  const facts = pageFacts(document, base);
  const links = linksOf(document, base);
  const root = contentOf(document, html.length, url, wishes);
  makeAbsolute(root, base);
  return { markdown: writeMarkdown(root), text: writeText(root), html: root.innerHTML.trim(), links, facts };
}

function baseOf(document: PageDocument, url: string): string {
  const said = document.querySelector('base[href]')?.getAttribute('href');
  return (said == null ? null : absoluteLink(said, url)) ?? url;
}

function linksOf(document: PageDocument, base: string): string[] {
  const links = new Set<string>();
  for (const anchor of document.querySelectorAll('a[href], area[href]')) {
    const link = absoluteLink(anchor.getAttribute('href') ?? '', base);
    if (link !== null) links.add(link);
    if (links.size >= linksMax) break;
  }
  return [...links];
}

/** The part of the page that is wanted, in a document of its own. */
function contentOf(document: PageDocument, chars: number, url: string, wishes: ExtractWishes): PageElement {
  for (const selector of wishes.excludeTags ?? []) {
    for (const element of selected(document, 'excludeTags', selector)) element.remove();
  }
  if (wishes.includeTags !== null) return includedOf(document, wishes.includeTags);
  if (!wishes.onlyMainContent) return wholeOf(document);
  const heading = headingOf(document);
  const main = mainOf(document, chars, url);
  if (main === null) return wholeOf(document);
  restoreHeading(main, heading);
  return main;
}

function selected(document: PageDocument, field: 'includeTags' | 'excludeTags', selector: string): PageElement[] {
  try {
    return [...document.querySelectorAll(selector)];
  } catch {
    throw new WrongSelector(field, selector);
  }
}

function includedOf(document: PageDocument, selectors: readonly string[]): PageElement {
  const wanted = new Set(selectors.flatMap((selector) => selected(document, 'includeTags', selector)));
  const root = document.createElement('div');
  // In the order of the page; what stands in another that is wanted comes with it.
  for (const element of [...document.querySelectorAll('*')]) {
    if (wanted.has(element) && !hasAncestorIn(element, wanted)) root.append(element);
  }
  return withoutUnread(root);
}

function hasAncestorIn(element: PageElement, wanted: ReadonlySet<unknown>): boolean {
  for (let at = element.parentNode as PageElement | null; at !== null; at = at.parentNode as PageElement | null) {
    if (wanted.has(at)) return true;
  }
  return false;
}

function wholeOf(document: PageDocument): PageElement {
  return withoutUnread(document.body);
}

function withoutUnread(root: PageElement): PageElement {
  for (const element of [...root.querySelectorAll(unreadSelector)]) element.remove();
  return root;
}

/** Null when nothing of the page looks like its main content. */
function mainOf(document: PageDocument, chars: number, url: string): PageElement | null {
  const parsed = new DefuddleClass(document as never, {
    url,
    // It would fetch from services that know some pages: nothing here leaves this thread.
    useAsync: false,
    removeContentPatterns: chars <= patternCharsMax,
  }).parse();
  if (parsed.content.trim() === '') return null;
  const body = withoutUnread(bodyOf(parsed.content));
  return tidyLine(body.textContent) === null ? null : body;
}

/** The heading of what the page is about: many sites have their own name as the first one. */
function headingOf(document: PageDocument): string | null {
  const within = document.querySelector('article h1, main h1, [role="main"] h1');
  if (within !== null) return tidyLine(within.textContent);
  const title = tidyLine(document.querySelector('title')?.textContent)?.toLowerCase() ?? '';
  const all = [...document.querySelectorAll('h1')].map((one) => ({
    text: tidyLine(one.textContent) ?? '',
    framed: one.closest(frame) !== null,
  }));
  const own = all.filter(({ text, framed }) => text !== '' && !framed);
  const named = own.find(({ text }) => title.includes(text.toLowerCase())) ?? own[0];
  // A title begins with what the page is about; the site's name comes last.
  const above = all.find(({ text, framed }) => framed && text !== '' && title.startsWith(text.toLowerCase()));
  return (named ?? above)?.text ?? null;
}

const frame = 'nav, header, footer, aside, [role="banner"]';

/** The main content comes without the page's own heading, or with one that has become a second. */
function restoreHeading(main: PageElement, heading: string | null): void {
  if (heading === null || main.querySelector('h1') !== null) return;
  const first = main.querySelector('h2');
  const same = first !== null && tidyLine(first.textContent) === heading ? first : null;
  const html = same === null ? escapeHtml(heading) : same.innerHTML;
  same?.remove();
  main.innerHTML = `<h1>${html}</h1>${main.innerHTML}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const addressed = [
  ['a', 'href'],
  ['area', 'href'],
  ['img', 'src'],
  ['video', 'src'],
  ['audio', 'src'],
  ['source', 'src'],
] as const;

/** Addresses absolute; what is no http(s) address (scripts, inlined pictures) goes, as do handlers of events. */
function makeAbsolute(root: PageElement, base: string): void {
  for (const [name, attribute] of addressed) {
    for (const element of root.querySelectorAll(`${name}[${attribute}]`)) {
      const said = element.getAttribute(attribute) ?? '';
      const link = absoluteLink(said, base) ?? (/^(?:mailto|tel):/i.test(said) ? said : null);
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

/** Text as it is read: a line for each block, nothing else of its form. */
function writeText(root: PageElement): string {
  const parts: string[] = [];
  collect(root, parts);
  return tidyText(parts.join(''));
}

function collect(parent: PageNode, parts: string[]): void {
  for (const child of parent.childNodes) {
    if (isText(child)) parts.push((child.textContent ?? '').replace(/\s+/g, ' '));
    else if (isElement(child)) {
      if (child.localName === 'pre') parts.push('\n', child.textContent ?? '', '\n');
      else if (child.localName === 'br') parts.push('\n');
      else if (isBlock(child.localName)) {
        parts.push('\n');
        collect(child, parts);
        parts.push('\n');
      } else {
        // Cells of a row stand beside each other.
        if (child.localName === 'td' || child.localName === 'th') parts.push(' ');
        collect(child, parts);
      }
    }
  }
}
