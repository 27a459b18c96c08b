import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/kernel/clock.ts';
import { type Failure, isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { workerApart } from '../../src/kernel/leased-jobs.ts';
import { createHostTurns } from '../../src/net/host-turns.ts';
import { openSqliteCrawlStore } from '../../src/stores/sqlite/stores.ts';
import type { CrawlMeter } from '../../src/tools/crawl/crawl-ports.ts';
import type { Crawl, CrawlStore } from '../../src/tools/crawl/crawl-store.ts';
import { createCrawlThreads } from '../../src/tools/crawl/crawl-threads.ts';
import { type CrawlsParts, createCrawls } from '../../src/tools/crawl/crawls.ts';
import { readCrawl } from '../../src/tools/crawl/read-crawl-options.ts';
import type { PageReader } from '../../src/tools/page-reader.ts';
import type { ScrapedPage } from '../../src/tools/scrape/scraped-page.ts';
import { ToolFields } from '../../src/tools/tool-fields.ts';

export const owner = { tenant: 'a/dev', account: 'a', keyId: 'k' };
export const origin = 'https://site.test';

/** A site: what each path links to and says; a Failure is what reading it gives. */
export type Site = Record<string, SitePage | Failure>;

interface SitePage {
  links?: string[];
  title?: string | null;
  text?: string;
  status?: number;
  movedTo?: string;
  canonical?: string;
}

export function siteReader(site: Site, read: string[] = []): PageReader {
  return {
    async read({ url, mayFollow }) {
      const path = url.startsWith(origin) ? url.slice(origin.length) : url;
      read.push(path);
      const page = site[path] ?? { status: 404, text: 'not found' };
      if (isFailure(page)) return page;
      if (page.movedTo !== undefined && mayFollow && !(await mayFollow(new URL(page.movedTo, url)))) {
        return { kind: 'page-refused', code: 'page_redirects', message: 'It leads elsewhere.', param: null };
      }
      const { links = [], title = null, text = `This is ${path}`, status = 200, movedTo, canonical = null } = page;
      return {
        markdown: text,
        links: links.map((link) => new URL(link, url).href),
        metadata: {
          title,
          canonical,
          url: movedTo === undefined ? url : new URL(movedTo, url).href,
          sourceURL: url,
          statusCode: status,
        },
        warnings: [],
      } as unknown as ScrapedPage;
    },
    close: async () => undefined,
  };
}

/** Counts payments; refuses from the page after `allowed` on. */
export function countingMeter(allowed = Number.POSITIVE_INFINITY) {
  const counted = { held: 0, got: 0 };
  const meter: CrawlMeter = {
    keep: (_owner, _bytes, write) => write(),
    mayPay: async () => null,
    async page(_owner, _url, work) {
      if (counted.got + (counted.held - counted.got) >= allowed) return quotaExceeded;
      counted.held += 1;
      let got = false;
      try {
        got = (await work()).end === 'got';
      } finally {
        if (got) counted.got += 1;
        else counted.held -= 1;
      }
      return null;
    },
  };
  return { meter, counted };
}

export const quotaExceeded: Failure = {
  kind: 'quota-exceeded',
  limit: '5h',
  window: '5h',
  used: 3,
  allowed: 3,
  freeAtMs: null,
  message: 'Rate limit exceeded: 5-hour window, 3 of 3 requests used.',
};

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-crawl-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** `workMaxMs`: long, when the request is sure to end. */
export function crawlsOver(t: TestContext, store: CrawlStore, parts: Partial<CrawlsParts>, workMaxMs = 60_000) {
  const threads = createCrawlThreads({ workMaxMs });
  t.after(() => threads.close());
  return createCrawls({
    store,
    worker: workerApart(randomUUID(), 'may-live'),
    reader: siteReader({}),
    files: { robots: async () => ({ allows: () => true, crawlDelayMs: null, sitemaps: [] }), file: async () => null },
    turns: createHostTurns({ atOnceMax: 10, waitingMax: 100, hostsMax: 100, nowMs: () => performance.now() }),
    threads,
    meter: countingMeter().meter,
    sink: null,
    clock: systemClock,
    pause: async (ms, signal) => {
      await pause(Math.min(ms, 10), undefined, { signal }).catch(() => undefined);
    },
    retentionMs: () => 3_600_000,
    post: async () => 200,
    onTrouble: () => undefined,
    ...parts,
  });
}

export const rules = { pagesMax: 1_000, delayMs: 0, concurrencyMax: 10 };

export function optionsOf(body: JsonObject = {}) {
  return readCrawl(new ToolFields({ url: `${origin}/`, ...body }), rules).options;
}

/** Asked until it has ended: what a caller does. */
export async function ended(store: Pick<CrawlStore, 'find'>, id: string): Promise<Crawl> {
  for (;;) {
    const crawl = await store.find(owner.tenant, id);
    if (crawl === null) throw new Error(`no crawl ${id}`);
    if (crawl.status !== 'scraping') return crawl;
    await pause(5);
  }
}

/** A store of its own, closed with the test. */
export function storeIn(t: TestContext) {
  const store = openSqliteCrawlStore({ file: join(temporaryFolder(t), 'crawl.db'), onTrouble: () => {} });
  t.after(() => store.close());
  return store;
}

/** A crawl of the site from its root to its end. */
export async function crawled(
  t: TestContext,
  site: Site,
  body: JsonObject = {},
  parts: Partial<CrawlsParts> = {},
  workMaxMs?: number,
) {
  const store = storeIn(t);
  const read: string[] = [];
  const { meter, counted } = countingMeter();
  const crawls = crawlsOver(t, store, { reader: siteReader(site, read), meter, ...parts }, workMaxMs);
  await crawls.start();
  const created = await crawls.create(owner, [`${origin}/`], optionsOf(body));
  assert.ok(created !== 'full');
  const crawl = await ended(store, created.id);
  const results = await crawls.results(crawl.id, 0, 1_000);
  const errors = await crawls.errors(crawl.id);
  await crawls.stop();
  return { crawl, read, counted, results, errors, paths: results.map(({ page }) => pathOf(page.metadata.sourceURL)) };
}

export function pathOf(url: string): string {
  return url.startsWith(origin) ? url.slice(origin.length) : url;
}
