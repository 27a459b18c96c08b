import { canonicalUrl, samePageKey } from '../canonical-url.ts';
import type { CrawlOptions } from './crawl-options.ts';
import type { FoundUrl } from './crawl-store.ts';
import { isTrap, shapeOf } from './url-traps.ts';

/** Which URLs belong to a crawl, the caller's patterns aside. Pure. */
export interface CrawlScope {
  /** Null: outside, a trap, or no page. */
  candidate(link: string, depth: number): FoundUrl | null;
  /** Whether a redirect stayed inside. */
  holds(url: string): boolean;
}

type ScopeOptions = Pick<
  CrawlOptions,
  'crawlEntireDomain' | 'allowSubdomains' | 'allowExternalLinks' | 'ignoreQueryParameters' | 'maxDepth'
>;

/** `start`: where the crawl began; a redirect of the first page moves it. */
export function createScope(start: string, options: ScopeOptions): CrawlScope {
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
    holds,
    candidate(link, depth) {
      if (depth > options.maxDepth) return null;
      const text = canonicalUrl(link);
      if (text === null) return null;
      const url = new URL(text);
      if (options.ignoreQueryParameters) url.search = '';
      if (!holds(url.href) || isTrap(url) || isNoPage(url.pathname)) return null;
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

function isNoPage(pathname: string): boolean {
  return noPage.test(pathname);
}

function plainHost(url: URL): string {
  return url.hostname.replace(/^www\./, '');
}

/** `/docs/intro` holds what is below it; `/docs/index.html` what is beside it. */
function folderOf(pathname: string): string {
  if (pathname.endsWith('/')) return pathname;
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  return last.includes('.') ? pathname.slice(0, -last.length) : `${pathname}/`;
}

function isBelow(pathname: string, folder: string): boolean {
  return pathname.startsWith(folder) || `${pathname}/` === folder;
}
