import { parseHTML } from 'linkedom';
import { type PageTags, scanHtml } from './scan-html.ts';

/** The used members of a document: few libraries keep to the whole standard. */
export interface PageNode {
  readonly nodeType: number;
  textContent: string | null;
  readonly childNodes: Iterable<PageNode>;
}

export interface PageElement extends PageNode {
  readonly localName: string;
  innerHTML: string;
  readonly parentNode: PageNode | null;
  readonly previousSibling: PageNode | null;
  readonly attributes: Iterable<{ name: string; value: string }>;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  closest(selector: string): PageElement | null;
  matches(selector: string): boolean;
  append(child: PageNode): void;
  prepend(child: PageNode): void;
  remove(): void;
  removeChild(child: PageNode): void;
  replaceWith(node: PageNode): void;
  replaceChildren(node: PageNode): void;
  contains(node: PageNode): boolean;
  /** Joins adjacent texts. */
  normalize(): void;
}

export interface PageDocument {
  readonly documentElement: PageElement;
  readonly body: PageElement;
  createElement(name: string): PageElement;
  createTextNode(text: string): PageNode;
  cloneNode(deep: true): PageDocument;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

export function isElement(node: PageNode): node is PageElement {
  return node.nodeType === 1;
}

export function isText(node: PageNode): boolean {
  return node.nodeType === 3;
}

/** A document that always has a body with all of the page in it. Throws `UnfitPage`. */
export function pageDocument(page: string): PageDocument {
  // More may come behind the ends.
  const open = page.replace(/<\/(?:body|html)\s*>/gi, '');
  const tags = scanHtml(open);
  const html = withRoots(open, tags.roots);
  // Without some of its tags, more of a page may be tags.
  const { capitals } = html === open ? tags : scanHtml(html);
  const document = documentOf(html);
  if (capitals) lowerNames(document);
  if (html.includes('shadowrootmode')) showShadows(document);
  return document;
}

/** A document of HTML with a head and a body, which was scanned (see scan-html) or written here. */
export function documentOf(html: string): PageDocument {
  const { document }: { document: PageDocument & Record<string, unknown> } = parseHTML(html);
  keepBodyNextToHead(document);
  // The main-content extractors ask for it; nothing is laid out here.
  document.styleSheets ??= [];
  const view = document.defaultView as Record<string, unknown> | null;
  if (view !== null && view.getComputedStyle === undefined) view.getComputedStyle = () => ({ display: '' });
  return document;
}

/** Old pages write `HREF`, which linkedom leaves as it is. */
function lowerNames(document: PageDocument): void {
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      const lower = name.toLowerCase();
      if (lower === name) continue;
      element.removeAttribute(name);
      if (element.getAttribute(lower) === null) element.setAttribute(lower, value);
    }
  }
}

const shadowDepthMax = 8;

/** Shadow trees that a page writes itself: browsers show them, one within another too. */
function showShadows(document: PageDocument): void {
  for (let depth = 0; depth < shadowDepthMax; depth++) {
    for (const template of [...document.querySelectorAll('template[shadowrootmode]')]) {
      // Those within one come in the next round: each would be written and read once for all around it.
      const { parentNode: parent } = template;
      if (parent !== null && isElement(parent) && parent.closest('template') !== null) continue;
      const shown = document.createElement('div');
      shown.innerHTML = template.innerHTML;
      template.replaceWith(shown);
    }
  }
}

/** Brings what pages write before, behind or around the body into it; linkedom may make a second, empty one of that. */
function keepBodyNextToHead(document: PageDocument): void {
  const head = document.querySelector('head');
  const body = document.querySelector('body');
  if (head === null || body === null) return;
  const { documentElement } = document;
  const others = [...documentElement.childNodes].filter((node) => node !== head);
  const at = others.indexOf(body);
  body.remove();
  for (const node of others.slice(0, Math.max(at, 0)).toReversed()) body.prepend(node);
  for (const node of others.slice(at + 1)) body.append(node);
  documentElement.append(body);
}

/** A document of this body alone. */
export function bodyOf(html: string): PageElement {
  const body = /^\s*<body[\s>]/i.test(html) ? html : `<body>${html}</body>`;
  return documentOf(`<!doctype html><html><head></head>${body}</html>`).body;
}

/** linkedom builds the given elements, and forgets those outside `<body>`, or all where `<head>` is left out. */
function withRoots(html: string, roots: PageTags['roots']): string {
  if (roots.has('body') && roots.has('head')) return html;
  const language = /<html[^>]{0,1000}?\slang\s*=\s*["']?([\w-]{1,40})/i.exec(html)?.[1];
  const open = `<!doctype html><html${language === undefined ? '' : ` lang="${language}"`}>`;
  if (roots.has('body')) return `${open}<head></head>${html.replace(rootTags, '')}</html>`;
  const headEnd = /<\/head\s*>/i.exec(html);
  const head = headEnd === null ? '' : html.slice(0, headEnd.index).replace(rootTags, '');
  const rest = html.slice(headEnd === null ? 0 : headEnd.index + headEnd[0].length).replace(rootTags, '');
  return `${open}<head>${head}</head><body>${rest}</body></html>`;
}

const rootTags = /<!doctype[^>]{0,1000}>|<\/?(?:html|head)(?:\s[^>]{0,1000})?>/gi;
