import type { Failure } from '../kernel/failure.ts';
import type { ScrapedPage, ScrapeOptions } from './scrape/scraped-page.ts';

/** Reads pages of the web: fetch through the guard, extraction in killable threads, cache. Never rejects. */
export interface PageReader {
  /** A page that answers 404 is a page; what cannot be fetched is a Failure (400 `url_blocked`, 408, 502). */
  read(order: PageOrder): Promise<ScrapedPage | Failure>;
  close(): Promise<void>;
}

/** Whether a page that could not be given is paid nevertheless: it kept a thread or the browser until it was killed. */
export function isPaid(failure: Failure): boolean {
  return failure.kind === 'page-refused' && failure.worked === true;
}

export interface PageOrder {
  /** Owner of the cache and corpus. */
  tenant: string;
  /** Owner of the quota that pays for the model's text (`summary`, `json`); absent: no model is asked. */
  keyId?: string;
  url: string;
  options: ScrapeOptions;
  /** For crawls: the host's pace is kept by the crawl itself. Scrapes wait for their turn at the host. */
  paced: boolean;
  /** Asked before a redirect is followed. A refusal is a Failure `page_redirects`. Default: any target. */
  mayFollow?: (url: URL) => Promise<boolean>;
  signal: AbortSignal;
}
