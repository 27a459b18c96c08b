import type { JobStore, Lease } from '../../kernel/leased-jobs.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import type { CrawlKind, CrawlOptions } from './crawl-options.ts';
import type { CrawlOwner } from './crawl-ports.ts';

/**
 * The port of crawls: jobs, their pages and their webhooks' messages. One process at a time works at a crawl, under a
 * lease; a process that lost the lease writes nothing any more, but that it has not paid a page. A page is marked as paid
 * before it is paid, so no crash charges it twice. Its store is in stores/web. A failed write rejects with a FailureError.
 */
export interface CrawlStore extends JobStore<Crawl> {
  /** `full`: the tenant has `runningMax` that have not ended. Of ended ones the oldest go above `storedMax`. */
  create(crawl: NewCrawl, seeds: readonly FoundUrl[], bounds: CrawlBounds): Promise<'created' | 'full'>;
  find(tenant: string, id: string): Promise<Crawl | null>;
  /** Newest first. */
  list(tenant: string, listed: ListedCrawls): Promise<readonly Crawl[]>;
  /** Ends a running crawl; an ended one stays as it is. Null when there is none. */
  cancel(tenant: string, id: string, end: CrawlEnd): Promise<Crawl | null>;

  /** Running crawls. Pages that were under way wait again, and stay charged. */
  lease(worker: string, nowMs: number, untilMs: number, limit: number): Promise<readonly Crawl[]>;
  /**
   * The next pages, in the order in which they were found, charged from here on, until `limit` of the crawl have been
   * charged. Null: the lease is lost.
   */
  take(lease: Lease, count: number): Promise<readonly TakenPage[] | null>;
  /** Undoes `take`. A page that was not paid before is charged no more, also where the lease is lost. */
  putBack(lease: Lease, page: TakenPage): Promise<void>;
  /**
   * Ends a page; resolves with the bytes that it takes. Null when the lease is lost, or when another process has put the
   * page back unpaid meanwhile: then it waits again. `hooks` are queued with it.
   */
  finish(lease: Lease, page: FinishedPage, found: FoundUrls, hooks: readonly NewHook[]): Promise<number | null>;
  /** The page that is kept under this key. */
  page(id: string, key: string): Promise<ScrapedPage | null>;
  /** URLs from elsewhere than a page; false when the lease is lost. */
  add(lease: Lease, found: FoundUrls): Promise<boolean>;
  /** The crawl has begun: sitemaps are not looked for again. */
  begun(lease: Lease, hooks: readonly NewHook[]): Promise<boolean>;
  end(lease: Lease, end: CrawlEnd, hooks: readonly NewHook[]): Promise<boolean>;

  /** Pages in the order in which they were done, from behind `after` (0: the first); at most `bytesMax`, but one. */
  results(id: string, after: number, limit: number, bytesMax: number): Promise<readonly CrawlResult[]>;
  /** In the same order. */
  errors(id: string, limit: number): Promise<readonly CrawlError[]>;

  /**
   * Hooks whose next try is due, leased until `untilMs`: each tenant's oldest before a second one of any. `without`: tenants
   * that get none now.
   */
  dueHooks(nowMs: number, untilMs: number, limit: number, without: readonly string[]): Promise<readonly Hook[]>;
  hookDone(id: string): Promise<void>;
  hookLater(id: string, tries: number, nextMs: number): Promise<void>;

  /** Removes some crawls whose time is over, with their pages: asked again until none is left (0). */
  prune(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

/** `failed`: stopped before its end, with a reason; pages that were read are kept. */
const crawlStatuses = ['scraping', 'completed', 'failed', 'cancelled'] as const;
export type CrawlStatus = (typeof crawlStatuses)[number];

export interface NewCrawl extends CrawlOwner {
  /** `<kind>_…`; those of a kind sort by time. */
  id: string;
  url: string;
  options: CrawlOptions;
  createdMs: number;
}

export interface Crawl extends NewCrawl {
  status: CrawlStatus;
  /** Why it failed; null otherwise. */
  error: string | null;
  /** Pages that are kept, that failed, that wait or are under way, that were charged. */
  done: number;
  failed: number;
  waiting: number;
  charged: number;
  /** Whether it has begun: it has looked for sitemaps. */
  seeded: boolean;
  endedMs: number | null;
  /** When it is removed; null while it runs. */
  expiresMs: number | null;
}

export interface ListedCrawls {
  /** With it their ids begin. */
  kind: CrawlKind;
  which: 'all' | 'running';
  /** Id of the last of the page before; null: from the newest on. */
  before: string | null;
  limit: number;
}

export interface CrawlBounds {
  runningMax: number;
  storedMax: number;
}

export interface CrawlEnd {
  status: Exclude<CrawlStatus, 'scraping'>;
  error: string | null;
  atMs: number;
  expiresMs: number;
}

export interface TakenPage {
  seq: number;
  url: string;
  depth: number;
  /** Paid before, by a try that died: not to be paid again. */
  paid: boolean;
  /** Number of the take that charged it. */
  charge: number;
}

/** A URL that may become a page. One whose `key` the crawl knows already is left out. */
export interface FoundUrl {
  key: string;
  url: string;
  depth: number;
  /** Set for URLs of a kind that may go on for ever; no more than `shapeMax` of one shape are kept. */
  shape: string | null;
}

export interface FoundUrls {
  urls: readonly FoundUrl[];
  /** Rows that the crawl may have in all. */
  rowsMax: number;
  shapeMax: number;
}

export type FinishedPage = { seq: number; atMs: number } & (
  | {
      state: 'done';
      page: ScrapedPage;
      /** Hash of its words: a page with a known one is a duplicate, and is not kept. */
      contentHash: string;
      /** Where redirects led to: not fetched again. Null when that is the page itself. */
      aliasKey: string | null;
    }
  /** A copy of a page that was read, which says so itself: read, and not kept. */
  | { state: 'duplicate' }
  /** `free`: nothing was fetched, or nothing came of it; it does not count towards the crawl's limit. */
  | { state: 'failed'; code: string; error: string; free: boolean }
);

export interface CrawlResult {
  /** Place in the order of ends; the cursor behind it. */
  at: number;
  page: ScrapedPage;
}

export interface CrawlError {
  seq: number;
  url: string;
  code: string;
  error: string;
  atMs: number;
}

export interface NewHook {
  /** `msg_…`: the webhook-id, the same at every try. */
  id: string;
  /** JSON text, as it is signed and posted. */
  body: string;
  createdMs: number;
}

export interface Hook extends NewHook {
  crawl: string;
  tenant: string;
  /** The webhook in the crawl's options; null when it is gone. */
  webhook: CrawlOptions['webhook'];
  tries: number;
}

/** Left out because robots.txt says so. */
export const robotsCode = 'ROBOTS';
