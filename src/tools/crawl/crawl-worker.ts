import { parentPort } from 'node:worker_threads';
import { RE2JS, RE2JSException } from 're2js';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { readSitemap, type SitemapText } from './read-sitemap.ts';

/** Orders to the thread of crawls. It is ended when one of them takes too long. */
export interface CrawlWork {
  /** Why these patterns are not taken; null as a member: they are. */
  check: { input: CrawlPatterns; answer: { fault: (PatternFault & { field: keyof CrawlPatterns }) | null } };
  /** Which of `texts` match one of `include` (null: all do) and none of `exclude`. Null for patterns that `check` refuses. */
  match: { input: CrawlPatterns & { texts: readonly string[] }; answer: readonly boolean[] };
  sitemap: { input: { body: Uint8Array; bytesMax: number; urlsMax: number }; answer: SitemapText };
}

export interface CrawlPatterns {
  include: readonly string[] | null;
  exclude: readonly string[] | null;
}

export type CrawlJobName = keyof CrawlWork;

type CrawlThreadJob = { [Name in CrawlJobName]: { id: number; job: Name } & CrawlWork[Name]['input'] }[CrawlJobName];

yieldToMainThread();
parentPort?.on('message', (job: CrawlThreadJob) => {
  // Its time counts from here.
  parentPort?.postMessage({});
  parentPort?.postMessage({ id: job.id, result: answerTo(job) });
});
// It has loaded.
parentPort?.postMessage({});

function answerTo(job: CrawlThreadJob): CrawlWork[CrawlJobName]['answer'] {
  switch (job.job) {
    case 'check': {
      const compiled = compiledOf(job);
      return { fault: 'fault' in compiled ? compiled.fault : null };
    }
    case 'match':
      return matches(job);
    case 'sitemap':
      return readSitemap(job.body, job.bytesMax, job.urlsMax);
  }
}

interface Compiled {
  include: readonly UrlPattern[] | null;
  exclude: readonly UrlPattern[];
}

function compiledOf({ include, exclude }: CrawlPatterns): Compiled | CrawlWork['check']['answer'] {
  const included = include === null ? null : compilePatterns(include);
  if (included !== null && !Array.isArray(included)) return { fault: { ...included, field: 'include' } };
  const unwanted = compilePatterns(exclude ?? []);
  if (!Array.isArray(unwanted)) return { fault: { ...unwanted, field: 'exclude' } };
  return { include: included, exclude: unwanted };
}

/** Kept from one page of a crawl to the next. */
let last: { of: string; compiled: ReturnType<typeof compiledOf> } | null = null;

function matches({ include, exclude, texts }: CrawlWork['match']['input']): boolean[] {
  const of = JSON.stringify([include, exclude]);
  if (last?.of !== of) last = { of, compiled: compiledOf({ include, exclude }) };
  const { compiled } = last;
  // Patterns of a crawl that began before they were checked.
  if ('fault' in compiled) throw new Error('these patterns are not accepted');
  return texts.map(
    (text) =>
      (compiled.include === null || compiled.include.some((matches) => matches(text))) &&
      !compiled.exclude.some((matches) => matches(text)),
  );
}

/** Patterns of callers in time linear in the text, as RE2 has them: no look-around, no back-references. */
type UrlPattern = (text: string) => boolean;

/**
 * For all patterns of one field together, in steps of the compiled machine: each character of a URL may cost as many. A
 * pattern without counted repetition has about one step a character.
 */
const stepsMax = 5_000;

/** Why the pattern at this place is not taken. */
interface PatternFault {
  at: number;
  why: string;
}

function compilePatterns(patterns: readonly string[]): UrlPattern[] | PatternFault {
  const compiled: UrlPattern[] = [];
  let steps = 0;
  for (const [at, text] of patterns.entries()) {
    try {
      const pattern = RE2JS.compile(RE2JS.translateRegExp(text));
      steps += pattern.programSize();
      if (steps > stepsMax) return { at, why: 'it repeats too much; use smaller counts, or + and *' };
      compiled.push((url) => pattern.matcher(url).find());
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      return { at, why: error.message.replace('error parsing regexp: ', '') };
    }
  }
  return compiled;
}
