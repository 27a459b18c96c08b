import type { Clock } from '../../kernel/clock.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import type { Validators } from '../../net/guarded-fetch.ts';
import { type PageFetcher, pdfBytesMax } from '../../net/page-fetch.ts';
import type { PageFetched } from '../../net/page-robots.ts';
import { type Extracted, type ExtractOutcome, noFacts } from '../extract/extract-order.ts';
import type { ExtractPool } from '../extract/extract-pool.ts';
import { pageKindOf } from '../extract/page-kind.ts';
import type { PageOrder, PageReader } from '../page-reader.ts';
import type { Rendered } from '../page-renderer.ts';
import { needsBrowser } from './needs-browser.ts';
import { type CachedPage, createPageCache, type PageCacheParts } from './page-cache.ts';
import { left, leftAtWork, refusalOf, refused, tooSlowMessage } from './page-failures.ts';
import type { Rendering, RenderWay } from './rendering.ts';
import type { PageMetadata, ScrapedPage, ScrapeOptions } from './scraped-page.ts';

export interface PageReaderParts extends PageCacheParts {
  fetcher: PageFetcher;
  pool: ExtractPool;
  rendering: Rendering;
  /** `tools.scrape.max_bytes`, in force. */
  bytesMax(): number;
}

const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,application/pdf;q=0.9,*/*;q=0.8';
/** Pace of a scrape that gives none: it may ask one host for several pages concurrently. */
const scrapeDelayMs = 0;

