import type { SiteFileReader } from '../site-files.ts';
import type { CrawlThreads } from './crawl-threads.ts';

/** Largest size of one file, both compressed and decompressed. */
const bytesMax = 10 * 1024 * 1024;
const filesMax = 20;

export interface SitemapParts {
  files: SiteFileReader;
  threads: CrawlThreads;
  /** The tenant whose turn it takes. */
  tenant: string;
  signal: AbortSignal;
  /** URLs in all. */
  urlsMax: number;
}

export interface SitemapPages {
  urls: readonly string[];
  /** Why some sitemaps were not read; null: all were, or as many as give `urlsMax`. */
  cut: 'time' | 'files' | null;
}

/**
 * The pages that a site's sitemaps name: those of its robots.txt, else `/sitemap.xml`, and what these refer to. Those
 * found until the signal.
 */
export async function findInSitemaps(start: string, parts: SitemapParts): Promise<SitemapPages> {
  const { files, threads, tenant, signal, urlsMax } = parts;
  const { origin } = new URL(start);
  const { sitemaps } = await files.robots(new URL(start), signal);
  const waiting = sitemaps.length > 0 ? [...sitemaps] : [`${origin}/sitemap.xml`];
  const fetched = new Set<string>();
  const pages: string[] = [];
  for (const one of waiting) {
    if (pages.length >= urlsMax || signal.aborted) break;
    const url = URL.parse(one, origin)?.href;
    if (url === undefined || fetched.has(url)) continue;
    if (fetched.size >= filesMax) return { urls: pages, cut: 'files' };
    fetched.add(url);
    const body = await files.file(tenant, url, bytesMax, signal);
    if (body === null) continue;
    const found = await threads.ask(tenant, 'sitemap', { body, bytesMax, urlsMax: urlsMax - pages.length });
    if (found === null) continue;
    for (const page of found.pages) pages.push(page);
    waiting.push(...found.sitemaps.slice(0, filesMax + 1));
  }
  return { urls: pages, cut: signal.aborted && pages.length < urlsMax ? 'time' : null };
}
