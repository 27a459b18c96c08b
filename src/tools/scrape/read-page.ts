import type { Clock } from '../../kernel/clock.ts';
import { type Failure, invalid, type PageRefusal } from '../../kernel/failure.ts';
import type { FetchRefusal, Validators } from '../../net/guarded-fetch.ts';
import { type PageFetched, type PageFetcher, pdfBytesMax } from '../../net/page-fetch.ts';
import { type Extracted, noFacts } from '../extract/extract-order.ts';
import type { ExtractPool } from '../extract/extract-pool.ts';
import { pageKindOf } from '../extract/page-kind.ts';
import type { PageOrder, PageReader } from '../page-reader.ts';
import type { PageStore } from '../page-store.ts';
import { type CachedPage, createPageCache } from './page-cache.ts';
import type { PageMetadata, ScrapedPage, ScrapeOptions } from './scraped-page.ts';

export interface PageReaderParts {
  fetcher: PageFetcher;
  pool: ExtractPool;
  /** Null: nothing is kept. */
  store: PageStore | null;
  clock: Clock;
  /** `tools.scrape.max_bytes`, in force. */
  bytesMax(): number;
  /** For the operator's log: a store that does not answer costs no scrape. */
  onTrouble(message: string): void;
}

const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,application/pdf;q=0.9,*/*;q=0.8';
/** A scrape that names no pace of its own: several pages of one host may be asked at one time. */
const scrapeDelayMs = 0;

/** Cache → fetch → extraction → cache. */
export function createPageReader(parts: PageReaderParts): PageReader {
  const { clock, pool } = parts;
  const cache = createPageCache(parts);

  async function read(order: PageOrder): Promise<ScrapedPage | Failure> {
    const { options } = order;
    const endMs = clock.monotonicMs() + options.timeoutMs;
    const unsupported = notRendered(options);
    if (unsupported !== null) return unsupported;
    const kept = await cache.find(order, 'none');
    if (kept?.is === 'fresh') return keptShown(kept, options);
    const fetched = await fetchPage(order, kept);
    if (!fetched.ok) return refusalOf(fetched);
    if (kept !== null && fetched.status === 304 && fetched.url === kept.known.url) {
      await cache.renew(kept.page, fetched);
      return keptShown(kept, options);
    }
    return extractPage(order, fetched, endMs);
  }

  function fetchPage(
    { url, options, paced, mayFollow, signal }: PageOrder,
    kept: (CachedPage & { is: 'stale' }) | null,
  ): Promise<PageFetched> {
    const wishedBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    const page = Math.min(parts.bytesMax(), wishedBytes);
    return parts.fetcher.fetch({
      url,
      accept,
      headers: options.headers,
      mobile: options.mobile,
      bytesMax: { page, pdf: Math.min(pdfBytesMax, wishedBytes) },
      timeoutMs: options.timeoutMs,
      known: kept?.known ?? null,
      mayFollow: mayFollow ?? null,
      delayMs: paced ? null : scrapeDelayMs,
      signal,
    });
  }

  async function extractPage(
    order: PageOrder,
    fetched: PageFetched & { ok: true },
    endMs: number,
  ): Promise<ScrapedPage | Failure> {
    const { url, options, signal } = order;
    const { body, contentType } = fetched;
    const metadata = metadataOf(url, fetched);
    const kind = pageKindOf(contentType, body);
    if (kind === null) {
      const what = contentType === '' ? 'no text' : `'${contentType.slice(0, 80)}', no text`;
      return shownOf(nothing, options, metadata, [`The page is ${what}: nothing of it can be given.`]);
    }
    if (kind === 'pdf' && fetched.cut) {
      return refused('page_too_large', `The page cannot be read: the PDF is larger than ${body.length} bytes.`);
    }
    const warnings = fetched.cut ? [`The page was cut after ${body.length} bytes.`] : [];
    const { onlyMainContent, includeTags, excludeTags } = options;
    const wishes = { onlyMainContent, includeTags, excludeTags, rawHtml: options.formats.includes('rawHtml') };
    const job = { kind, body: new Uint8Array(body), url: fetched.url, contentType, wishes } as const;
    const leftMs = () => Math.max(1, endMs - clock.monotonicMs());
    const way = fetched.cut ? 'plain' : 'document';
    let outcome = await pool.extract({ ...job, way }, leftMs(), signal);
    if (outcome.kind === 'unfit' && (kind === 'html' || kind === 'xml') && way === 'document') {
      if (endMs <= clock.monotonicMs()) return tooSlow;
      warnings.push(`The page is given as plain text: ${outcome.why}.`);
      outcome = await pool.extract({ ...job, way: 'plain' }, leftMs(), signal);
    }
    switch (outcome.kind) {
      case 'extracted':
        return keepAndShow(order, outcome.extracted, metadata, fetched, [...warnings, ...outcome.extracted.warnings]);
      case 'wrong':
        return invalid(outcome.field, outcome.message);
      case 'unfit':
        if (endMs <= clock.monotonicMs()) return tooSlow;
        return refused('page_broken', `The page cannot be read: ${outcome.why}.`);
      case 'busy':
        return { kind: 'overloaded', message: 'Too many pages are being read at once. Retry shortly.' };
      case 'aborted':
        return left;
    }
  }

  async function keepAndShow(
    order: PageOrder,
    extracted: Extracted,
    facts: PageMetadata,
    validators: Validators,
    warnings: readonly string[],
  ): Promise<ScrapedPage> {
    const metadata = { ...facts, ...extracted.facts };
    await cache.keep(order, { extracted, metadata, validators, warnings });
    return shownOf(extracted, order.options, metadata, warnings);
  }

  return {
    async read(order) {
      return order.signal.aborted ? left : read(order);
    },
    close: () => pool.close(),
  };
}