/** Where a kept page may have come from; the first one found is given. */
const renderersOf = {
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
    const cached = await cachedPage(order, way);
    if (cached?.is === 'fresh') return shownCopy(cached, options);
    const warnings: string[] = [];
    if (way === 'rendered') {
      const rendered = await renderPage(order, endMs);
      if (rendered.ok) return readAndShow(order, rendered, endMs);
      if (rendered.reason !== 'no-html') return refusalOf(rendered);
      warnings.push(`The page was read without a browser: ${rendered.message}.`);
    }
    const fetched = await fetchPage(order, cached);
    if (!fetched.ok) return refusalOf(fetched);
    if (cached !== null && fetched.status === 304 && fetched.url === cached.known.url) {
      await cache.renew(cached.page, fetched);
      return shownCopy(cached, options);
    }
    const plain: Came = { ...fetched, renderer: 'none', screenshot: null, warnings };
    if (way !== 'as-needed' || !seemsEmpty(plain)) return readAndShow(order, plain, endMs);
    const why = rendering.missing();
    if (why !== null) warnings.push(`The page seems to need a browser, but ${why}.`);
    else {
      const rendered = await renderPage(order, endMs);
      if (rendered.ok) return readAndShow(order, rendered, endMs);
      if (signal.aborted) return refusalOf(rendered);
      warnings.push(`The page seems to need a browser, but it could not be rendered: ${rendered.message}.`);
    }
    return readAndShow(order, plain, Math.max(endMs, clock.monotonicMs() + plainAfterAllMs));
  }

  /** A picture of a page is always a new one. */
  async function cachedPage(order: PageOrder, way: RenderWay): Promise<CachedPage | null> {
    if (order.options.formats.includes('screenshot')) return null;
    let stale: CachedPage | null = null;
    for (const renderer of renderersOf[way]) {
      const cached = await cache.find(order, renderer);
      if (cached?.is === 'fresh') return cached;
      stale ??= cached;
    }
    return stale;
  }

  async function renderPage(
    order: PageOrder,
    endMs: number,
  ): Promise<(Came & { ok: true }) | (Rendered & { ok: false })> {
    const bytesMax = Math.min(parts.bytesMax(), order.options.maxBytes ?? Number.POSITIVE_INFINITY);
    // Part of the caller's time is for reading the browser's result.
    const reserveMs = Math.min(1_000, order.options.timeoutMs / 10);
    const timeoutMs = Math.max(1, Math.floor(endMs - clock.monotonicMs() - reserveMs));
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
    cached: (CachedPage & { is: 'stale' }) | null,
  ): Promise<PageFetched> {
    const requestedBytesMax = options.maxBytes ?? Number.POSITIVE_INFINITY;
    const page = Math.min(parts.bytesMax(), requestedBytesMax);
    return parts.fetcher.fetch({
      tenant,
      url,
      accept,
      headers: options.headers,
      mobile: options.mobile,
      bytesMax: { page, pdf: Math.min(pdfBytesMax, requestedBytesMax) },
      timeoutMs: options.timeoutMs,
      known: cached?.known ?? null,
      mayFollow: mayFollow ?? null,
      leadsTo: async ({ url, contentType, body }) => {
        if (pageKindOf(contentType, body) !== 'html') return null;
        const { refreshIn } = await import('./page-refresh.ts');
        return refreshIn(body, contentType, url);
      },
      delayMs: paced ? null : scrapeDelayMs,
      signal,
    });
  }

  async function readAndShow(order: PageOrder, came: Came, endMs: number): Promise<ScrapedPage | Failure> {
    const read = await extractPage(parts, order, came, endMs);
    if (isFailure(read)) return read;
    const { extracted, warnings } = read;
    const metadata = { ...read.metadata, ...extracted.facts };
    await cache.keep(order, { extracted, metadata, validators: came, warnings });
    const { screenshot } = came;
    const picture = screenshot !== null && { screenshot: `data:image/png;base64,${screenshot.toString('base64')}` };
    return { ...shownOf(extracted, order.options, metadata, warnings), ...picture };
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

/** A page that is there is given, when the browser took the time for it. */
const plainAfterAllMs = 2_000;

/** Errors are short by nature. */
function seemsEmpty({ status, contentType, body, cut }: Came): boolean {
  return status >= 200 && status < 300 && !cut && pageKindOf(contentType, body) === 'html' && needsBrowser(body);
}

function shownCopy({ page }: CachedPage, options: ScrapeOptions): ScrapedPage {
  return shownOf(page, options, { ...page.metadata, cacheState: 'hit' }, []);
}

type Shown = Pick<Extracted, 'markdown' | 'text' | 'html' | 'links' | 'images' | 'attributes'> & {
  rawHtml?: string | null;
};

function shownOf(
  page: Shown,
  { formats, attributes }: ScrapeOptions,
  metadata: PageMetadata,
  warnings: readonly string[],
): ScrapedPage {
  const has = (format: ScrapeOptions['formats'][number]) => formats.includes(format);
  return {
    ...(has('markdown') && { markdown: page.markdown }),
    ...(has('html') && { html: page.html }),
    ...(has('rawHtml') && page.rawHtml != null && { rawHtml: page.rawHtml }),
    ...(has('links') && { links: page.links }),
    ...(has('images') && { images: page.images ?? [] }),
    ...(has('text') && { text: page.text }),
    ...(attributes !== undefined && {
      attributes: page.attributes ?? attributes.map((selector) => ({ ...selector, values: [] })),
    }),
    metadata,
    warnings,
  };
}

/** Result of a page, by either way: the bytes, and the browser's additions. */
export interface Came
  extends Pick<PageFetched & { ok: true }, 'status' | 'url' | 'contentType' | 'body' | 'cut'>,
    Validators {
  renderer: PageMetadata['renderer'];
  /** PNG. */
  screenshot: Buffer | null;
  warnings: readonly string[];
}

/** Reads the page, as plain text when it is not fit for more; a Failure if it is not read by `endMs` (monotonic). */
export async function extractPage(
  { pool, clock }: { pool: ExtractPool; clock: Clock },
  order: PageOrder,
  came: Came,
  endMs: number,
): Promise<{ extracted: Extracted; metadata: PageMetadata; warnings: readonly string[] } | Failure> {
  const { tenant, url, options, signal } = order;
  const { body, contentType } = came;
  const metadata: PageMetadata = {
    ...noFacts,
    sourceURL: url,
    url: came.url,
    statusCode: came.status,
    contentType: came.contentType,
    cacheState: 'miss',
    renderer: came.renderer,
  };
  const kind = pageKindOf(contentType, body);
  const warnings = [...came.warnings, ...(came.cut ? [`The page was cut after ${body.length} bytes.`] : [])];
  if (kind === null) {
    const what = contentType === '' ? 'not text' : `'${contentType.slice(0, 80)}', not text`;
    return {
      extracted: nothing,
      metadata,
      warnings: [...came.warnings, `The page is ${what}, so its content cannot be returned.`],
    };
  }
  const { onlyMainContent, includeTags, excludeTags } = options;
  const extractOptions = {
    onlyMainContent,
    includeTags,
    excludeTags,
    rawHtml: options.formats.includes('rawHtml'),
    images: options.formats.includes('images'),
    ...(options.attributes !== undefined && { attributes: options.attributes }),
  };
  const job = { kind, body: new Uint8Array(body), url: came.url, contentType, options: extractOptions } as const;
  const leftMs = () => Math.max(1, endMs - clock.monotonicMs());
  const way = came.cut ? 'plain' : 'document';
  let outcome = await pool.extract(tenant, { ...job, way }, leftMs(), signal);
  let worked = workedOf(outcome);
  if (outcome.kind === 'unfit' && (kind === 'html' || kind === 'xml') && way === 'document') {
    if (endMs <= clock.monotonicMs()) return refused('page_timeout', tooSlowMessage, worked);
    warnings.push(`The page is given as plain text, and may hold parts around its main content: ${outcome.why}.`);
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
      return refused(
        'page_unreadable',
        `The page cannot be read: ${outcome.why}${came.cut ? `, because it was cut after ${body.length} bytes` : ''}.`,
        worked,
      );
    case 'busy':
      return outcome.failure;
    case 'late':
      return refused('page_timeout', tooSlowMessage, worked);
    case 'aborted':
      return worked === undefined ? left : leftAtWork;
  }
}

/** A page that failed after it had kept a thread busy is paid. */
function workedOf(outcome: ExtractOutcome): 'worked' | undefined {
  const worked =
    (outcome.kind === 'unfit' && outcome.killed) ||
    (outcome.kind === 'aborted' && outcome.begun) ||
    outcome.kind === 'late';
  return worked ? 'worked' : undefined;
}

const nothing: Extracted = { markdown: '', text: '', html: '', rawHtml: null, links: [], facts: noFacts, warnings: [] };
