import type { PageFacts } from './extract-order.ts';
import type { PageDocument } from './page-document.ts';
import { absoluteLink, tidyLine } from './plain-text.ts';

const ogMax = 50;
const ogCharsMax = 2_000;

/** Facts that a page states about itself: its head, OpenGraph, and dates at the usual places of publication dates. */
export function pageFacts(document: PageDocument, base: string): PageFacts {
  const metas = metaTags(document);
  const meta = (...names: string[]) =>
    names.map((name) => metas.get(name)).find((value) => value !== undefined) ?? null;
  const canonical = document.querySelector('link[rel~="canonical"]')?.getAttribute('href') ?? meta('og:url');
  const { documentElement } = document;
  const language = documentElement.getAttribute('lang') ?? documentElement.getAttribute('xml:lang');
  return {
    title: titleOf(document) ?? tidyLine(meta('og:title', 'twitter:title')),
    description: tidyLine(meta('description', 'og:description', 'twitter:description')),
    language: tidyLine(language ?? meta('content-language', 'og:locale')),
    canonical: canonical === null ? null : absoluteLink(canonical, base),
    published: publishedAt(document, meta),
    og: openGraph(metas),
  };
}

/** By lower-case name, the first of each. */
function metaTags(document: PageDocument): Map<string, string> {
  const metas = new Map<string, string>();
  for (const tag of document.querySelectorAll('meta')) {
    const name = (tag.getAttribute('property') ?? tag.getAttribute('name') ?? tag.getAttribute('http-equiv'))?.trim();
    const content = tag.getAttribute('content')?.trim();
    if (!name || !content || metas.has(name.toLowerCase())) continue;
    metas.set(name.toLowerCase(), content);
  }
  return metas;
}

function titleOf(document: PageDocument): string | null {
  for (const title of document.querySelectorAll('title')) {
    if (title.closest('svg') === null) return tidyLine(title.textContent);
  }
  return null;
}

function openGraph(metas: ReadonlyMap<string, string>): Record<string, string> {
  const found = [...metas].filter(([name]) => /^(?:og|article):[\w:.-]{1,100}$/.test(name));
  return Object.fromEntries(found.slice(0, ogMax).map(([name, value]) => [name, value.slice(0, ogCharsMax)]));
}

/** ISO 8601, or unchanged when its format is unknown. */
function publishedAt(document: PageDocument, meta: (...names: string[]) => string | null): string | null {
  const written =
    meta('article:published_time', 'datepublished', 'date', 'dc.date', 'dcterms.date', 'pubdate', 'publish-date') ??
    datePublished(document) ??
    document.querySelector('article time[datetime], main time[datetime]')?.getAttribute('datetime') ??
    null;
  if (written === null) return null;
  const text = written.trim().slice(0, 100);
  const ms = Date.parse(text);
  return Number.isNaN(ms) || /^\d{4}-\d{2}-\d{2}$/.test(text) ? tidyLine(text) : new Date(ms).toISOString();
}

const jsonLdMax = 20;
const jsonLdCharsMax = 200_000;

/** schema.org's word for it, as microdata or as JSON-LD, which is searched as text: it may be nested anyhow. */
function datePublished(document: PageDocument): string | null {
  const item = document.querySelector('[itemprop="datePublished"]');
  const written = item?.getAttribute('content') ?? item?.getAttribute('datetime');
  if (written) return written;
  const scripts = [...document.querySelectorAll('script[type="application/ld+json"]')].slice(0, jsonLdMax);
  for (const script of scripts) {
    const text = (script.textContent ?? '').slice(0, jsonLdCharsMax);
    const date = /"datePublished"\s*:\s*"([^"]{4,60})"/.exec(text)?.[1];
    if (date !== undefined) return date;
  }
  return null;
}
