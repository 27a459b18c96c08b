import { parseHTML } from 'linkedom';

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

/** A document that always has a body with all of the page in it. Scanned first: see scan-html. */
export function documentOf(html: string): PageDocument {
  const { document }: { document: PageDocument & Record<string, unknown> } = parseHTML(withBody(html));
  keepBodyNextToHead(document);
  // The main-content extractors ask for it; nothing is laid out here.
  document.styleSheets ??= [];
  const view = document.defaultView as Record<string, unknown> | null;
  if (view !== null && view.getComputedStyle === undefined) view.getComputedStyle = () => ({ display: '' });
  return document;
}

/** Brings what pages write before, behind or around the body into it; linkedom may make a second, empty one of that. */
function keepBodyNextToHead(document: PageDocument): void {
  const head = document.querySelector('head');
  const body = document.querySelector('body');
  if (head === null || body === null) return;
  const { documentElement } = document;
  const others = [...documentElement.childNodes].filter((node) => node !== head);
  if (others.every((node) => node === body || isBlank(node))) return;
  const at = others.indexOf(body);
  body.remove();
  for (const node of others.slice(0, Math.max(at, 0)).toReversed()) body.prepend(node);
  for (const node of others.slice(at + 1)) body.append(node);
  documentElement.append(body);
}

function isBlank(node: PageNode): boolean {
  return !isElement(node) && !(isText(node) && (node.textContent ?? '').trim() !== '');
}

/** A document of this body alone. */
export function bodyOf(html: string): PageElement {
  const body = /^\s*<body[\s>]/i.test(html) ? html : `<body>${html}</body>`;
  return documentOf(`<!doctype html><html><head></head>${body}</html>`).body;
}

/** linkedom builds the given elements, and forgets those outside `<body>`. */
function withBody(html: string): string {
  if (/<body[\s>/]/i.test(html)) return html;
  const language = /<html[^>]{0,1000}?\slang\s*=\s*["']?([\w-]{1,40})/i.exec(html)?.[1];
  const open = `<!doctype html><html${language === undefined ? '' : ` lang="${language}"`}>`;
  const headEnd = /<\/head\s*>/i.exec(html);
  const head = headEnd === null ? '' : html.slice(0, headEnd.index).replace(rootTags, '');
  const rest = html.slice(headEnd === null ? 0 : headEnd.index + headEnd[0].length).replace(rootTags, '');
  return `${open}<head>${head}</head><body>${rest}</body></html>`;
}

const rootTags = /<!doctype[^>]{0,1000}>|<\/?(?:html|head)(?:\s[^>]{0,1000})?>/gi;
