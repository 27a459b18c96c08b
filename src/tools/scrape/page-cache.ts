import type { Clock } from '../../kernel/clock.ts';
import { carriesCredentials } from '../../net/page-headers.ts';
import type { Extracted } from '../extract/extract-order.ts';
import type { PageOrder } from '../page-reader.ts';
import type { KeptPage, PageStore } from '../page-store.ts';
import { pageVariant } from './page-variant.ts';
import type { PageMetadata } from './scraped-page.ts';

/** What reads of pages keep for the next ones. A store that does not answer costs no read. */
export interface PageCache {
  /** A page that may be given instead of a fetch, not older than the order allows. */
  find(order: PageOrder, renderer: PageMetadata['renderer']): Promise<KeptPage | null>;
  /** Keeps what was read, where it may stand for another time. */
  keep(order: PageOrder, read: PageRead): Promise<void>;
}

export interface PageRead {
  extracted: Extracted;
  /** With the facts of the page. */
  metadata: PageMetadata;
  /** Of fetch and extraction: a page that has any was read in part. */
  warnings: readonly string[];
}

export interface PageCacheParts {
  /** Null: nothing is kept. */
  store: PageStore | null;
  clock: Clock;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export function createPageCache({ store, clock, onTrouble }: PageCacheParts): PageCache {
  return {
    async find({ tenant, url, options }, renderer) {
      const { formats, maxAgeMs, headers } = options;
      if (store === null || maxAgeMs === 0 || formats.includes('rawHtml') || carriesCredentials(headers)) return null;
      return store.find(tenant, url, pageVariant(options, renderer), maxAgeMs).catch((error: unknown) => {
        onTrouble(`kept pages could not be looked up: ${String(error)}`);
        return null;
      });
    },
    async keep({ tenant, url, options }, { extracted, metadata, warnings }) {
      // A page that came for the caller's own login, only in part, or as an error stands for no other time.
      const whole = warnings.length === 0 && metadata.statusCode >= 200 && metadata.statusCode < 300;
      if (store === null || !whole || carriesCredentials(options.headers)) return;
      const { markdown, text, html, links } = extracted;
      const variant = pageVariant(options, metadata.renderer);
      const page: KeptPage = { tenant, url, variant, fetchedMs: clock.wallMs(), markdown, text, html, links, metadata };
      await store.keep(page).catch((error: unknown) => onTrouble(`a page could not be kept: ${String(error)}`));
    },
  };
}
