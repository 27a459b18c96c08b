import type { CallerNote, LastingCallers } from '../../../books/auth/caller-note.ts';
import type { CrawlStore } from '../../../tools/crawl/crawl-store.ts';

/** The same store, whose rows say who began a crawl where no other store has the caller. */
export function notedCrawlStore(store: CrawlStore, callers: LastingCallers): CrawlStore {
  return {
    ...store,
    create(crawl, seeds, bounds) {
      const caller = callers.noteOf(crawl.keyId);
      const noted = caller === null ? crawl.options : { ...crawl.options, caller };
      return store.create({ ...crawl, options: noted }, seeds, bounds);
    },
    async lease(...args) {
      const crawls = await store.lease(...args);
      for (const { options } of crawls) {
        const { caller } = options as { caller?: CallerNote };
        if (caller !== undefined) callers.recall(caller);
      }
      return crawls;
    },
  };
}
