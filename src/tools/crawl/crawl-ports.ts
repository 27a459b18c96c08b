import type { Failure, FailureKind } from '../../kernel/failure.ts';

/** Given by the composition: what the page of a crawl costs, whose key began it. */
export interface CrawlMeter {
  /**
   * Runs `work` once the cost of the page is held; else the Failure of that. One that lasts (quota, key, account) stops
   * the crawl; after a passing one it is asked again. Rejects as `work` does.
   */
  page(owner: CrawlOwner, url: string, work: () => Promise<PageEnd>): Promise<Failure | null>;
  /** Why a page could not be paid now; null: it could. */
  mayPay(owner: CrawlOwner): Promise<Failure | null>;
  /**
   * Runs `write`, which keeps so many bytes of the account, and resolves with how many it did. Rejects as `write` does,
   * and with a FailureError, before it, when they do not fit its storage.
   */
  keep(owner: Pick<CrawlOwner, 'account'>, bytes: number, write: () => Promise<number | null>): Promise<number | null>;
}

/** The caller that began it. */
export interface CrawlOwner {
  tenant: string;
  account: string;
  keyId: string;
  /** End user for whom it works; absent or null: nobody was named. */
  user?: string | null | undefined;
}

export interface PageEnd {
  /**
   * `got`: the page was read and is kept. `worked`: it could not be, after a thread or the browser was killed over it, or
   * since the store failed, which has it as paid. Nothing else costs anything.
   */
  end: 'got' | 'worked' | 'nothing';
  failure: Failure | null;
}

/** Given by the composition: where `collection` writes. Metered as calls of the owner. */
export interface CrawlSink {
  /** Before a crawl begins: makes the collection if there is none and `model` is named. */
  check(of: CrawlCollectionOf): Promise<Failure | null>;
  /** Writing the same page again replaces it. With `again`, an unchanged page is not embedded again. */
  put(page: CrawlChunks): Promise<Failure | null>;
}

export interface CrawlCollectionOf extends CrawlOwner {
  collection: string;
  /** Alias that embeds; null = the collection's own. */
  model: string | null;
}

export interface CrawlChunks extends CrawlCollectionOf {
  /** URL of the page. */
  url: string;
  points: readonly CrawlPoint[];
  /** A try that died may have written it. */
  again: boolean;
}

export interface CrawlPoint {
  /** A UUID that is the same for the same piece of the same page. */
  id: string;
  text: string;
  payload: Readonly<Record<string, string | number | null>>;
}

/** Reasons to stop a crawl for good before its end. */
export function isPassing(failure: Failure): boolean {
  return passing.has(failure.kind) || (failure.kind === 'quota-exceeded' && ofMinute.test(failure.limit));
}

/** Calls or tokens of a minute, also of a tier, by the names of `QuotaExceeded`. */
const ofMinute = /(?:^|:)(?:minute|rpm)$/;

const passing: ReadonlySet<FailureKind> = new Set([
  'quota-unavailable',
  'overloaded',
  'no-target',
  'upstreams-limited',
]);
