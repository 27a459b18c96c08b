import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Failure } from '../../src/kernel/failure.ts';
import { openSqliteCrawlStore } from '../../src/stores/sqlite/stores.ts';
import type { CrawlStore } from '../../src/tools/crawl/crawl-store.ts';
import type { CrawlsParts } from '../../src/tools/crawl/crawls.ts';
import type { PageReader } from '../../src/tools/page-reader.ts';
import { until } from '../until.ts';
import {
  countingMeter,
  crawled,
  crawlsOver,
  ended,
  optionsOf,
  origin,
  owner,
  type Site,
  siteReader,
  storeIn,
  temporaryFolder,
} from './crawl-site.ts';

/** The reader, except for one page, which it begins (`held`) and never reads. */
function holdingAt(path: string, site: PageReader) {
  const begun = Promise.withResolvers<void>();
  const reader: PageReader = {
    ...site,
    async read(order) {
      if (!order.url.endsWith(path)) return site.read(order);
      begun.resolve();
      await new Promise((resolve) => order.signal.addEventListener('abort', resolve));
      return { kind: 'request-timeout', message: 'Nobody waits any more.' };
    },
  };
  return { reader, held: begun.promise };
}

test('quota that runs out stops a crawl, which keeps what it has and says why', async (t) => {
  const site: Site = { '/': { links: ['/a', '/b', '/c', '/d'] } };
  const { meter, counted } = countingMeter(3);
  const { crawl, paths } = await crawled(t, site, {}, { meter });
  assert.equal(crawl.status, 'failed');
  assert.match(crawl.error ?? '', /^Stopped: Rate limit exceeded: 5-hour window/);
  assert.deepEqual([paths.length, crawl.done, crawl.charged, counted.got], [3, 3, 3, 3]);
});

test('what passes, such as books that cannot be reached, is waited for', async (t) => {
  let asked = 0;
  const { meter } = countingMeter();
  const flaky: CrawlsParts['meter'] = {
    ...meter,
    page: (...of) =>
      asked++ % 2 === 0 ? Promise.resolve({ kind: 'quota-unavailable', message: 'later' }) : meter.page(...of),
  };
  const { crawl } = await crawled(t, { '/': { links: ['/a', '/b'] } }, {}, { meter: flaky });
  assert.deepEqual([crawl.status, crawl.done, crawl.charged], ['completed', 3, 3]);
});

test('F46 a page that the store cannot keep is paid once, by whoever reads it', async (t) => {
  const store = storeIn(t);
  let failures = 1;
  const failing: CrawlStore = {
    ...store,
    async finish(...of) {
      if (failures-- > 0) throw new Error('the database is away');
      return store.finish(...of);
    },
  };
  const { meter } = countingMeter();
  let paid = 0;
  const counting: CrawlsParts['meter'] = {
    ...meter,
    page: (owner, url, work) =>
      meter.page(owner, url, async () => {
        const ended = await work();
        if (ended.end !== 'nothing') paid += 1;
        return ended;
      }),
  };
  const reader = siteReader({ '/': { links: ['/a'] }, '/a': {} }, []);
  const first = crawlsOver(t, failing, { reader, meter: counting });
  await first.start();
  const created = await first.create(owner, [`${origin}/`], optionsOf());
  assert.ok(created !== 'full');
  await until('the store has failed', () => failures === 0);
  await first.stop();
  const second = crawlsOver(t, store, { reader, meter: counting });
  await second.start();
  const { status, done, charged } = await ended(store, created.id);
  await second.stop();
  assert.deepEqual([status, done, charged, paid], ['completed', 2, 2, 2]);
});

test('F46 a page that waits for the books, while its store is away too, is paid by whoever reads it', async (t) => {
  const store = storeIn(t);
  let failures = 2;
  const failing: CrawlStore = {
    ...store,
    async putBack(...of) {
      if (failures-- > 0) throw new Error('the database is away');
      return store.putBack(...of);
    },
  };
  const { meter } = countingMeter();
  let refusals = 1;
  let paid = 0;
  const away: Failure = { kind: 'quota-unavailable', message: 'The books are away.' };
  const counting: CrawlsParts['meter'] = {
    ...meter,
    async page(owner, url, work) {
      if (refusals-- > 0) return away;
      paid += 1;
      return meter.page(owner, url, work);
    },
  };
  const crawls = crawlsOver(t, failing, { reader: siteReader({ '/': {} }, []), meter: counting });
  await crawls.start();
  const created = await crawls.create(owner, [`${origin}/`], optionsOf());
  assert.ok(created !== 'full');
  const { status, done, charged } = await ended(store, created.id);
  await crawls.stop();
  assert.deepEqual([status, done, charged, paid], ['completed', 1, 1, 1]);
});

