import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Lease } from '../../src/kernel/leased-jobs.ts';
import type { CrawlKind, CrawlOptions } from '../../src/tools/crawl/crawl-options.ts';
import type { CrawlStore, FinishedPage, FoundUrl, FoundUrls } from '../../src/tools/crawl/crawl-store.ts';
import type { ScrapedPage } from '../../src/tools/scrape/scraped-page.ts';
import { drivers, type StoreDriver } from './drivers.ts';

const nowMs = 1_750_000_000_000;
const bounds = { runningMax: 3, storedMax: 3 };
const nothing: FoundUrls = { urls: [], rowsMax: 100, shapeMax: 2 };

function options(limit: number): CrawlOptions {
  return { limit, webhook: null } as CrawlOptions;
}

function found(path: string, shape: string | null = null): FoundUrl {
  return { key: `site.test${path}`, url: `https://site.test${path}`, depth: 1, shape };
}

function all(...urls: FoundUrl[]): FoundUrls {
  return { ...nothing, urls };
}

function done(seq: number, contentHash = `hash ${seq}`, aliasKey: string | null = null): FinishedPage {
  const page = { markdown: `page ${seq}`, warnings: [] } as unknown as ScrapedPage;
  return { state: 'done', seq, atMs: nowMs, page, contentHash, aliasKey };
}

async function opened(t: TestContext, driver: StoreDriver) {
  const under = await driver.create();
  t.after(() => under.remove());
  return under;
}

function begin(store: CrawlStore, id: string, { tenant = 'a/dev', limit = 10, createdMs = nowMs } = {}) {
  const crawl = { id, tenant, account: 'a', keyId: 'k', url: 'https://site.test/', options: options(limit) };
  return store.create({ ...crawl, createdMs }, [found('/')], bounds);
}

/** Of due hooks. */
const end = { status: 'completed', error: null, atMs: nowMs + 5, expiresMs: nowMs + 10 } as const;

