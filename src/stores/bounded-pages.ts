import type { StorageBook } from '../books/metering/storage/storage-book.ts';
import { FailureError } from '../kernel/failure.ts';
import type { PageStore } from '../tools/page-store.ts';
import { accountOfTenant } from './storage-sizes.ts';
import { pageRowOf } from './web/page-rows.ts';

/** Reads that an account has no room to keep are made anew the next time. */
export function boundedPages<Pages extends PageStore>(pages: Pages, book: Pick<StorageBook, 'keep'>): Pages {
  return {
    ...pages,
    async keep(page) {
      const { tenant, chars } = pageRowOf(page);
      const account = accountOfTenant(tenant);
      try {
        return await book.keep(
          account,
          'pages',
          chars,
          () => pages.keep(page),
          (grown) => grown,
        );
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        return 0;
      }
    },
  };
}
