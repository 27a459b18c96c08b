import { type Failure, isFailure } from '../../kernel/failure.ts';
import { canonicalUrl, isOfDomain, samePageKey } from '../canonical-url.ts';
import type { SitemapPages } from '../crawl/find-sitemaps.ts';
import type { PageReader } from '../page-reader.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import type { ToolAnswer } from '../tool-call.ts';
import { type MapRequest, readingForLinks } from './map-request.ts';

export interface MapParts {
  reader: PageReader;
  /** Pages of a site's sitemaps; those found until the signal. Never rejects. */
  sitemapPages(tenant: string, start: string, urlsMax: number, signal: AbortSignal): Promise<SitemapPages>;
}

/** The links of a site, by its sitemaps and its first page, without reading what they lead to. */
export async function mapSite(
  { reader, sitemapPages }: MapParts,
  request: MapRequest,
  tenant: string,
  signal: AbortSignal,
): Promise<ToolAnswer | Failure> {
  const { url, sitemap, limit, timeoutMs } = request;
  const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const options = readingForLinks(timeoutMs);
  const [page, named] = await Promise.all([
    sitemap === 'only' ? null : reader.read({ tenant, url, options, paced: false, signal }),
    sitemap === 'skip' ? noPages : sitemapPages(tenant, url, limit, ending),
  ]);
  if (isFailure(page)) {
    // The guard's refusal does not change with another try.
    const hopeless = page.kind === 'page-refused' && page.code === 'url_blocked';
    if (hopeless || named.urls.length === 0) return page;
  }
  const read = page === null || isFailure(page) ? null : page;
  const start = read?.metadata.url ?? url;
  const links = linksOf(request, start, [start, ...named.urls, ...(read?.links ?? [])]);
  const unread = isFailure(page);
  const warnings = [
    ...(unread ? ['The page itself could not be read. These links come from its sitemap.'] : []),
    ...(named.cut === null ? [] : [cutWarnings[named.cut]]),
    ...(read?.warnings ?? []),
  ];
  return { kind: 'answer', body: { links: links.map((link) => shown(link, start, read)) }, warnings };
}

const noPages: SitemapPages = { urls: [], cut: null };
const cutWarnings = {
  time: "Time ran out before all sitemaps were read, so links may be missing. Raise 'timeout'.",
  files: 'The site has more sitemaps than are read, so links may be missing.',
};

/** Links of the site alone, each page once; those that match the search come first. */
function linksOf(request: MapRequest, start: string, found: readonly string[]): string[] {
  const { includeSubdomains, ignoreQueryParameters, search, limit } = request;
  const host = new URL(start).hostname.replace(/^www\./, '');
  const links = new Map<string, string>();
  for (const text of found) {
    const canonical = canonicalUrl(text, start);
    if (canonical === null || !isOfDomain(canonical, host)) continue;
    const isSameHost = new URL(canonical).hostname.replace(/^www\./, '') === host;
    if (!isSameHost && !includeSubdomains) continue;
    const link = ignoreQueryParameters ? canonical.replace(/\?.*/s, '') : canonical;
    const key = samePageKey(link);
    if (!links.has(key)) links.set(key, link);
    if (links.size >= foundMax) break;
  }
  const all = [...links.values()];
  return (search === null ? all : bySearch(all, search)).slice(0, limit);
}

const foundMax = 60_000;
const wordsMax = 20;

function bySearch(links: readonly string[], search: string): string[] {
  const words = search.toLowerCase().split(/\s+/).slice(0, wordsMax);
  const hits = (link: string) => words.filter((word) => link.toLowerCase().includes(word)).length;
  return links
    .map((link) => ({ link, hits: hits(link) }))
    .toSorted((a, b) => b.hits - a.hits)
    .map(({ link }) => link);
}

function shown(url: string, start: string, page: ScrapedPage | null) {
  if (page === null || canonicalUrl(start) !== url) return { url };
  const { title, description } = page.metadata;
  return { url, ...(title !== null && { title }), ...(description !== null && { description }) };
}
