import type { Clock } from '../../kernel/clock.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Validators } from '../../net/guarded-fetch.ts';
import { type PageFetched, type PageFetcher, pdfBytesMax } from '../../net/page-fetch.ts';
import { type Extracted, type ExtractOutcome, noFacts } from '../extract/extract-order.ts';
import type { ExtractPool } from '../extract/extract-pool.ts';
import { pageKindOf } from '../extract/page-kind.ts';
import type { PageOrder, PageReader } from '../page-reader.ts';
import type { Rendered } from '../page-renderer.ts';
import type { PageStore } from '../page-store.ts';
import { needsBrowser } from './needs-browser.ts';
import { type CachedPage, createPageCache } from './page-cache.ts';
import { left, leftAtWork, refusalOf, refused, tooSlowMessage } from './page-failures.ts';
import type { Rendering, RenderWay } from './rendering.ts';
import type { PageMetadata, ScrapedPage, ScrapeOptions } from './scraped-page.ts';

export interface PageReaderParts {
  fetcher: PageFetcher;
  pool: ExtractPool;
  rendering: Rendering;
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

/** What came of a page, by whichever way: the bytes, and what the browser adds. */
interface Came extends Pick<PageFetched & { ok: true }, 'status' | 'url' | 'contentType' | 'body' | 'cut'>, Validators {
  renderer: PageMetadata['renderer'];
  /** PNG. */
  screenshot: Buffer | null;
  warnings: readonly string[];
}

interface PageRead {
  extracted: Extracted;
  metadata: PageMetadata;
  warnings: readonly string[];
}

/** Where a page that was kept may have come from; the first that is found is given. */
const keptOf = {
  plain: ['none'],
  rendered: ['chromium'],
  'as-needed': ['none', 'chromium'],
} as const satisfies Record<RenderWay, readonly PageMetadata['renderer'][]>;

/** Cache → fetch, browser or both → extraction → cache. */
export function createPageReader(parts: PageReaderParts): PageReader {
  const { clock, pool, rendering } = parts;
  const cache = createPageCache(parts);

  async function read(order: PageOrder): Promise<ScrapedPage | Failure> {
    const { options, signal } = order;
    const endMs = clock.monotonicMs() + options.timeoutMs;
    const way = rendering.wayOf(options);
    if (typeof way !== 'string') return way;
    const kept = await keptPage(order, way);
    if (kept?.is === 'fresh') return keptShown(kept, options);
    const warnings: string[] = [];
    if (way === 'rendered') {
      const rendered = await renderPage(order, endMs);
      if (rendered.ok) return readAndShow(order, rendered, endMs);
      if (rendered.reason !== 'no-html') return refusalOf(rendered);
      warnings.push(`The page was read without a browser: ${rendered.message}.`);
    }
    const fetched = await fetchPage(order, kept);
    if (!fetched.ok) return refusalOf(fetched);
    if (kept !== null && fetched.status === 304 && fetched.url === kept.known.url) {
      await cache.renew(kept.page, fetched);
      return keptShown(kept, options);
    }
    const plain: Came = { ...fetched, renderer: 'none', screenshot: null, warnings };
    if (way !== 'as-needed' || !seemsEmpty(plain)) return readAndShow(order, plain, endMs);
    const why = rendering.missing();
    if (why !== null) warnings.push(`The page seems to need a browser, but ${why}.`);
    else {
      const rendered = await renderPage(order, endMs);
      if (rendered.ok) return readAndShow(order, rendered, endMs);
      if (signal.aborted) return refusalOf(rendered);
      warnings.push(`The page seems to need a browser, and could not be rendered: ${rendered.message}.`);
    }
    return readAndShow(order, plain, Math.max(endMs, clock.monotonicMs() + plainAfterAllMs));
  }

  /** A picture of a page is always a new one. */
  async function keptPage(order: PageOrder, way: RenderWay): Promise<CachedPage | null> {
    if (order.options.formats.includes('screenshot')) return null;
    let stale: CachedPage | null = null;
    for (const renderer of keptOf[way]) {
      const kept = await cache.find(order, renderer);
      if (kept?.is === 'fresh') return kept;
      stale ??= kept;
    }
    return stale;
  }

  async function renderPage(
    order: PageOrder,
    endMs: number,
  ): Promise<(Came & { ok: true }) | (Rendered & { ok: false })> {
    const bytesMax = Math.min(parts.bytesMax(), order.options.maxBytes ?? Number.POSITIVE_INFINITY);
    const timeoutMs = Math.max(1, Math.floor(endMs - clock.monotonicMs() - extractReserveMs(order.options)));
    const rendered = await rendering.render(order, { bytesMax, timeoutMs });
    if (!rendered.ok) return rendered;
    return {
      ...rendered,
      renderer: 'chromium',
      contentType: 'text/html; charset=utf-8',
      etag: null,
      lastModified: null,
    };
  }

  function fetchPage(
    { tenant, url, options, paced, mayFollow, signal }: PageOrder,
    kept: (CachedPage & { is: 'stale' }) | null,
  ): Promise<PageFetched> {
    const wishedBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    const page = Math.min(parts.bytesMax(), wishedBytes);
    return parts.fetcher.fetch({
      tenant,
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

  async function readAndShow(order: PageOrder, came: Came, endMs: number): Promise<ScrapedPage | Failure> {
    const read = await extractPage(order, came, endMs);
    if ('kind' in read) return read;
    const { extracted, warnings } = read;
    const metadata = { ...read.metadata, ...extracted.facts };
    await cache.keep(order, { extracted, metadata, validators: came, warnings });
    const { screenshot } = came;
    const picture = screenshot !== null && { screenshot: `data:image/png;base64,${screenshot.toString('base64')}` };
    return { ...shownOf(extracted, order.options, metadata, warnings), ...picture };
  }

  async function extractPage(order: PageOrder, came: Came, endMs: number): Promise<PageRead | Failure> {
    const { tenant, url, options, signal } = order;
    const { body, contentType } = came;
    const metadata = metadataOf(url, came);
    const kind = pageKindOf(contentType, body);
    const warnings = [...came.warnings, ...(came.cut ? [`The page was cut after ${body.length} bytes.`] : [])];
    if (kind === null) {
      const what = contentType === '' ? 'no text' : `'${contentType.slice(0, 80)}', no text`;
      return {
        extracted: nothing,
        metadata,
        warnings: [...came.warnings, `The page is ${what}: nothing of it can be given.`],
      };
    }
    if (kind === 'pdf' && came.cut) {
      return refused('page_too_large', `The page cannot be read: the PDF is larger than ${body.length} bytes.`);
    }
    const { onlyMainContent, includeTags, excludeTags } = options;
    const wishes = { onlyMainContent, includeTags, excludeTags, rawHtml: options.formats.includes('rawHtml') };
    const job = { kind, body: new Uint8Array(body), url: came.url, contentType, wishes } as const;
    const leftMs = () => Math.max(1, endMs - clock.monotonicMs());
    const way = came.cut ? 'plain' : 'document';
    let outcome = await pool.extract(tenant, { ...job, way }, leftMs(), signal);
    let worked = workedOf(outcome);
    if (outcome.kind === 'unfit' && (kind === 'html' || kind === 'xml') && way === 'document') {
      if (endMs <= clock.monotonicMs()) return refused('page_timeout', tooSlowMessage, worked);
      warnings.push(`The page is given as plain text: ${outcome.why}.`);
      outcome = await pool.extract(tenant, { ...job, way: 'plain' }, leftMs(), signal);
      worked ??= workedOf(outcome);
    }
    switch (outcome.kind) {
      case 'extracted': {
        const { extracted } = outcome;
        return { extracted, metadata, warnings: [...warnings, ...extracted.warnings] };
      }
      case 'wrong':
        return invalid(outcome.field, outcome.message);
      case 'unfit':
        if (endMs <= clock.monotonicMs()) return refused('page_timeout', tooSlowMessage, worked);
        return refused('page_broken', `The page cannot be read: ${outcome.why}.`, worked);
      case 'busy':
        return outcome.failure;
      case 'aborted':
        return worked === undefined ? left : leftAtWork;
    }
  }

  return {
    async read(order) {
      return order.signal.aborted ? left : read(order);
    },
    async close() {
      await Promise.all([pool.close(), rendering.close()]);
    },
  };
}

/** What failed after a thread had been kept busy is paid. */
function workedOf(outcome: ExtractOutcome): 'worked' | undefined {
  const worked = (outcome.kind === 'unfit' && outcome.killed) || (outcome.kind === 'aborted' && outcome.begun);
  return worked ? 'worked' : undefined;
}

const nothing: Extracted = { markdown: '', text: '', html: '', rawHtml: null, links: [], facts: noFacts, warnings: [] };

/** For reading what the browser gives, of what the caller waits. */
function extractReserveMs({ timeoutMs }: ScrapeOptions): number {
  return Math.min(1_000, timeoutMs / 10);
}

/** A page that is there is given, when the browser took the time for it. */
const plainAfterAllMs = 2_000;

/** Errors are short by nature. */
function seemsEmpty({ status, contentType, body, cut }: Came): boolean {
  return status >= 200 && status < 300 && !cut && pageKindOf(contentType, body) === 'html' && needsBrowser(body);
}

function metadataOf(sourceURL: string, { url, status, contentType, renderer }: Came): PageMetadata {
  return {
    ...noFacts,
    sourceURL,
    url,
    statusCode: status,
    contentType,
    cacheState: 'miss',
    renderer,
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
