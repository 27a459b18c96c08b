import { type Failure, FailureError } from '../../kernel/failure.ts';
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

/** A call of the store; answered once, with the same `id`. */
export type PageCall = {
  [Name in keyof Pages]: { id: number; method: Name; args: Parameters<Pages[Name]> };
}[keyof Pages];

export type PageEnd = { ok: true; answer: unknown } | { ok: false; failure: Failure };

/**
 * Pages in `pages.db`, in a thread that starts at the first call: the index of their words takes 2 ms a page, and its
 * merging tens of ms, for which every request would wait. A lost thread fails its calls; the next call starts another.
 */
export function createSqlitePageThread(file: string, bounds: PageBounds = pageBounds): Pages {
  const entry = new URL('./page-worker.ts', import.meta.url);
  const thread = createWorkThread(entry, 'thread of kept pages', { workerData: { file, bounds } satisfies PageFile });
  let used = false;

  async function call<Name extends keyof Pages>(
    method: Name,
    ...args: Parameters<Pages[Name]>
  ): Promise<Awaited<ReturnType<Pages[Name]>>> {
    used = true;
    const end = await thread.ask<PageEnd>((id) => ({ message: { id, method, args }, transfer: [] }));
    if (!end.ok) throw new FailureError(end.failure);
    return end.answer as Awaited<ReturnType<Pages[Name]>>;
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
