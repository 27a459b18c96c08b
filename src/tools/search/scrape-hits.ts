import { isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { isPaid, type PageReader } from '../page-reader.ts';
import { shownPage } from '../scrape/scrape-answer.ts';
import type { ScrapedPage, ScrapeOptions } from '../scrape/scraped-page.ts';
import type { SearchHit } from './merge-hits.ts';

/** Pages of one search that are read at once. */
const atOnceMax = 4;
/** Characters of all pages of one answer together. Further ones are left out, with a warning. */
const contentCharsMax = 16_000_000;

/** Tenant of the pages, their options and the deadline. */
export interface HitsToScrape {
  tenant: string;
  keyId: string;
  options: ScrapeOptions;
  /** Ms that are left at the moment. */
  leftMs(): number;
  signal: AbortSignal;
}

/** A page's additions to its hit. For one that could not be read, `metadata.error` says why. */
export interface ScrapedHits {
  /** In the order of the hits. */
  pages: readonly JsonObject[];
  /** How many are paid: those that could be read, and those that a thread or the browser was killed over. */
  read: number;
  warnings: readonly string[];
}

/** Reads the pages of hits. Never rejects: a page that fails is one hit without its content. */
export async function scrapeHits(
  reader: Pick<PageReader, 'read'>,
  hits: readonly Pick<SearchHit, 'url'>[],
  order: HitsToScrape,
): Promise<ScrapedHits> {
  const pages = new Array<JsonObject>(hits.length);
  /** Shared: each worker takes the next. */
  const waiting = hits.entries();
  let chars = 0;
  let leftOut = 0;
  let worked = 0;

  async function work(): Promise<void> {
    for (const [at, { url }] of waiting) {
      const read = await readHit(reader, url, order);
      if (read.worked) worked += 1;
      const { page } = read;
      chars += charsOf(page);
      if (chars > contentCharsMax) {
        leftOut++;
        chars -= charsOf(page);
        pages[at] = {
          metadata: { ...metadataOf(page), error: 'left out, because the pages of this answer are too large together' },
        };
      } else pages[at] = page;
    }
  }

  await Promise.all(Array.from({ length: Math.min(atOnceMax, hits.length) }, work));
  const failed = pages.filter(({ metadata }) => metadata !== undefined && 'error' in (metadata as JsonObject)).length;
  const warnings =
    failed === 0 ? [] : [`${failed} of ${hits.length} pages could not be given. Their metadata.error says why.`];
  if (leftOut > 0) warnings.push('Ask for fewer formats or a smaller limit.');
  return { pages, read: hits.length - failed + worked, warnings };
}

interface ReadHit {
  page: JsonObject;
  /** It failed, and is paid. */
  worked: boolean;
}

async function readHit(reader: Pick<PageReader, 'read'>, url: string, order: HitsToScrape): Promise<ReadHit> {
  // Whole: a signal takes no part of a millisecond.
  const leftMs = Math.floor(order.leftMs());
  if (leftMs <= 0 || order.signal.aborted) return { page: failed(url, 'there was no time left for it'), worked: false };
  const { tenant, keyId, signal } = order;
  const options = { ...order.options, timeoutMs: Math.min(order.options.timeoutMs, leftMs) };
  const page = await reader.read({ tenant, keyId, url, options, paced: false, signal });
  // Limits and times are not among the failures of a page.
  if (isFailure(page)) return { page: failed(url, factsOf(page, 0).message), worked: isPaid(page) };
  return { page: contentOf(page), worked: false };
}

function contentOf(page: ScrapedPage): JsonObject {
  const warning = page.warnings.length === 0 ? {} : { warning: page.warnings.join(' ') };
  return { ...shownPage(page), ...warning };
}

function failed(url: string, error: string): JsonObject {
  return { metadata: { sourceURL: url, url, error } };
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return (metadata ?? {}) as JsonObject;
}

function charsOf({ markdown, html, rawHtml, text, screenshot, summary, links }: JsonObject): number {
  const texts = [markdown, html, rawHtml, text, screenshot, summary].reduce<number>(
    (sum, one) => sum + (typeof one === 'string' ? one.length : 0),
    0,
  );
  return texts + (Array.isArray(links) ? links.reduce<number>((sum, link) => sum + String(link).length, 0) : 0);
}
