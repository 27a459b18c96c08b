import type { Clock } from '../../kernel/clock.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Validators } from '../../net/guarded-fetch.ts';
import type { PageFetched } from '../../net/page-robots.ts';
import { type Extracted, type ExtractOutcome, noFacts } from '../extract/extract-order.ts';
import type { ExtractPool } from '../extract/extract-pool.ts';
import { pageKindOf } from '../extract/page-kind.ts';
import type { PageOrder } from '../page-reader.ts';
import { left, leftAtWork, refused, tooSlowMessage } from './page-failures.ts';
import type { PageMetadata } from './scraped-page.ts';

/** Result of a page, by either way: the bytes, and the browser's additions. */
export interface Came
  extends Pick<PageFetched & { ok: true }, 'status' | 'url' | 'contentType' | 'body' | 'cut'>,
    Validators {
  renderer: PageMetadata['renderer'];
  /** PNG. */
  screenshot: Buffer | null;
  warnings: readonly string[];
}

/**
 * Reads the page, as plain text when it is not fit for more. `endMs`: monotonic; a page that is not read by then is a
 * Failure.
 */
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
