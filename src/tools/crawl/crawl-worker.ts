import { parentPort } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/thread-priority.ts';
import { readSitemap, type SitemapText } from './read-sitemap.ts';

/** What the thread of crawls can be asked. It is ended when one of them takes too long. */
export interface CrawlWork {
  /** Which of `texts` match one of `include` (null: all do) and none of `exclude`. */
  match: {
    asked: { include: readonly string[] | null; exclude: readonly string[] | null; texts: readonly string[] };
    answer: readonly boolean[];
  };
  sitemap: { asked: { body: Uint8Array; bytesMax: number; urlsMax: number }; answer: SitemapText };
}

export type CrawlJobName = keyof CrawlWork;

export type CrawlThreadJob = { [Name in CrawlJobName]: { job: Name } & CrawlWork[Name]['asked'] }[CrawlJobName];

/** `begun` before each: its time counts from then. */
export type CrawlThreadEnd = { kind: 'begun' } | { kind: 'done'; answer: CrawlWork[CrawlJobName]['answer'] };

yieldToMainThread();
parentPort?.on('message', (job: CrawlThreadJob) => {
  parentPort?.postMessage({ kind: 'begun' } satisfies CrawlThreadEnd);
  parentPort?.postMessage({ kind: 'done', answer: answerTo(job) } satisfies CrawlThreadEnd);
});

function answerTo(job: CrawlThreadJob): CrawlWork[CrawlJobName]['answer'] {
  switch (job.job) {
    case 'match':
      return matches(job);
    case 'sitemap':
      return readSitemap(job.body, job.bytesMax, job.urlsMax);
  }
}

function matches({ include, exclude, texts }: CrawlWork['match']['asked']): boolean[] {
  const compiled = (patterns: readonly string[]) => patterns.map((pattern) => new RegExp(pattern));
  const wanted = include === null ? null : compiled(include);
  const unwanted = compiled(exclude ?? []);
  return texts.map(
    (text) =>
      (wanted === null || wanted.some((pattern) => pattern.test(text))) &&
      !unwanted.some((pattern) => pattern.test(text)),
  );
}
