import type { PageStore } from '../tools/page-store.ts';
import type { Corpus } from '../tools/search/corpus.ts';

type Pages = PageStore & Corpus;

/** A store that is opened at its first use: who never reads a page has no file for them. A failed try is tried again. */
export function latePageStore(open: () => Promise<Pages>): Pages {
  let opening: Promise<Pages> | null = null;
  function opened(): Promise<Pages> {
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  }
  return {
    keep: async (page) => (await opened()).keep(page),
    find: async (...asked) => (await opened()).find(...asked),
    search: async (...asked) => (await opened()).search(...asked),
    holdsPages: async (tenant) => (await opened()).holdsPages(tenant),
    // What was kept before this start goes when somebody uses it again.
    prune: async (beforeMs) => (opening === null ? 0 : (await opened()).prune(beforeMs)),
    close: async () => {
      await (await opening)?.close();
    },
  };
}
