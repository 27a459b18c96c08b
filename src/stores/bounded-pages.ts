import type { StorageBook } from '../books/metering/storage/storage-book.ts';
import { FailureError } from '../kernel/failure.ts';
import type { PageStore } from '../tools/page-store.ts';
import { accountOfTenant } from './storage-sizes.ts';

/** Reads that an account has no room to keep are made anew the next time. */
export function boundedPages<Pages extends PageStore>(pages: Pages, book: Pick<StorageBook, 'keep'>): Pages {
  return {
    ...pages,
    async keep(page) {
      const { tenant, markdown, text, html } = page;
      const bytes = markdown.length + text.length + html.length;
      try {
        await book.keep(accountOfTenant(tenant), 'pages', bytes, () => pages.keep(page));
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
      }
    },
  };
}
