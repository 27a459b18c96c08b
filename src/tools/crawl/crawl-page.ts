import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../kernel/backoff.ts';
import { type Failure, FailureError, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { leaseMs } from '../../kernel/leased-jobs.ts';
import { HostBusy } from '../../net/host-turns.ts';
import { canonicalUrl, isOfDomain } from '../canonical-url.ts';
import { isPaid } from '../page-reader.ts';
import type { ScrapedPage, ScrapeFormat } from '../scrape/scraped-page.ts';
import { chunksMax, chunksOf } from './chunk-page.ts';
import { hooksOf } from './crawl-message.ts';
import { kindOf } from './crawl-options.ts';
import { isPassing, type PageEnd } from './crawl-ports.ts';
import type { CrawlRun, Frontier } from './crawl-run.ts';
import { keyed } from './crawl-scope.ts';
import { robotsCode, type TakenPage } from './crawl-store.ts';

/** Effect of a page's end on the crawl. `rest`: the page waits again, and so does the crawl. */
export type PageOutcome = { next: 'go-on' } | { next: 'rest' } | { next: 'stop'; error: string };

const goOn: PageOutcome = { next: 'go-on' };
const rest: PageOutcome = { next: 'rest' };
const noFrontier = { urls: [], rowsMax: 0, shapeMax: 0 };

/**
 * The steps of one page: robots → its host's turn → paid → read → stored with its links. A page never fails its crawl.
 * Rejects when the store fails.
 */
export async function runPage(run: CrawlRun, frontier: Frontier, page: TakenPage): Promise<PageOutcome> {
  const { crawl, files, turns, signal } = run;
  const { options } = crawl;
  const url = new URL(page.url);
  let delayMs = options.delayMs;
  if (options.robots === 'obey') {
    const rules = await files.robots(url, signal);
    if (!signal.aborted && !rules.allows(url)) {
      await fail(run, page, robotsCode, "The site's robots.txt disallows it.");
      return goOn;
    }
    delayMs = Math.max(delayMs, rules.crawlDelayMs ?? 0);
  }
  let outcome: PageOutcome | null = null;
  try {
    // A failing store must not look like a busy host: they are distinguished below.
    outcome = await turns.take({ tenant: crawl.tenant, host: url.host, delayMs }, signal, () =>
      paidPage(run, frontier, page),
    );
  } catch (error) {
    if (!(error instanceof HostBusy) && !signal.aborted) throw error;
  }
  if (outcome !== null) return outcome;
  await giveBack(run, page);
  return rest;
}

const giveBackWaits = { firstMs: 100, maxMs: 1_000 };
/** A process that stops waits no longer. */
const lastTriesMax = 3;

/**
 * Lets the page wait again, unpaid if it was. While the store is away it tries again: the next reader of the page would
 * find it paid, and nobody has paid it.
 */
async function giveBack({ store, lease, stopping }: CrawlRun, page: TakenPage): Promise<void> {
  let lastTries = 0;
  for (let tries = 1; ; tries += 1) {
    try {
      return await store.putBack(lease, page);
    } catch (error) {
      if (stopping.aborted) lastTries += 1;
      if (page.paid || lastTries === lastTriesMax) throw error;
      await pause(backoffMs(tries, giveBackWaits));
    }
  }
}

/** A process that has said nothing for a little longer counts as dead: another one charges what it has open. */
const aliveMs = 20_000;

/** Null: nothing was done, and nothing paid. */
async function paidPage(run: CrawlRun, frontier: Frontier, page: TakenPage): Promise<PageOutcome | null> {
  const { meter, crawl, signal } = run;
  if (signal.aborted) return null;
  // Paid by the process that died over it.
  if (page.paid) return (await workOn(run, frontier, page)).outcome;
  let outcome: PageOutcome | null = null;
  /** Whether another process may have charged it, as one of a dead process: then it stays paid. */
  let mayBeCharged = false;
  const sinceMs = run.clock.wallMs();
  const stoodStill = () => run.clock.wallMs() - sinceMs > aliveMs;
  const troubles: unknown[] = [];
  const refused = await meter.page(crawl, page.url, async () => {
    try {
      const worked = await workOn(run, frontier, page);
      outcome = worked.outcome;
      if (outcome === null) mayBeCharged = stoodStill() || (await isTakenOver(run));
      return mayBeCharged ? { ...worked, end: 'worked' } : worked;
    } catch (error) {
      // The store has it as paid, and who reads it again pays nothing: so it has to be paid now.
      troubles.push(error);
      return { end: 'worked', failure: { kind: 'internal' } };
    }
  });
  if (troubles.length > 0) throw troubles[0];
  if (mayBeCharged || (refused !== null && isPassing(refused) && stoodStill())) {
    await giveBack(run, { ...page, paid: true });
    return rest;
  }
  if (refused === null) return outcome;
  if (isPassing(refused)) return null;
  await giveBack(run, page);
  return { next: 'stop', error: `Stopped: ${factsOf(refused, run.clock.wallMs()).message}` };
}

/** Whether another process has the crawl by now, which took this one for dead. */
async function isTakenOver({ store, lease, crawl, clock, signal, stopping }: CrawlRun): Promise<boolean> {
  if (stopping.aborted) return false;
  if (!signal.aborted && (await store.renew(lease, clock.wallMs() + leaseMs))) return false;
  return (await store.find(crawl.tenant, crawl.id))?.status === 'scraping';
}

/** How reading it ended, and what of the crawl comes next: null: the page waits again. */
async function workOn(run: CrawlRun, frontier: Frontier, page: TakenPage): Promise<PageEnd & { outcome: Next }> {
  const { signal } = run;
  const { read, forbidden } = await readPage(run, page);
  if (!isFailure(read)) {
    const finished = await keepPage(run, frontier, page, read);
    return { end: finished?.got === true ? 'got' : 'nothing', failure: null, outcome: finished?.next ?? null };
  }
  const end = isPaid(read) ? 'worked' : 'nothing';
  if (signal.aborted) return { end, failure: null, outcome: null };
  const failed = (outcome: Next) => ({ end, failure: read, outcome }) as const;
  if (forbidden !== null) {
    await fail(run, page, robotsCode, `It redirects to ${forbidden}, which robots.txt there disallows.`);
    return failed(goOn);
  }
  if (isPassing(read)) return failed(null);
  // The model's part of this page cannot be paid, so the next page's cannot be either.
  if (read.kind === 'quota-exceeded') {
    await giveBack(run, page);
    return failed({ next: 'stop', error: `Stopped: ${read.message}` });
  }
  await fail(run, page, codeOf(read), factsOf(read, run.clock.wallMs()).message, end);
  return failed(goOn);
}

type Next = PageOutcome | null;

interface PageRead {
  read: ScrapedPage | Failure;
  /** Redirect target of the page, if its robots.txt is why it was not read. */
  forbidden: string | null;
}

async function readPage({ reader, files, crawl, signal }: CrawlRun, page: TakenPage): Promise<PageRead> {
  const { scrape, robots } = crawl.options;
  let forbidden: string | null = null;
  async function mayFollow(url: URL): Promise<boolean> {
    const allowed = robots === 'ignore' || (await files.robots(url, signal)).allows(url);
    if (!allowed) forbidden = url.href;
    return allowed;
  }
  // Links make the crawl, markdown tells pages apart, whatever the caller wants to see.
  const formats = [...new Set<ScrapeFormat>([...scrape.formats, 'links', 'markdown'])];
  const options = { ...scrape, formats };
  const { tenant, keyId } = crawl;
  const order = { tenant, keyId, url: page.url, options, paced: true, mayFollow, signal };
  return { read: await reader.read(order), forbidden };
}

async function keepPage(
  run: CrawlRun,
  frontier: Frontier,
  page: TakenPage,
  read: ScrapedPage,
): Promise<{ got: boolean; next: PageOutcome } | null> {
  const { store, lease, crawl, clock, hooked, meter } = run;
  const { options } = crawl;
  const isBatch = kindOf(options) === 'batch';
  if (!isBatch && !frontier.holds(page, read.metadata.url)) {
    await fail(run, page, 'REDIRECTED_OUTSIDE', `It redirects outside the crawl, to ${read.metadata.url}.`);
    return { got: false, next: goOn };
  }
  const there = read.metadata.statusCode < 400;
  const follow = there && !isBatch && options.sitemap !== 'only';
  const original = there && !isBatch ? originalOf(page, read) : null;
  const links = [...(original === null ? [] : [original]), ...(read.links ?? [])];
  const found = follow ? await frontier.of(links, page.depth + 1) : [];
  if (found === null) {
    await giveBack(run, page);
    return { got: false, next: { next: 'stop', error: tooSlowMessage } };
  }
  if (original !== null && (await isCopyOf(original, run, read))) {
    const copy = { state: 'duplicate', seq: page.seq, atMs: clock.wallMs() } as const;
    await store.finish(lease, copy, frontier.found(found), []);
    return { got: true, next: goOn };
  }
  const warnings = [...read.warnings];
  if (there && options.collection !== null) {
    const refused = await putInCollection(run, page, read, warnings);
    if (refused?.kind === 'quota-exceeded') {
      await giveBack(run, page);
      return { got: false, next: { next: 'stop', error: `Stopped: ${refused.message}` } };
    }
    // Read again, mostly from the cache, when the ledger is back.
    if (refused?.kind === 'quota-unavailable') return null;
    if (refused !== null) warnings.push(`Not in the collection: ${factsOf(refused, clock.wallMs()).message}`);
  }
  const shown = { ...requestedFormats(read, options.scrape.formats), warnings };
  const atMs = clock.wallMs();
  const ended = canonicalUrl(read.metadata.url);
  const aliasKey = isBatch || ended === null ? null : keyed(ended).key;
  const hooks = hooksOf(crawl, { event: 'page', page: shown }, atMs);
  const contentHash = isBatch ? uniqueHash(page) : contentHashOf(page, read, there);
  const finished = {
    state: 'done',
    seq: page.seq,
    atMs,
    page: shown,
    contentHash,
    aliasKey: aliasKey === keyed(page.url).key ? null : aliasKey,
  } as const;
  const write = () => store.finish(lease, finished, frontier.found(found), hooks);
  const finish = await meter.keep(crawl, Buffer.byteLength(JSON.stringify(shown)), write).catch((error: unknown) => {
    if (error instanceof FailureError && error.failure.kind === 'quota-exceeded') return error.failure;
    throw error;
  });
  if (isFailure(finish)) {
    await giveBack(run, page);
    return { got: false, next: { next: 'stop', error: `Stopped: ${finish.message}` } };
  }
  const ends = finish !== null;
  if (ends && hooks.length > 0) hooked();
  // Without the lease another process reads it again, and finds it paid; of a cancelled crawl nobody does.
  return { got: ends || (await store.find(crawl.tenant, crawl.id))?.status === 'scraping', next: goOn };
}

const tooSlowMessage =
  'Stopped: includePaths or excludePaths take too long to match URLs. Write shorter patterns, with + and * rather than counts.';

async function putInCollection(
  { sink, crawl }: CrawlRun,
  page: TakenPage,
  read: ScrapedPage,
  warnings: string[],
): Promise<Failure | null> {
  const { collection } = crawl.options;
  if (collection === null) return null;
  if (sink === null) return { kind: 'unsupported', message: 'This server has no vector store.' };
  const { url, paid: again } = page;
  const points = chunksOf(url, read);
  if (points.length === 0) return null;
  const { tenant, account, keyId, user } = crawl;
  const { name, model } = collection;
  const some = points.slice(0, chunksMax);
  const refused = await sink.put({ tenant, account, keyId, user, collection: name, model, url, points: some, again });
  if (refused === null && points.length > chunksMax)
    warnings.push(`Only the first ${chunksMax} of its ${points.length} pieces are in the collection.`);
  return refused;
}

function requestedFormats(read: ScrapedPage, formats: readonly ScrapeFormat[]): ScrapedPage {
  const { links, markdown, ...others } = read;
  return {
    ...(markdown !== undefined && formats.includes('markdown') ? { markdown } : {}),
    ...(links !== undefined && formats.includes('links') ? { links } : {}),
    ...others,
  };
}

/** A hash that no other page has. */
function uniqueHash({ seq }: TakenPage): string {
  return `page ${seq}`;
}

/** Words alone: pages of one text at two addresses are one. Errors and empty pages are like nothing but themselves. */
function contentHashOf(page: TakenPage, { markdown, metadata }: ScrapedPage, there: boolean): string {
  const words = (markdown ?? '').replace(/\s+/g, ' ').trim();
  if (!there || words === '') return uniqueHash(page);
  return createHash('sha256')
    .update(`${metadata.title ?? ''}\n${words}`)
    .digest('base64url');
}

async function fail(
  { store, lease, clock }: CrawlRun,
  page: TakenPage,
  code: string,
  error: string,
  end: 'worked' | 'nothing' = 'nothing',
): Promise<void> {
  const ended = {
    state: 'failed',
    seq: page.seq,
    atMs: clock.wallMs(),
    code,
    error,
    free: !page.paid && end === 'nothing',
  } as const;
  await store.finish(lease, ended, noFrontier, []);
}

/** In capitals, as Firecrawl's codes. */
function codeOf(failure: Failure): string {
  return (failure.kind === 'page-refused' ? failure.code : failure.kind.replaceAll('-', '_')).toUpperCase();
}

/** The page of this site that this one says it is a copy of (`rel=canonical`), by its URL; null: none but itself. */
function originalOf(page: TakenPage, { metadata }: ScrapedPage): string | null {
  const shown = canonicalUrl(metadata.url);
  const original = metadata.canonical === null ? null : canonicalUrl(metadata.canonical, metadata.url);
  if (shown === null || original === null || !sameSite(shown, original)) return null;
  const { key } = keyed(original);
  return key === keyed(shown).key || key === keyed(page.url).key ? null : original;
}

/**
 * Whether the original was read already, so that this page adds nothing. It is a hint, as for search engines: sites
 * name their first page, or page one of a series, as the original of pages that are not copies. It is believed for a
 * page that exists and has the same title.
 */
async function isCopyOf(original: string, { store, crawl }: CrawlRun, read: ScrapedPage): Promise<boolean> {
  const url = new URL(original);
  if (crawl.options.ignoreQueryParameters) url.search = '';
  const other = await store.page(crawl.id, keyed(url.href).key);
  return other !== null && other.metadata.statusCode < 400 && other.metadata.title === read.metadata.title;
}

function sameSite(a: string, b: string): boolean {
  const host = (url: string) => new URL(url).hostname.replace(/^www\./, '');
  return isOfDomain(a, host(b)) || isOfDomain(b, host(a));
}