test('F46 a page that waits for the books is paid by the process that takes its crawl over meanwhile', async (t) => {
  const store = storeIn(t);
  const taken = Promise.withResolvers<void>();
  const away: Failure = { kind: 'quota-unavailable', message: 'The books are away.' };
  let isBack = false;
  let putBack = false;
  const failing: CrawlStore = {
    ...store,
    async putBack(...of) {
      taken.resolve();
      if (!isBack) throw new Error('the database is away');
      await store.putBack(...of);
      putBack = true;
    },
  };
  const { meter } = countingMeter();
  const site = siteReader({ '/': {} }, []);
  const first = crawlsOver(t, failing, { reader: site, meter: { ...meter, page: async () => away } });
  await first.start();
  const created = await first.create(owner, [`${origin}/`], optionsOf());
  assert.ok(created !== 'full');
  await taken.promise;
  await store.release({ allBut: 'nobody' });
  let paid = 0;
  const counting: CrawlsParts['meter'] = {
    ...meter,
    page(...of) {
      paid += 1;
      return meter.page(...of);
    },
  };
  const reader: PageReader = {
    ...site,
    async read(order) {
      isBack = true;
      await until('the first one has put it back', () => putBack);
      return site.read(order);
    },
  };
  const second = crawlsOver(t, store, { reader, meter: counting });
  await second.start();
  const { status, done, charged } = await ended(store, created.id);
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual([status, done, charged, paid], ['completed', 1, 1, 1]);
});

for (const [how, stillMs] of [
  ['whose crawl another one has', 0],
  ['whose crawl nobody has taken over', 30_000],
] as const) {
  test(`F46 a page of a process that counted as dead and goes on, ${how}, is paid once`, async (t) => {
    const store = storeIn(t);
    const taken = Promise.withResolvers<void>();
    const isPast = Promise.withResolvers<void>();
    const site = siteReader({ '/': {} }, []);
    let aheadMs = 0;
    const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
    let reads = 0;
    const late: PageReader = {
      ...site,
      async read(order) {
        reads += 1;
        if (reads > 1) return site.read(order);
        taken.resolve();
        await isPast.promise;
        aheadMs = stillMs;
        return { kind: 'overloaded', message: 'It stood still for a minute.' };
      },
    };
    let paid = 0;
    const { meter } = countingMeter();
    // The books charge what a dead process left open, and its end changes nothing any more.
    const charging: CrawlsParts['meter'] = {
      ...meter,
      page(...of) {
        paid += 1;
        return meter.page(...of);
      },
    };
    const first = crawlsOver(t, store, { reader: late, meter: charging, clock });
    await first.start();
    const created = await first.create(owner, [`${origin}/`], optionsOf());
    assert.ok(created !== 'full');
    await taken.promise;
    let second: typeof first | null = null;
    if (stillMs > 0) isPast.resolve();
    else {
      await store.release({ allBut: 'nobody' });
      const reader: PageReader = {
        ...site,
        async read(order) {
          isPast.resolve();
          await pause(200);
          return site.read(order);
        },
      };
      second = crawlsOver(t, store, { reader, meter: charging });
      await second.start();
    }
    const { status, done, charged } = await ended(store, created.id);
    await Promise.all([first.stop(), second?.stop()]);
    assert.deepEqual([status, done, charged, paid], ['completed', 1, 1, 1]);
  });
}

test('a limit of a minute, met by what is written of pages, is waited for', async (t) => {
  let asked = 0;
  const site = siteReader({ '/': { links: ['/a'] }, '/a': {} }, []);
  const limited: Failure = {
    ...{ kind: 'quota-exceeded', limit: 'tokens:minute', window: null, used: 9, allowed: 9 },
    freeAtMs: 1,
    message: 'later',
  };
  const reader: PageReader = { ...site, read: async (order) => (asked++ % 2 === 0 ? limited : site.read(order)) };
  const { meter, counted } = countingMeter();
  const { crawl } = await crawled(t, {}, {}, { reader, meter });
  assert.deepEqual([crawl.status, crawl.done, crawl.charged, counted.got], ['completed', 2, 2, 2]);
});

