import { canonicalUrl, samePageKey } from '../canonical-url.ts';
import type { CrawlOptions } from './crawl-options.ts';
import type { FoundUrl } from './crawl-store.ts';

type ScopeOptions = Pick<
  CrawlOptions,
  'crawlEntireDomain' | 'allowSubdomains' | 'allowExternalLinks' | 'ignoreQueryParameters' | 'maxDepth'
>;

/** Tells which URLs belong to a crawl, apart from the caller's patterns. `start`: where it began, behind its first redirect. */
export function createScope(start: string, options: ScopeOptions) {
  const base = new URL(start);
  const host = plainHost(base);
  const folder = options.crawlEntireDomain ? '/' : folderOf(base.pathname);

  function holds(text: string): boolean {
    const url = URL.parse(text);
    if (url === null) return false;
    if (plainHost(url) === host) return url.port === base.port && isBelow(url.pathname, folder);
    if (options.allowSubdomains && url.hostname.endsWith(`.${host}`)) return true;
    return options.allowExternalLinks;
  }

  return {
    /** Whether a redirect stayed inside. */
    holds,
    /** Null: outside, a trap, or no page. */
    candidate(link: string, depth: number): FoundUrl | null {
      if (depth > options.maxDepth) return null;
      const text = canonicalUrl(link);
      if (text === null) return null;
      const url = new URL(text);
      if (options.ignoreQueryParameters) url.search = '';
      if (!holds(url.href) || isTrap(url) || noPage.test(url.pathname)) return null;
      return { ...keyed(url.href), depth, shape: shapeOf(url) };
    },
  };
}

/** The URL under which a crawl knows a page, and what tells two pages apart. */
export function keyed(canonical: string): Pick<FoundUrl, 'key' | 'url'> {
  return { key: samePageKey(canonical), url: canonical };
}

/** Links to these bring no words; they would cost a page each. */
const noPage =
  /\.(?:png|jpe?g|gif|webp|avif|ico|svg|bmp|tiff?|css|m?js|map|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|ogg|wav|flac|avi|mov|mkv|zip|gz|tgz|bz2|xz|7z|rar|tar|exe|dmg|pkg|deb|rpm|msi|iso|apk|bin|wasm)$/i;

function plainHost(url: URL): string {
  return url.hostname.replace(/^www\./, '');
}

/** `/docs/intro` includes everything below it; `/docs/index.html` everything in its folder. */
function folderOf(pathname: string): string {
  if (pathname.endsWith('/')) return pathname;
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  return last.includes('.') ? pathname.slice(0, -last.length) : `${pathname}/`;
}

function isBelow(pathname: string, folder: string): boolean {
  return pathname.startsWith(folder) || `${pathname}/` === folder;
}

/** Longer ones are made by programs that add to them at every step. */
const urlCharsMax = 2_000;
const segmentsMax = 20;
/** `/a/b/a/b/a/b`: relative links that are taken wrongly grow like this. */
const repeatsMax = 2;
const parametersMax = 12;
/** A page with this many parameters is one of countless views of a list. */
const facetsMin = 3;

/** Whether a URL looks like a place whose links never end. `url`: canonical. */
export function isTrap(url: URL): boolean {
  if (url.href.length > urlCharsMax || url.search.split('&').length > parametersMax) return true;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  return segments.length > segmentsMax || repeats(segments);
}

/**
 * The common shape of URLs of one endless kind: pages of a calendar differ only in digits, filters of a list in the
 * values of parameters. Null for other URLs.
 */
export function shapeOf(url: URL): string | null {
  const names = [...new Set(url.searchParams.keys())];
  const path = url.host + url.pathname;
  if (datedPath.test(url.pathname)) return (path + url.search).replace(/\d+/g, '#');
  if (datedQuery(url)) return `${path}?${url.search.replace(/\d+/g, '#')}`;
  return names.length >= facetsMin ? `${path}?${names.sort().join('&')}` : null;
}

/** A year and a month. No part of it may be long, because strangers choose the texts that it is matched against. */
const datedPath = /(?<!\d)(?:19|20|21|22)\d\d[-/_.](?:0?[1-9]|1[0-2])(?!\d)/;
const dateNames = new Set(['year', 'yr', 'month', 'mon', 'week', 'day', 'date', 'from', 'to', 'start', 'end']);

function datedQuery({ searchParams }: URL): boolean {
  for (const [name, value] of searchParams) if (dateNames.has(name.toLowerCase()) && /^\d/.test(value)) return true;
  return false;
}

/** Whether a run of segments repeats more than `repeatsMax` times in a row. */
function repeats(segments: readonly string[]): boolean {
  for (let size = 1; size * (repeatsMax + 1) <= segments.length; size++) {
    let same = 0;
    for (let at = size; at < segments.length; at++) {
      same = segments[at] === segments[at - size] ? same + 1 : 0;
      if (same >= size * repeatsMax) return true;
    }
  }
  return false;
}
