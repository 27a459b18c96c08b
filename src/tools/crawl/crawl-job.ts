import { setImmediate as nextTurn } from 'node:timers/promises';
import { hooksOf } from './crawl-message.ts';
import { kindOf } from './crawl-options.ts';
import { runPage } from './crawl-page.ts';
import type { CrawlRun, Frontier } from './crawl-run.ts';
import { createScope } from './crawl-scope.ts';
import type { CrawlEnd, FoundUrl, TakenPage } from './crawl-store.ts';
import { findInSitemaps } from './find-sitemaps.ts';

/** Rows that a crawl may have for each page that it may read: beyond them nothing more is noted. */
const rowsPerPage = 20;
const rowsMax = 100_000;
const rowsMin = 1_000;
/** URLs of one endless kind. */
const shapeMax = 50;
/** After a failure that passes. */
const restMs = 5_000;

/** Reads pages until there are no more, or the crawl is stopped. Rejects when the store fails: then it is taken up again. */
export async function runCrawl(run: CrawlRun): Promise<void> {
  const { store, lease, signal, crawl } = run;
  const start = await startOf(run);
  const frontier = createFrontier(run, start);
  if (!crawl.seeded && !(await beginCrawl(run, frontier))) return;

  const inFlight = new Set<Promise<void>>();
  let firstDone = kindOf(crawl.options) === 'batch' || crawl.done + crawl.failed > 0;
  let stop: Stop | null = null;
  let trouble: unknown = null;
  /** Waited for before the next page is begun. */
  let resting: Promise<void> | null = null;

  const rest = async () => {
    await run.pause(restMs, signal);
    resting = null;
  };
  const begin = (page: TakenPage) => {
    const reading = runPage(run, frontier, page)
      .then((outcome) => {
        firstDone = true;
        if (outcome.next === 'stop') stop ??= { error: outcome.error };
        if (outcome.next === 'rest') resting ??= rest();
      })
      .catch((error: unknown) => {
        trouble ??= error;
      })
      .finally(() => inFlight.delete(reading));
    inFlight.add(reading);
  };

  while (!signal.aborted && stop === null && trouble === null) {
    if (resting !== null) await resting;
    // Of a crawl, only the first page: its redirect decides what belongs to the crawl.
    const free = (firstDone ? crawl.options.maxConcurrency : 1) - inFlight.size;
    if (free > 0) {
      // One that ends while we ask may add pages that the answer does not know of.
      const idle = inFlight.size === 0;
      const taken = await store.take(lease, free);
      if (taken === null) break;
      for (const page of taken) begin(page);
      if (idle && taken.length === 0) stop = { error: null };
    }
    if (inFlight.size > 0) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
  if (trouble !== null) throw trouble;
  if (stop !== null && !signal.aborted) await end(run, stop);
}

interface Stop {
  /** Null: there was nothing left to read. */
  error: string | null;
}

async function end({ store, lease, crawl, clock, retentionMs, hooked }: CrawlRun, { error }: Stop): Promise<void> {
  const atMs = clock.wallMs();
  const ended: CrawlEnd = {
    status: error === null ? 'completed' : 'failed',
    error,
    atMs,
    expiresMs: atMs + retentionMs(),
  };
  const event = error === null ? ({ event: 'completed' } as const) : ({ event: 'failed', error } as const);
  if (await store.end(lease, ended, hooksOf(crawl, event, atMs))) hooked();
}

/** Where the first page redirected to, if it has been read: a crawl that is taken up goes on there. */
async function startOf({ store, crawl }: CrawlRun): Promise<string> {
  const [first] = crawl.done > 0 ? await store.results(crawl.id, 0, 1, 1) : [];
  return first?.at === 1 ? first.page.metadata.url : crawl.url;
}

async function beginCrawl(run: CrawlRun, frontier: Frontier): Promise<boolean> {
  const { store, lease, crawl, clock, hooked } = run;
  const listed =
    crawl.options.sitemap === 'skip'
      ? []
      : (await findInSitemaps(crawl.url, { ...run, tenant: crawl.tenant, urlsMax: frontier.rowsMax })).urls;
  for (let at = 0; at < listed.length; at += linksMax) {
    // Patterns that take too long stop the crawl at its first page, where there is one to tell of.
    const found = (await frontier.of(listed.slice(at, at + linksMax), 1)) ?? [];
    if (!(await store.add(lease, frontier.found(found)))) return false;
  }
  const hooks = hooksOf(crawl, { event: 'started' }, clock.wallMs());
  const begun = await store.begun(lease, hooks);
  if (begun && hooks.length > 0) hooked();
  return begun;
}

/** Most links of one page, and of sitemaps at once. Further ones are left out, or come in the next step. */
const linksMax = 2_000;
/** Looked at in one turn of the loop. */
const linksAtOnce = 200;
/** Held against the caller's patterns at once: few enough that the next tenant's turn comes soon. */
const matchedAtOnce = 100;

function createFrontier({ crawl: { options, tenant }, threads }: CrawlRun, start: string): Frontier {
  let scope = createScope(start, options);
  const rows = Math.min(rowsMax, Math.max(rowsMin, options.limit * rowsPerPage));
  const { includePaths: include, excludePaths: exclude } = options;

  return {
    rowsMax: rows,
    found: (urls) => ({ urls, rowsMax: rows, shapeMax }),
    holds(page, url) {
      if (page.seq === 1) scope = createScope(url, options);
      return scope.holds(url);
    },
    async of(links, depth) {
      const candidates = new Map<string, FoundUrl>();
      for (const [at, link] of links.entries()) {
        if (at % linksAtOnce === linksAtOnce - 1) await nextTurn();
        const candidate = scope.candidate(link, depth);
        if (candidate !== null && !candidates.has(candidate.key)) candidates.set(candidate.key, candidate);
        if (candidates.size >= linksMax) break;
      }
      const urls = [...candidates.values()];
      if ((include === null && exclude === null) || urls.length === 0) return urls;
      const fitting: FoundUrl[] = [];
      for (let at = 0; at < urls.length; at += matchedAtOnce) {
        const some = urls.slice(at, at + matchedAtOnce);
        const texts = some.map(({ url }) => (options.patternsOn === 'url' ? url : new URL(url).pathname));
        const fits = await threads.ask(tenant, 'match', { include, exclude, texts });
        if (fits === null) return null;
        fitting.push(...some.filter((_, which) => fits[which]));
      }
      return fitting;
    },
  };
}
