import { Parser } from 'htmlparser2';
import { type Extracted, noFacts } from './extract-order.ts';
import { documentOf, isElement, type PageElement } from './page-document.ts';
import { absoluteLink, onlyFirst, plainHtml, textCharsMax, tidyLine, tidyText } from './plain-text.ts';
import { scanHtml } from './scan-html.ts';

type Read = Omit<Extracted, 'rawHtml'>;

/** Plain text, unchanged. */
export function readText(text: string): Read {
  const { body, warnings } = firstOf(text.replace(/\r\n?/g, '\n'), textCharsMax);
  return { markdown: body, text: body, html: '', links: [], facts: noFacts, warnings };
}

/** JSON, unchanged, as a block of code in markdown. */
export function readJson(text: string): Read {
  const [open, close] = ['```json\n', '\n```'];
  const { body, warnings } = firstOf(text.trim(), textCharsMax - open.length - close.length);
  return { markdown: `${open}${body}${close}`, text: body, html: '', links: [], facts: noFacts, warnings };
}

function firstOf(text: string, charsMax: number): { body: string; warnings: string[] } {
  const warnings = text.length > charsMax ? [onlyFirst(charsMax, 'characters')] : [];
  return { body: text.slice(0, charsMax), warnings };
}

/** A feed as a list of its entries; other XML as its text. Throws `UnfitPage`. */
export function readXml(xml: string, url: string): Read {
  const feed = feedOf(xml, url);
  if (feed !== null) return feed;
  const parts: string[] = [];
  const apart = () => void parts.push('\n');
  const parser = new Parser(
    { ontext: (text) => void parts.push(text), onopentagname: apart, onclosetag: apart },
    { xmlMode: true },
  );
  parser.end(xml);
  return readText(tidyText(parts.join('')));
}

const entriesMax = 1_000;

function feedOf(xml: string, url: string): Read | null {
  if (!/<(?:rss|feed|rdf:RDF)[\s>]/.test(xml.slice(0, 5_000))) return null;
  // Read as HTML, `<link>` would be an element without content, and CDATA a comment.
  const html = withoutCdata(xml)
    .replace(/<\?xml[^>]{0,200}\?>/g, '')
    // HTML knows no `<title/>`: what follows would be in it.
    .replace(/<([\w:.-]+)((?:\s[^<>]*)?)\/>/g, '<$1$2></$1>')
    .replace(/<(\/?)link\b/g, '<$1feed-link')
    .replace(/<(\/?)title\b/g, '<$1feed-title');
  scanHtml(html);
  const document = documentOf(`<!doctype html><html><head></head><body>${html}</body></html>`);
  const entries = [...document.querySelectorAll('item, entry')];
  const warnings = entries.length > entriesMax ? [onlyFirst(entriesMax, 'entries')] : [];
  const links = new Set<string>();
  const lines = entries.slice(0, entriesMax).map((entry) => {
    const title = textIn(entry, 'feed-title') ?? 'Untitled';
    const link = linkIn(entry, url);
    if (link !== null) links.add(link);
    const date = textIn(entry, 'pubdate, published, updated, dc\\:date');
    const head = link === null ? title : `[${title}](${link})`;
    const summary = entry.querySelector('description, summary, content, content\\:encoded');
    // HTML as text, or as elements of the feed.
    const html = summary?.querySelector('*') == null ? summary?.textContent : summary.innerHTML;
    const plain = tidyLine(plainHtml(html ?? '', url).text);
    return `- ${head}${date === null ? '' : ` (${date})`}${plain === null ? '' : `\n  ${plain.slice(0, 500)}`}`;
  });
  const title = textIn(document.body, 'feed-title');
  const markdown = [...(title === null ? [] : [`# ${title}`]), lines.join('\n')].join('\n\n');
  const facts = { ...noFacts, title };
  return { markdown, text: markdown, html: '', links: [...links], facts, warnings };
}

/** Not by a regular expression, which takes the square of a feed of openings without an end. */
function withoutCdata(xml: string): string {
  const [before = '', ...sections] = xml.split('<![CDATA[');
  const plain = sections.map((section) => {
    const end = section.indexOf(']]>');
    if (end === -1) return section;
    return section.slice(0, end).replaceAll('&', '&amp;').replaceAll('<', '&lt;') + section.slice(end + 3);
  });
  return before + plain.join('');
}

function textIn(element: PageElement, selector: string): string | null {
  return tidyLine(element.querySelector(selector)?.textContent);
}

function linkIn(entry: PageElement, base: string): string | null {
  // Other relations are the feed itself, comments, or sound.
  const places = ['feed-link[rel="alternate"]', 'feed-link:not([rel])', 'feed-link'];
  const element = places.map((place) => entry.querySelector(place)).find((found) => found !== null);
  const guid = /^https?:.*/i.exec(textIn(entry, 'guid') ?? '')?.[0];
  const href = element?.getAttribute('href') ?? tidyLine(element?.textContent) ?? guid;
  return href == null ? null : absoluteLink(href, baseOf(element ?? entry, base));
}

/** The address that relative links of an element begin at: `xml:base` of it and of what it is in. */
function baseOf(element: PageElement, url: string): string {
  const parent = element.parentNode;
  const base = parent !== null && isElement(parent) ? baseOf(parent, url) : url;
  return absoluteLink(element.getAttribute('xml:base') ?? '', base) ?? base;
}