test('a crawl that is cancelled reads nothing more and keeps what it has', async (t) => {
  const store = storeIn(t);
  const read: string[] = [];
  const site = siteReader({ '/': { links: ['/a', '/b'] } }, read);
  const { meter, counted } = countingMeter();
  const { reader, held } = holdingAt('/a', site);
  const crawls = crawlsOver(t, store, { meter, reader });
  await crawls.start();
  const created = await crawls.create(owner, [`${origin}/`], optionsOf({ maxConcurrency: 1 }));
  assert.ok(created !== 'full');
  await held;
  assert.equal(await crawls.cancel('b/other', created.id), null);
  assert.equal((await crawls.cancel(owner.tenant, created.id))?.status, 'cancelled');
  await crawls.stop();
  assert.deepEqual(read, ['/']);
  assert.deepEqual([(await crawls.results(created.id, 0, 10)).length, counted.got, counted.held], [1, 1, 1]);
  assert.equal((await crawls.find(owner.tenant, created.id))?.charged, 1);
});

test('a page that ends just after its crawl was cancelled by another replica costs nothing', async (t) => {
  const store = storeIn(t);
  const site = siteReader({ '/': { links: ['/a'] }, '/a': {} }, []);
  const { meter, counted } = countingMeter();
  const reader: PageReader = {
    ...site,
    async read(order) {
      const page = await site.read(order);
      if (!order.url.endsWith('/a')) return page;
      const listed = { kind: 'crawl', which: 'running', before: null, limit: 1 } as const;
      const [running] = await store.list(owner.tenant, listed);
      assert.ok(running);
      await store.cancel(owner.tenant, running.id, { status: 'cancelled', error: null, atMs: 1, expiresMs: 1e15 });
      return page;
    },
  };
  const crawls = crawlsOver(t, store, { meter, reader });
  await crawls.start();
  const created = await crawls.create(owner, [`${origin}/`], optionsOf({ maxConcurrency: 1 }));
  assert.ok(created !== 'full');
  const crawl = await ended(store, created.id);
  await crawls.stop();
  assert.deepEqual([crawl.status, crawl.done, crawl.charged, counted.got], ['cancelled', 1, 1, 1]);
});

test('a crawl that is stopped with its server goes on where it was, and pays no page twice', async (t) => {
  const store = storeIn(t);
  const read: string[] = [];
  const site = siteReader({ '/': { links: ['/a', '/b', '/c'] } }, read);
  const { meter, counted } = countingMeter();
  const { reader, held } = holdingAt('/b', site);
  const first = crawlsOver(t, store, { meter, reader });
  await first.start();
  const created = await first.create(owner, [`${origin}/`], optionsOf({ maxConcurrency: 1 }));
  assert.ok(created !== 'full');
  await held;
  await first.stop();
  const second = crawlsOver(t, store, { meter, reader: site });
  await second.start();
  const crawl = await ended(store, created.id);
  await second.stop();
  assert.deepEqual(read, ['/', '/a', '/b', '/c']);
  assert.deepEqual([crawl.status, crawl.done, crawl.charged, counted.got], ['completed', 4, 4, 4]);
});

test('a batch that is stopped with its server goes on with what was not read, and pays no page twice', async (t) => {
  const store = storeIn(t);
  const read: string[] = [];
  const site = siteReader({ '/': { links: ['/elsewhere'] }, '/a': {}, '/b': {} }, read);
  const { meter, counted } = countingMeter();
  const { reader, held } = holdingAt('/a', site);
  const first = crawlsOver(t, store, { meter, reader });
  await first.start();
  const urls = ['/', '/a', '/b', '/'].map((path) => origin + path);
  const created = await first.create(owner, urls, { ...optionsOf({ maxConcurrency: 1, limit: 4 }), kind: 'batch' });
  assert.ok(created !== 'full');
  assert.match(created.id, /^batch_/);
  await held;
  await first.stop();
  const second = crawlsOver(t, store, { meter, reader: site });
  await second.start();
  const batch = await ended(store, created.id);
  const results = await second.results(batch.id, 0, 10);
  await second.stop();
  assert.deepEqual(read, ['/', '/a', '/b', '/'], 'no link is followed, and what is given twice is read twice');
  assert.deepEqual(
    results.map(({ page }) => page.metadata.sourceURL),
    urls,
  );
  assert.deepEqual([batch.status, batch.done, batch.charged, counted.got], ['completed', 4, 4, 4]);
});

