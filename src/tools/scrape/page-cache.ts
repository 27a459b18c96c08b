import type { Clock } from '../../kernel/clock.ts';
import type { KnownCopy, Validators } from '../../net/guarded-fetch.ts';
import { carriesCredentials } from '../../net/page-headers.ts';
import type { Extracted } from '../extract/extract-order.ts';
import type { PageOrder } from '../page-reader.ts';
import type { PageStore, StoredPage } from '../page-store.ts';
import type { PageMetadata, ScrapeFormat, ScrapeOptions } from './scraped-page.ts';

/** `fresh`: given without a fetch. `stale`: given if its server says, asked with `known`, that it is still that. */
export type CachedPage = { is: 'fresh'; page: StoredPage } | { is: 'stale'; page: StoredPage; known: KnownCopy };

export interface PageRead {
  extracted: Extracted;
  /** With the facts of the page. */
  metadata: PageMetadata;
  validators: Validators;
  /** Warnings of fetch and extraction: a page that has any was read in part. */
  warnings: readonly string[];
}

export interface PageCacheParts {
  /** Null: nothing is kept. */
  store: PageStore | null;
  clock: Clock;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Nothing of them is kept with a page. */
const unkept: readonly ScrapeFormat[] = ['rawHtml', 'images', 'attributes'];
/** A longer one is not kept: nobody needs it, and it would be sent back every time. */
const validatorCharsMax = 1_000;

/** Cache of read pages. A store that does not answer costs no read. */
export function createPageCache({ store, clock, onTrouble }: PageCacheParts) {
  async function put(page: StoredPage): Promise<void> {
    await store?.keep(page).catch((error: unknown) => onTrouble(`a page could not be kept: ${String(error)}`));
  }

  return {
    async find({ tenant, url, options }: PageOrder, renderer: PageMetadata['renderer']): Promise<CachedPage | null> {
      const { formats, maxAgeMs, headers } = options;
      if (store === null || maxAgeMs === 0 || carriesCredentials(headers)) return null;
      if (formats.some((format) => unkept.includes(format))) return null;
      const page = await store.find(tenant, url, pageVariant(options, renderer)).catch((error: unknown) => {
        onTrouble(`kept pages could not be looked up: ${String(error)}`);
        return null;
      });
      if (page === null) return null;
      if (page.fetchedMs >= clock.wallMs() - maxAgeMs) return { is: 'fresh', page };
      const { etag, lastModified } = page.validators;
      // A caller's headers may change a page without changing its validators. A browser sends its own.
      const revalidates = Object.keys(headers).length === 0 && renderer === 'none';
      if (!revalidates || (etag === null && lastModified === null)) return null;
      return { is: 'stale', page, known: { url: page.metadata.url, etag, lastModified } };
    },
    /** Its server has just confirmed that it is unchanged. `validators`: those of that answer, if any. */
    renew: (page: StoredPage, { etag, lastModified }: Validators): Promise<void> =>
      put({
        ...page,
        fetchedMs: clock.wallMs(),
        validators: bounded({
          etag: etag ?? page.validators.etag,
          lastModified: lastModified ?? page.validators.lastModified,
        }),
      }),
    /** Keeps the read page, if it may be used again. */
    async keep(
      { tenant, url, options }: PageOrder,
      { extracted, metadata, validators, warnings }: PageRead,
    ): Promise<void> {
      // A page that came for the caller's own login, only in part, or as an error is good for no other time.
      const whole = warnings.length === 0 && metadata.statusCode >= 200 && metadata.statusCode < 300;
      if (!whole || carriesCredentials(options.headers)) return;
      const { markdown, text, html, links } = extracted;
      await put({
        tenant,
        url,
        markdown,
        text,
        html,
        links,
        metadata,
        variant: pageVariant(options, metadata.renderer),
        fetchedMs: clock.wallMs(),
        validators: bounded(validators),
      });
    },
  };
}

function bounded({ etag, lastModified }: Validators): Validators {
  const fit = (text: string | null) => (text === null || text.length > validatorCharsMax ? null : text);
  return { etag: fit(etag), lastModified: fit(lastModified) };
}

/** The options that shape a page: the cache exchanges only pages of one variant. */
function pageVariant(options: ScrapeOptions, renderer: 'none' | 'chromium'): string {
  const { onlyMainContent, includeTags, excludeTags, mobile, headers, maxBytes, waitForMs } = options;
  const parts = [
    onlyMainContent && includeTags === null ? 'main' : 'all',
    renderer,
    mobile ? 'mobile' : 'desktop',
    ...(waitForMs === 0 ? [] : [`wait ${waitForMs}`]),
    ...listed('include', includeTags),
    ...listed('exclude', excludeTags),
    ...Object.entries(headers)
      .map(([name, value]) => JSON.stringify([name, value]))
      .toSorted(),
    ...(maxBytes === null ? [] : [`max ${maxBytes}`]),
  ];
  return parts.join(' ');
}

function listed(word: string, selectors: readonly string[] | null): string[] {
  return selectors === null ? [] : [`${word} ${JSON.stringify(selectors)}`];
}
