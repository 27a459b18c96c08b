import type { Failure } from '../../kernel/failure.ts';
import type { RobotsRules } from '../../net/page-robots.ts';

/** Given by the composition: what the page of a crawl costs, whose key began it. Never rejects. */
export interface CrawlMeter {
  /** A Failure that lasts (quota, key, account) stops the crawl; one that passes is asked again. */
  hold(owner: CrawlOwner): Promise<CrawlHold | Failure>;
}

/** Who began it. */
export interface CrawlOwner {
  tenant: string;
  account: string;
  keyId: string;
}

/** Must be settled, once. */
export interface CrawlHold {
  kind: 'held';
  /** `got`: the page was read and is kept. Nothing else costs anything. */
  settle(end: 'got' | 'nothing', failure: Failure | null): void;
}

/** What a crawl asks of a site beside its pages. Neither rejects. */
export interface SiteFiles {
  robots(url: URL, signal: AbortSignal): Promise<RobotsRules>;
  /** A small file such as a sitemap; null when it cannot be had. */
  file(url: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array | null>;
}

/** Given by the composition: where `collection` writes. Never rejects. */
export interface CrawlSink {
  /** Writing the same page again replaces it. Metered as a call of the owner. */
  put(page: CrawlChunks): Promise<Failure | null>;
}

export interface CrawlChunks extends CrawlOwner {
  collection: string;
  model: string | null;
  points: readonly CrawlPoint[];
}

export interface CrawlPoint {
  /** A UUID that is the same for the same piece of the same page. */
  id: string;
  text: string;
  payload: Readonly<Record<string, string | number | null>>;
}

/** What makes a crawl stop for good, other than coming to its end. */
export function isPassing(failure: Failure): boolean {
  return failure.kind === 'quota-unavailable' || failure.kind === 'overloaded' || failure.kind === 'no-target';
}