test('a crawl whose process died is taken up when its lease is over; the page under way is not paid again', async (t) => {
  const store = storeIn(t);
  const nowMs = Date.now();
  const options = optionsOf();
  const crawl = { ...owner, id: 'crawl_1', url: `${origin}/`, options, createdMs: nowMs };
  await store.create(crawl, [{ key: 'site.test', url: `${origin}/`, depth: 0, shape: null }], {
    runningMax: 9,
    storedMax: 9,
  });
  await store.lease('dead', nowMs, nowMs - 1, 1);
  await store.take({ id: crawl.id, worker: 'dead' }, 1);
  const read: string[] = [];
  const { meter, counted } = countingMeter();
  const crawls = crawlsOver(t, store, { meter, reader: siteReader({ '/': { links: ['/a'] } }, read) });
  await crawls.start();
  const end = await ended(store, crawl.id);
  await crawls.stop();
  assert.deepEqual(read, ['/', '/a']);
  assert.deepEqual([end.status, end.charged, counted.got], ['completed', 2, 1]);
});

test('several processes over one database read each page of a crawl once', async (t) => {
  const folder = temporaryFolder(t);
  const read: string[] = [];
  const site: Site = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [at === 0 ? '/' : `/p${at}`, { links: [`/p${at + 1}`, `/p${at + 2}`] }]),
  );
  const processes = await Promise.all(
    [1, 2, 3].map(async () => {
      const store = openSqliteCrawlStore({ file: join(folder, 'crawl.db'), onTrouble: () => {} });
      t.after(() => store.close());
      const crawls = crawlsOver(t, store, { reader: siteReader(site, read) });
      await crawls.start();
      return { store, crawls };
    }),
  );
  const ids = await Promise.all(
    processes.map(({ crawls }) => crawls.create(owner, [`${origin}/`], optionsOf({ maxDiscoveryDepth: 30 }))),
  );
  for (const made of ids) {
    assert.ok(made !== 'full');
    assert.equal((await ended(processes[0]!.store, made.id)).status, 'completed');
  }
  for (const { crawls } of processes) await crawls.stop();
  assert.equal(read.length, 3 * 22, 'three crawls of twenty pages and two that are missing');
});

test('a tenant has as many running crawls as it may, others are not in its way', async (t) => {
  const store = storeIn(t);
  const crawls = crawlsOver(t, store, {});
  for (let at = 0; at < 20; at++)
    assert.notEqual(
      await store.create(
        { ...owner, id: `c${at}`, url: origin, options: optionsOf(), createdMs: 1 },
        [{ key: 'x', url: origin, depth: 0, shape: null }],
        { runningMax: 20, storedMax: 9 },
      ),
      'full',
    );
  assert.equal(await crawls.create(owner, [`${origin}/`], optionsOf()), 'full');
  assert.notEqual(await crawls.create({ ...owner, tenant: 'b/dev' }, [`${origin}/`], optionsOf()), 'full');
  await crawls.stop();
});

test('a page of more pieces than a collection gets says so', async (t) => {
  let put = 0;
  const sink: CrawlsParts['sink'] = {
    check: async () => null,
    async put({ points }) {
      put = points.length;
      return null;
    },
  };
  const text = Array.from({ length: 230 }, (_, at) => `# Part ${at}\n\nOf the book.`).join('\n\n');
  const { results } = await crawled(t, { '/': { text } }, { collection: { name: 'docs', model: 'embed' } }, { sink });
  assert.equal(put, 200);
  assert.deepEqual(results[0]?.page.warnings, ['Only the first 200 of its 230 pieces are in the collection.']);
});

test('every page becomes pieces for the collection, under names that stay the same', async (t) => {
  const put: { ids: string[]; texts: string[]; collection: string; model: string | null }[] = [];
  const sink: CrawlsParts['sink'] = {
    check: async () => null,
    async put({ points, collection, model }) {
      put.push({ ids: points.map(({ id }) => id), texts: points.map(({ text }) => text), collection, model });
      return null;
    },
  };
  const text = `# Guide\n\nIntro.\n\n## Install\n\n${'Long words of a paragraph. '.repeat(90)}\n\nEnd.`;
  const body = { collection: { name: 'docs', model: 'embed' } };
  const { crawl } = await crawled(t, { '/': { text } }, body, { sink });
  await crawled(t, { '/': { text } }, body, { sink });
  assert.equal(crawl.status, 'completed');
  assert.deepEqual(put[0], put[1]);
  assert.deepEqual([put[0]?.collection, put[0]?.model, put[0]?.texts.length], ['docs', 'embed', 3]);
  assert.equal(put[0]?.texts[0], 'Guide\n\nIntro.');
  assert.ok(put[0]?.texts[1]?.startsWith('Guide > Install\n\nLong words'));
  assert.match(put[0]?.ids[0] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
