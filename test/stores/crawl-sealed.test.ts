import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSealer } from '../../src/kernel/seal.ts';
import type { CrawlOptions } from '../../src/tools/crawl/crawl-options.ts';
import type { CrawlStore } from '../../src/tools/crawl/crawl-store.ts';
import { sealedCrawlStore } from '../../src/tools/crawl/sealed-crawl-store.ts';
import { drivers } from './drivers.ts';

const nowMs = 1_750_000_000_000;
const ours = createSealer(['the secret of these replicas, 32 bytes'], 'crawls');
const others = createSealer(['the secret of somebody else, 32 bytes'], 'crawls');

const options = {
  limit: 5,
  scrape: { headers: { cookie: 'session=PAGE-SECRET' } },
  webhook: {
    url: 'https://hooks.test/',
    headers: { authorization: 'Bearer HOOK-SECRET' },
    metadata: {},
    events: ['page'],
    secret: 'whsec_SIGN-SECRET',
  },
} as unknown as CrawlOptions;

function begin(store: CrawlStore): Promise<unknown> {
  const crawl = { id: 'crawl_1', tenant: 'a/dev', account: 'a', keyId: 'k', url: 'https://site.test/', options };
  const seed = { key: 'site.test/', url: 'https://site.test/', depth: 0, shape: null };
  return store.create({ ...crawl, createdMs: nowMs }, [seed], { runningMax: 3, storedMax: 3 });
}

for (const driver of drivers) {
  test(`${driver.name}: what a crawl keeps of its caller's secrets is sealed, and given back to who has the secret`, {
    skip: driver.skip,
  }, async (t) => {
    const under = await driver.create();
    t.after(() => under.remove());
    const kept = await under.crawls();
    await begin(sealedCrawlStore(kept, ours));
    assert.doesNotMatch(JSON.stringify(await kept.find('a/dev', 'crawl_1')), /SECRET/);

    const store = sealedCrawlStore(kept, ours);
    assert.deepEqual((await store.find('a/dev', 'crawl_1'))?.options, options);
    assert.deepEqual(
      (await store.list('a/dev', { kind: 'crawl', which: 'all', before: null, limit: 5 }))[0]?.options,
      options,
    );
    const [leased] = await store.lease('w', nowMs, nowMs + 30, 5);
    assert.deepEqual(leased?.options, options);
    await store.begun({ id: 'crawl_1', worker: 'w' }, [{ id: 'msg_1', body: '{}', createdMs: nowMs }]);
    const [hook] = await store.dueHooks(nowMs, nowMs + 30, 5, []);
    assert.deepEqual(hook?.webhook, options.webhook);

    const stranger = await sealedCrawlStore(kept, others).find('a/dev', 'crawl_1');
    assert.deepEqual([stranger?.options.webhook, stranger?.options.scrape.headers], [null, {}]);
  });
}

test('no file of the data folder holds a secret that a crawl was given', async (t) => {
  const under = await drivers[0]!.create();
  t.after(() => under.remove());
  await begin(sealedCrawlStore(await under.crawls(), ours));
  const files = readdirSync(under.place);
  assert.ok(files.includes('crawl.db'));
  for (const file of files) assert.ok(!readFileSync(join(under.place, file)).includes('SECRET'), file);
});