const nothing: Extracted = { markdown: '', text: '', html: '', rawHtml: null, links: [], facts: noFacts, warnings: [] };

function refused(code: PageRefusal, message: string): Failure {
  return { kind: 'page-refused', code, message, param: code === 'url_blocked' ? 'url' : null };
}

const tooSlow = refused('page_timeout', "The page did not come in time; 'timeout' may be raised.");
/** Nobody is there to read it. */
const left: Failure = { kind: 'request-timeout', message: 'Nobody waits for the page any more.' };

function notRendered({ render, formats }: ScrapeOptions): Failure | null {
  if (render !== 'always' && !formats.includes('screenshot')) return null;
  const wish = render === 'always' ? "'render: always'" : "The format 'screenshot'";
  const message = `${wish} needs Chromium, which this version does not drive yet: ask without it.`;
  return { kind: 'unsupported', message };
}

const codeOf = {
  blocked: 'url_blocked',
  timeout: 'page_timeout',
  'too-large': 'page_too_large',
  redirects: 'page_redirects',
  broken: 'page_broken',
  unreachable: 'page_unreachable',
} as const satisfies Record<Exclude<FetchRefusal, 'aborted'>, PageRefusal>;

function refusalOf({ reason, message }: PageFetched & { ok: false }): Failure {
  if (reason === 'aborted') return left;
  if (reason === 'busy') return { kind: 'overloaded', message: `The page cannot be fetched now: ${message}.` };
  const code = codeOf[reason];
  const named = code === 'url_blocked' ? ' (url_blocked)' : '';
  return refused(code, `The page cannot be fetched${named}: ${message}.`);
}

function metadataOf(sourceURL: string, { url, status, contentType }: PageFetched & { ok: true }): PageMetadata {
  return {
    ...noFacts,
    sourceURL,
    url,
    statusCode: status,
    contentType,
    cacheState: 'miss',
    renderer: 'none',
  };
}

function keptShown({ page }: CachedPage, options: ScrapeOptions): ScrapedPage {
  return shownOf(page, options, { ...page.metadata, cacheState: 'hit' }, []);
}

type Shown = Pick<Extracted, 'markdown' | 'text' | 'html' | 'links'> & { rawHtml?: string | null };

function shownOf(
  page: Shown,
  { formats }: ScrapeOptions,
  metadata: PageMetadata,
  warnings: readonly string[],
): ScrapedPage {
  const has = (format: ScrapeOptions['formats'][number]) => formats.includes(format);
  return {
    ...(has('markdown') && { markdown: page.markdown }),
    ...(has('html') && { html: page.html }),
    ...(has('rawHtml') && page.rawHtml != null && { rawHtml: page.rawHtml }),
    ...(has('links') && { links: page.links }),
    ...(has('text') && { text: page.text }),
    metadata,
    warnings,
  };
}