for (const driver of drivers) {
  const { skip } = driver;

  test(`S30 ${driver.name}: crawls are taken up round the tenants, who has fewest at work first`, {
    skip,
  }, async (t) => {
    const under = await opened(t, driver);
    const store = await under.crawls();
    for (const id of ['c1', 'c2', 'c3']) await begin(store, id);
    await begin(store, 'c4', { tenant: 'b/dev' });
    await begin(store, 'c5', { tenant: 'b/dev' });
    const lease = async (count: number) =>
      (await store.lease('w', nowMs, nowMs + 30, count)).map(({ id }) => id).toSorted();
    assert.deepEqual(await lease(2), ['c1', 'c4']);
    assert.deepEqual(await lease(1), ['c2']);
    assert.deepEqual(await lease(1), ['c5'], 'its tenant has one at work, the other has two');
    await store.close();
  });

  test(`${driver.name}: a page that a process without the lease has not paid is paid by the next take`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1');
    await store.lease('w1', nowMs, nowMs + 30, 1);
    const [lost] = (await store.take({ id: 'c1', worker: 'w1' }, 1))!;
    await store.lease('w2', nowMs + 30, nowMs + 60, 1);
    const lease: Lease = { id: 'c1', worker: 'w2' };
    const [paid] = (await store.take(lease, 1))!;
    assert.equal(paid!.paid, true);
    const charged = async () => (await store.find('a/dev', 'c1'))?.charged;
    await store.putBack({ id: 'c1', worker: 'w1' }, lost!);
    assert.equal(await charged(), 0);
    assert.deepEqual(await store.take(lease, 1), [], 'it is being read');
    assert.equal(await store.finish(lease, done(1), all(found('/x')), []), null);
    const [again] = (await store.take(lease, 1))!;
    assert.deepEqual([again!.paid, await charged()], [false, 1]);
    await store.putBack({ id: 'c1', worker: 'w1' }, lost!);
    assert.equal(await charged(), 1, 'a second try changes nothing');
    assert.ok((await store.finish(lease, done(1), nothing, [])) !== null);
    const { done: ends, waiting } = (await store.find('a/dev', 'c1'))!;
    assert.deepEqual([ends, waiting, await charged()], [1, 0, 1]);
    await store.close();
  });

  test(`${driver.name}: a crawl is worked at by one process until its lease ends, its pages stay paid`, {
    skip,
  }, async (t) => {
    const under = await opened(t, driver);
    const [one, other] = [await under.crawls(), await under.crawls()];
    await begin(one, 'c1');
    const leased = await Promise.all([one.lease('w1', nowMs, nowMs + 30, 5), other.lease('w2', nowMs, nowMs + 30, 5)]);
    assert.deepEqual(leased.map((crawls) => crawls.length).toSorted(), [0, 1], 'of two that ask at once one gets it');
    const dead: Lease = { id: 'c1', worker: leased[0].length === 1 ? 'w1' : 'w2' };
    const first = await one.take(dead, 5);
    assert.deepEqual(first, [{ seq: 1, url: 'https://site.test/', depth: 1, paid: false, charge: 1 }]);
    assert.deepEqual(await other.lease('w3', nowMs + 29, nowMs + 60, 5), [], 'not before its lease is over');
    const [again] = await other.lease('w3', nowMs + 30, nowMs + 60, 5);
    assert.equal(again?.charged, 1);
    const lease: Lease = { id: 'c1', worker: 'w3' };
    const taken = await other.take(lease, 5);
    assert.deepEqual(taken, [{ seq: 1, url: 'https://site.test/', depth: 1, paid: true, charge: 1 }]);
    assert.equal(await one.take(dead, 5), null, 'whoever lost it takes nothing');
    assert.equal(await one.finish(dead, done(1), nothing, []), null, 'and writes nothing');
    assert.equal(await one.renew(dead, nowMs + 99), false);
    assert.equal(await other.renew(lease, nowMs + 99), true);
    assert.ok((await other.finish(lease, done(1), all(found('/x')), [])) !== null);
    const crawl = await one.find('a/dev', 'c1');
    assert.deepEqual([crawl?.done, crawl?.failed, crawl?.waiting, crawl?.charged], [1, 0, 1, 1]);
    await other.release({ worker: 'w3' });
    assert.equal((await one.lease('w4', nowMs, nowMs + 30, 5)).length, 1, 'given back at a stop');
    await one.release({ allBut: 'w4' });
    assert.deepEqual(await one.lease('w5', nowMs, nowMs + 30, 5), [], 'it may live');
    await one.release({ allBut: 'w5' });
    assert.equal((await one.lease('w5', nowMs, nowMs + 30, 5)).length, 1, 'all others are known to be dead');
    await one.close();
    await other.close();
  });

  test(`${driver.name}: a crawl takes no more pages than its limit; what cost nothing does not count`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1', { limit: 2 });
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'c1', worker: 'w' };
    await store.add(lease, all(found('/a'), found('/b'), found('/c'), found('/a')));
    assert.equal((await store.find('a/dev', 'c1'))?.seeded, false);
    assert.equal(await store.begun(lease, []), true);
    assert.equal((await store.find('a/dev', 'c1'))?.seeded, true);
    const first = await store.take(lease, 10);
    assert.deepEqual(
      first?.map(({ seq }) => seq),
      [1, 2],
    );
    await store.finish(
      lease,
      { state: 'failed', seq: 1, atMs: nowMs, code: 'X', error: 'why', free: true },
      nothing,
      [],
    );
    await store.putBack(lease, first![1]!);
    const second = await store.take(lease, 10);
    assert.deepEqual(
      second?.map(({ seq }) => seq),
      [2, 3],
    );
    await store.putBack(lease, { ...second![1]!, paid: true });
    const third = await store.take(lease, 10);
    assert.deepEqual(
      third?.map(({ seq, paid }) => [seq, paid]),
      [[3, true]],
      'paid: taken though the limit is reached',
    );
    assert.deepEqual(await store.errors('c1', 10), [
      { seq: 1, url: 'https://site.test/', code: 'X', error: 'why', atMs: nowMs },
    ]);
    await store.close();
  });

  test(`${driver.name}: known URLs, endless shapes, and more than there is room for are left out`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1');
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'c1', worker: 'w' };
    await store.take(lease, 1);
    const days = [1, 2, 3, 4].map((day) => found(`/day/${day}`, 'day'));
    await store.finish(lease, done(1, 'home', 'site.test/home'), all(found('/'), found('/home'), ...days), []);
    await store.add(lease, all(found('/day/8', 'day')));
    await store.add(lease, all(found('/day/9', 'day'), found('/x')));
    const paths = (await store.take(lease, 10))?.map(({ url }) => new URL(url).pathname);
    assert.deepEqual(paths, ['/day/1', '/day/2', '/x']);
    await store.add(lease, { ...all(found('/y'), found('/z')), rowsMax: 6 });
    const more = (await store.take(lease, 10))?.map(({ url }) => new URL(url).pathname);
    assert.deepEqual(more, ['/y']);
    await store.close();
  });

  test(`${driver.name}: a page of the same words, or one that a redirect has led to, is not kept twice`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1');
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'c1', worker: 'w' };
    await store.take(lease, 1);
    await store.finish(lease, done(1), all(found('/a'), found('/b'), found('/c')), []);
    await store.take(lease, 1);
    await store.finish(lease, done(2, 'hash 1'), all(found('/from-duplicate')), []);
    await store.take(lease, 1);
    await store.finish(lease, done(3, 'hash 3', 'site.test/c'), nothing, []);
    assert.deepEqual(await store.take(lease, 9), []);
    const crawl = await store.find('a/dev', 'c1');
    assert.deepEqual([crawl?.done, crawl?.failed, crawl?.waiting, crawl?.charged], [2, 0, 0, 3]);
    await store.close();
  });

  test(`${driver.name}: a kept page is found by its key; a copy that says so itself is read, not kept, its links are`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    for (const id of ['c1', 'c2']) await begin(store, id);
    await store.lease('w', nowMs, nowMs + 30, 2);
    const lease: Lease = { id: 'c1', worker: 'w' };
    await store.take(lease, 1);
    await store.finish(lease, done(1), all(found('/a'), found('/b')), []);
    assert.equal((await store.page('c1', 'site.test/'))?.markdown, 'page 1');
    for (const [id, key] of [
      ['c1', 'site.test/a'],
      ['c1', 'site.test/none'],
      ['c2', 'site.test/'],
    ] as const) {
      assert.equal(await store.page(id, key), null, 'waits, is unknown, is another crawl’s');
    }
    await store.take(lease, 1);
    await store.finish(lease, { state: 'duplicate', seq: 2, atMs: nowMs }, all(found('/c')), []);
    assert.equal(await store.page('c1', 'site.test/a'), null);
    const crawl = await store.find('a/dev', 'c1');
    assert.deepEqual([crawl?.done, crawl?.failed, crawl?.waiting, crawl?.charged], [1, 0, 2, 2]);
    assert.deepEqual(
      (await store.take(lease, 9))?.map(({ url }) => url),
      ['https://site.test/b', 'https://site.test/c'],
    );
    assert.equal((await store.results('c1', 0, 9, 1_000)).length, 1);
    await store.close();
  });

  test(`${driver.name}: results come in the order of their ends, by cursor, bounded in size`, { skip }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1');
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'c1', worker: 'w' };
    await store.add(lease, all(found('/a'), found('/b'), found('/c')));
    await store.take(lease, 10);
    for (const seq of [3, 1]) await store.finish(lease, done(seq), nothing, []);
    await store.finish(lease, { state: 'failed', seq: 2, atMs: nowMs, code: 'X', error: '', free: false }, nothing, []);
    await store.finish(lease, done(4), nothing, []);
    const texts = async (after: number, limit: number, chars = 1_000) =>
      (await store.results('c1', after, limit, chars)).map(({ at, page }) => [at, page.markdown]);
    assert.deepEqual(await texts(0, 2), [
      [1, 'page 3'],
      [2, 'page 1'],
    ]);
    assert.deepEqual(await texts(2, 2), [[4, 'page 4']]);
    assert.deepEqual(await texts(0, 10, 5), [[1, 'page 3']], 'one at least');
    assert.deepEqual((await texts(0, 10, 90)).length, 2);
    await store.close();
  });

  test(`${driver.name}: an ended crawl keeps its pages until its time is over; tenants see their own`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    for (const id of ['crawl_c1', 'crawl_c2', 'crawl_c3']) assert.equal(await begin(store, id), 'created');
    assert.equal(await begin(store, 'crawl_c4'), 'full');
    assert.equal(await begin(store, 'crawl_d1', { tenant: 'b/dev' }), 'created');
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'crawl_c1', worker: 'w' };
    await store.take(lease, 1);
    await store.finish(lease, done(1), all(found('/a'), found('/b'), found('/c')), []);
    await store.take(lease, 2);
    assert.equal(await store.cancel('b/dev', 'crawl_c1', { ...end, status: 'cancelled' }), null);
    assert.equal((await store.cancel('a/dev', 'crawl_c1', { ...end, status: 'cancelled' }))?.status, 'cancelled');
    assert.equal(await store.take(lease, 1), null, 'its worker notices');
    assert.equal((await store.cancel('a/dev', 'crawl_c1', end))?.status, 'cancelled', 'ended once');
    const crawl = await store.find('a/dev', 'crawl_c1');
    assert.deepEqual([crawl?.waiting, crawl?.done, crawl?.expiresMs], [0, 1, nowMs + 10]);
    assert.equal(crawl?.charged, 1, 'the two pages under way cost nothing');
    assert.equal(await store.find('b/dev', 'crawl_c1'), null);
    const ids = async (which: 'all' | 'running', before: string | null = null) =>
      (await store.list('a/dev', { kind: 'crawl', which, before, limit: 2 })).map(({ id }) => id);
    assert.deepEqual(
      [await ids('all'), await ids('all', 'crawl_c2'), await ids('running')],
      [['crawl_c3', 'crawl_c2'], ['crawl_c1'], ['crawl_c3', 'crawl_c2']],
    );
    assert.equal(await store.prune(nowMs + 9), 0);
    assert.equal(await store.prune(nowMs + 10), 1);
    assert.equal(await store.find('a/dev', 'crawl_c1'), null);
    assert.deepEqual(await store.results('crawl_c1', 0, 10, 1_000), []);
    await store.close();
  });

  test(`${driver.name}: of a tenant's ended crawls the oldest go above the bound`, { skip }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    for (const id of ['crawl_c1', 'crawl_c2', 'crawl_c3', 'crawl_c4']) {
      await begin(store, id);
      await store.cancel('a/dev', id, end);
    }
    const ids = (await store.list('a/dev', { kind: 'crawl', which: 'all', before: null, limit: 10 })).map(
      ({ id }) => id,
    );
    assert.deepEqual(ids, ['crawl_c4', 'crawl_c3', 'crawl_c2']);
    await store.close();
  });

  test(`${driver.name}: batches are listed apart from crawls, and of both the oldest go above the bound`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    // Their ids do not tell which of the two is older.
    for (const [at, id] of ['crawl_1', 'batch_2', 'crawl_3', 'batch_4'].entries()) {
      await begin(store, id, { createdMs: nowMs + at });
      await store.cancel('a/dev', id, end);
    }
    const ids = async (kind: CrawlKind, before: string | null = null) =>
      (await store.list('a/dev', { kind, which: 'all', before, limit: 10 })).map(({ id }) => id);
    assert.deepEqual(await ids('crawl'), ['crawl_3']);
    assert.deepEqual(await ids('batch'), ['batch_4', 'batch_2']);
    assert.deepEqual(await ids('batch', 'crawl_9'), ['batch_4', 'batch_2'], 'whatever it is to be listed after');
    await store.close();
  });

  test(`${driver.name}: what a webhook is told is queued with what it tells, and leased to one sender`, {
    skip,
  }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    await begin(store, 'c1');
    await store.lease('w', nowMs, nowMs + 30, 1);
    const lease: Lease = { id: 'c1', worker: 'w' };
    const hook = (id: string) => ({ id, body: `{"${id}":1}`, createdMs: nowMs });
    await store.take(lease, 1);
    assert.equal(await store.finish({ ...lease, worker: 'other' }, done(1), nothing, [hook('m0')]), null);
    await store.finish(lease, done(1), nothing, [hook('m1')]);
    await store.end(lease, end, [hook('m2')]);
    assert.equal(await store.end(lease, end, [hook('m3')]), false, 'the lease is over with the crawl');
    const due = await store.dueHooks(nowMs, nowMs + 20, 10, []);
    assert.deepEqual(due, [
      { ...hook('m1'), crawl: 'c1', tenant: 'a/dev', webhook: null, tries: 0 },
      { ...hook('m2'), crawl: 'c1', tenant: 'a/dev', webhook: null, tries: 0 },
    ]);
    assert.deepEqual(await store.dueHooks(nowMs + 19, nowMs + 40, 10, []), []);
    await store.hookDone('m1');
    await store.hookLater('m2', 1, nowMs + 25);
    assert.deepEqual(await store.dueHooks(nowMs + 24, nowMs + 40, 10, []), []);
    assert.deepEqual(
      (await store.dueHooks(nowMs + 25, nowMs + 40, 10, [])).map(({ id, tries }) => [id, tries]),
      [['m2', 1]],
    );
    await store.close();
  });

  test(`S27 ${driver.name}: hooks that are due go round the tenants`, { skip }, async (t) => {
    const store = await (await opened(t, driver)).crawls();
    for (const [id, tenant] of [
      ['c1', 'a/dev'],
      ['c2', 'b/dev'],
      ['c3', 'c/dev'],
    ] as const) {
      await begin(store, id, { tenant });
      await store.lease('w', nowMs, nowMs + 30, 1);
      const hooks = Array.from({ length: 5 }, (_, at) => ({ id: `${id}-${at}`, body: '{}', createdMs: nowMs + at }));
      await store.end({ id, worker: 'w' }, end, hooks);
    }
    const due = async (limit: number, without: string[]) =>
      (await store.dueHooks(nowMs + 5, nowMs + 20, limit, without)).map(({ id }) => id).toSorted();
    assert.deepEqual(await due(3, []), ['c1-0', 'c2-0', 'c3-0']);
    assert.deepEqual(await due(4, ['a/dev']), ['c2-1', 'c2-2', 'c3-1', 'c3-2']);
    await store.close();
  });
}
