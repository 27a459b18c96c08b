import { Parser } from 'htmlparser2';
import { type Extracted, noFacts } from './extract-order.ts';

/** Most characters of text that a page gives. */
export const textCharsMax = 2_000_000;
export const linksMax = 20_000;

/** Warning of content that a bound cuts: a caller must know that more was there. */
export const onlyFirst = (count: number, what: string) => `Only the first ${count} ${what} are given.`;

const hidden = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'select', 'head']);
const blocks = new Set(
  (
    'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header ' +
    'hr li main nav ol p pre section table tr ul'
  ).split(' '),
);

/** Left out of the main content: navigation has no text of the page in it. */
const frames = new Set(['nav', 'footer', 'aside']);

/**
 * Text, title and links of a page in one pass, without building a document: linear in time and flat in memory.
 * `onlyMain`: without what its elements call navigation, footers and asides.
 */
export function plainHtml(html: string, url: string, onlyMain = false): Omit<Extracted, 'rawHtml'> {
  const frameStarts: number[] = [];
  const parts: string[] = [];
  const links = new Set<string>();
  let chars = 0;
  let hiddenDepth = 0;
  let title: string | null = null;
  let inTitle = false;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'title' && title === null) inTitle = true;
      if (hidden.has(name)) hiddenDepth += 1;
      if (onlyMain && frames.has(name)) frameStarts.push(parts.length);
      if (blocks.has(name)) parts.push('\n');
      // Cells of a row are next to each other.
      if (name === 'td' || name === 'th') parts.push(' ');
      if (name === 'a' && attributes.href !== undefined && links.size <= linksMax) {
        const link = absoluteLink(attributes.href, url);
        if (link !== null) links.add(link);
      }
    },
    onclosetag(name, isImplied) {
      if (onlyMain && frames.has(name)) {
        const from = frameStarts.pop();
        // One that nobody closes may hold the rest of the page.
        if (!isImplied && from !== undefined) parts.length = from;
      }
      if (name === 'title') inTitle = false;
      if (hidden.has(name)) hiddenDepth -= 1;
      if (blocks.has(name)) parts.push('\n');
    },
    ontext(text) {
      if (inTitle) title = ((title ?? '') + text).slice(0, 1_000);
      if (inTitle || hiddenDepth > 0 || chars > textCharsMax) return;
      chars += text.length;
      parts.push(text);
    },
  });
  parser.end(html);
  const text = tidyText(parts.join(''));
  const warnings = chars > textCharsMax ? [onlyFirst(textCharsMax, 'characters')] : [];
  const facts = { ...noFacts, title: tidyLine(title) };
  return { markdown: text, text, html: '', links: firstLinks(links, warnings), facts, warnings };
}

/** The first `linksMax` of them; one more makes a warning. */
export function firstLinks(links: ReadonlySet<string>, warnings: string[], what = 'links'): string[] {
  if (links.size > linksMax) warnings.push(onlyFirst(linksMax, what));
  return [...links].slice(0, linksMax);
}

/** Runs of white space become one; of empty lines at most one stays. */
export function tidyText(text: string): string {
  const lines = text.slice(0, textCharsMax).split('\n');
  const tidied: string[] = [];
  for (const line of lines) {
    const tidy = line.replace(/[ \t\r\f\v\u00a0]+/g, ' ').trim();
    if (tidy !== '' || (tidied.length > 0 && tidied[tidied.length - 1] !== '')) tidied.push(tidy);
  }
  return tidied.join('\n').trim();
}

export function tidyLine(text: string | null | undefined): string | null {
  const tidy = text?.slice(0, 5_000).replace(/\s+/g, ' ').trim() ?? '';
  return tidy === '' ? null : tidy;
}

/** http(s) links alone; null for the rest. */
export function absoluteLink(href: string, base: string): string | null {
  if (href.length > 8_192) return null;
  const url = URL.parse(href.trim(), base);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : null;
}
