import { isWhole } from '../../kernel/json.ts';
import { canonicalUrl, isOfDomain, samePageKey } from '../canonical-url.ts';
import type { RawHit, SearchQuery } from './search-engine.ts';

/** One result as callers get it. */
export interface SearchHit {
  url: string;
  title: string;
  /** Not for pictures. */
  description?: string;
  /** 1 for the first of this answer. */
  position: number;
  /** The engine's own rating, which cannot be compared with another engine's. */
  score?: number;
  /** ISO 8601. */
  publishedDate?: string;
  /** For a picture on the page at `url`, as Firecrawl's clients know it; sides in pixels. */
  imageUrl?: string;
  imageWidth?: number;
  imageHeight?: number;
}

const hitUrlCharsMax = 2_048;
const titleCharsMax = 300;
const descriptionCharsMax = 2_000;
/** Pixels of a picture: larger ones are mistakes. */
const sideMax = 1_000_000;

/**
 * The hits of one engine in our form. Results that are not web pages are left out, each page appears once (the first,
 * with facts of later ones), only wished domains stay (engines take that as advice), and texts are bounded and free of
 * markup.
 */
export function mergeHits(raw: readonly RawHit[], query: SearchQuery, skip: number): SearchHit[] {
  if (query.source === 'images') return mergeImages(raw, query, skip);
  const byPage = new Map<string, PageHit>();
  for (const one of raw) {
    const canonical = typeof one.url === 'string' && one.url.length <= hitUrlCharsMax ? canonicalUrl(one.url) : null;
    if (canonical === null || !matchesDomains(canonical, query)) continue;
    const key = samePageKey(canonical);
    const known = byPage.get(key);
    if (known === undefined) {
      byPage.set(key, hitOf(one));
    } else {
      const again = hitOf(one);
      byPage.set(key, { ...again, ...known, description: known.description || again.description });
    }
  }
  return [...byPage.values()].slice(skip, skip + query.limit).map((hit, at) => ({ ...hit, position: at + 1 }));
}

/** The same for pictures: each picture once, however many a page has. */
function mergeImages(raw: readonly RawHit[], query: SearchQuery, skip: number): SearchHit[] {
  const byPicture = new Map<string, Omit<SearchHit, 'position'>>();
  for (const { url, title, image } of raw) {
    const page = webAddress(url);
    const picture = webAddress(image?.url);
    if (page === null || picture === null || !matchesDomains(page, query) || byPicture.has(picture)) continue;
    const width = sideOf(image?.width);
    const height = sideOf(image?.height);
    byPicture.set(picture, {
      title: plainText(title, titleCharsMax) || page,
      imageUrl: picture,
      ...(width !== null && height !== null && { imageWidth: width, imageHeight: height }),
      url: page,
    });
  }
  return [...byPicture.values()].slice(skip, skip + query.limit).map((hit, at) => ({ ...hit, position: at + 1 }));
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > hitUrlCharsMax || canonicalUrl(value) === null) return null;
  return new URL(value.trim()).href;
}

function sideOf(value: unknown): number | null {
  return isWhole(value, 1, sideMax) ? value : null;
}

function matchesDomains(url: string, { includeDomains, excludeDomains }: SearchQuery): boolean {
  if (excludeDomains.some((domain) => isOfDomain(url, domain))) return false;
  return includeDomains.length === 0 || includeDomains.some((domain) => isOfDomain(url, domain));
}

type PageHit = Omit<SearchHit, 'position'> & { description: string };

function hitOf({ url, title, description, score, publishedDate }: RawHit): PageHit {
  const href = new URL(String(url).trim()).href;
  const date = dateOf(publishedDate);
  return {
    url: href,
    title: plainText(title, titleCharsMax) || href,
    description: plainText(description, descriptionCharsMax),
    ...(typeof score === 'number' && Number.isFinite(score) ? { score } : {}),
    ...(date === null ? {} : { publishedDate: date }),
  };
}

/** Engines mark the words that were found, and write `&amp;` where no HTML was asked for. */
function plainText(value: unknown, charsMax: number): string {
  if (typeof value !== 'string') return '';
  const text = value
    .slice(0, charsMax * 4)
    .replace(/<\/?(?:strong|b|em|i|mark|br|span|p)(?:\s[^<>]{0,200})?\/?>/gi, '')
    .replace(/&(?:amp|lt|gt|quot|nbsp|apos|#\d{1,6}|#x[\da-f]{1,5});/gi, characterOf)
    .replace(/\s+/g, ' ')
    .trim();
  return (text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`).toWellFormed();
}

function characterOf(entity: string): string {
  const code = Number(entity.slice(2, -1).replace(/^x/i, '0x'));
  return entities[entity.toLowerCase()] ?? (code < 32 ? ' ' : String.fromCodePoint(code));
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&nbsp;': ' ',
  '&apos;': "'",
};

/** `2 days ago` is not a date, and Date.parse would make one of it. */
const dateLike = /^(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{2,8} \d{1,2}, \d{4}$)/;

function dateOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 40 || !dateLike.test(value)) return null;
  // Without a zone it means UTC, wherever this server runs.
  const zoned = /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value) || /^[A-Z][a-z]{2,8} \d/.test(value) ? `${value}Z` : value;
  const ms = Date.parse(zoned);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
