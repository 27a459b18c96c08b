import { callThread } from '../../kernel/threads/remote.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import type { PageStore } from '../../tools/page-store.ts';
import type { Corpus } from '../../tools/search/corpus.ts';
import { type PageBounds, pageBounds } from '../web/page-rows.ts';

type Pages = PageStore & Corpus;

/** Data for the thread at its start. */
export interface PageFile {
  file: string;
  bounds: PageBounds;
}

/**
 * Pages in `pages.db`, in a thread that starts at the first call: the index of their words takes 2 ms a page, and its
 * merging tens of ms, for which every request would wait. A lost thread fails its calls; the next call starts another.
 */
export function createSqlitePageThread(file: string, bounds: PageBounds = pageBounds): Pages {
  const entry = new URL('./page-worker.ts', import.meta.url);
  const thread = createWorkThread(entry, 'thread of kept pages', { workerData: { file, bounds } satisfies PageFile });
  let used = false;

  function call<Name extends keyof Pages>(method: Name, ...args: Parameters<Pages[Name]>) {
    used = true;
    return callThread<Awaited<ReturnType<Pages[Name]>>>(thread, method, args);
  }

  return {
    keep: (page) => call('keep', page),
    find: (...args) => call('find', ...args),
    search: (...args) => call('search', ...args),
    holdsPages: (tenant) => call('holdsPages', tenant),
    // Pages of an earlier start are removed when the store is used again.
    prune: async (beforeMs) => (used ? call('prune', beforeMs) : 0),
    async close() {
      if (used) await call('close').catch(() => undefined);
      await thread.close();
    },
  };
}
