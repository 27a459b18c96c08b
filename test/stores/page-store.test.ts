import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredPage } from '../../src/tools/page-store.ts';
import { drivers } from './drivers.ts';

const nowMs = Date.UTC(2026, 0, 31);
const tenant = 'acme/laptop';

function page(url: string, text: string, given: Partial<StoredPage> & { title?: string } = {}): StoredPage {
  const { title = 'A page', ...rest } = given;
  return {
    tenant,
    url,
    variant: 'main',
    fetchedMs: nowMs,
    validators: { etag: null, lastModified: null },
    markdown: `# ${title}`,
    text,
    html: '<p>html</p>',
    links: ['https://a.example/next'],
    metadata: {
      title,
      description: null,
      language: 'en',
      sourceURL: url,
      url,
      statusCode: 200,
      contentType: 'text/html',
      cacheState: 'miss',
      renderer: 'none',
      canonical: null,
      published: null,
      og: { 'og:title': title },
    },
    ...rest,
  };
}

const urls = (pages: readonly { url: string }[]) => pages.map(({ url }) => url);

for (const driver of drivers) {
  const { skip } = driver;
  const opened = async (t: { after(end: () => unknown): void }, bounds?: { pagesMax: number; charsMax: number }) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const pages = await store.pages(bounds);
    t.after(() => pages.close());
    return pages;
  };

  test(`${driver.name}: a page is found again by tenant, URL and variant, whole, however old`, { skip }, async (t) => {
    const pages = await opened(t);
    const validators = { etag: 'W/"1"', lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT' };
    const kept = page('https://a.example/', 'words \u{1F43C} of a page', { validators });
    await pages.keep(kept);
    const { tenant: whose, url, variant } = kept;
    assert.deepEqual(await pages.find(whose, url, variant), kept);
    assert.equal(await pages.find('acme/phone', url, variant), null);
    assert.equal(await pages.find(whose, 'https://a.example/b', variant), null);
    assert.equal(await pages.find(whose, url, 'all'), null);
    const again = { ...kept, fetchedMs: nowMs + 5_000, validators: { etag: null, lastModified: null } };
    await pages.keep(again);
    assert.deepEqual(await pages.find(whose, url, variant), again);
  });

  test(`${driver.name}: the newer page of a URL takes the place of the older, in searches too`, { skip }, async (t) => {
    const pages = await opened(t);
    await pages.keep(page('https://a.example/', 'about otters'));
    await pages.keep(page('https://a.example/', 'about badgers', { variant: 'all' }));
    assert.deepEqual(await pages.search(tenant, 'otters', 5, 0), []);
    assert.deepEqual(urls(await pages.search(tenant, 'badgers', 5, 0)), ['https://a.example/']);
  });

  test(`${driver.name}: variants of a URL stand beside each other, four of them, and are found once`, {
    skip,
  }, async (t) => {
    const pages = await opened(t);
    const url = 'https://a.example/';
    const variants = ['main', 'all', 'main mobile', 'all mobile', 'x'.repeat(20_000)];
    for (const [at, variant] of variants.entries()) {
      await pages.keep(page(url, `about otters ${at}`, { variant, fetchedMs: nowMs + at }));
    }
    const kept = async () =>
      (await Promise.all(variants.map((variant) => pages.find(tenant, url, variant)))).map(Boolean);
    assert.deepEqual(await kept(), [false, true, true, true, true], 'the oldest went');
    assert.deepEqual(
      (await pages.search(tenant, 'otters', 5, 0)).map(({ snippet }) => snippet),
      ['about otters 4'],
    );
    // Read once more: the newest again.
    await pages.keep(page(url, 'about badgers', { variant: 'all', fetchedMs: nowMs + 9 }));
    assert.deepEqual(await kept(), [false, true, true, true, true]);
    assert.deepEqual(await pages.search(tenant, 'otters', 5, 0), []);
    assert.deepEqual(urls(await pages.search(tenant, 'badgers', 5, 0)), [url]);
    await pages.keep(page(url, 'about badgers', { variant: 'main', fetchedMs: nowMs + 10 }));
    assert.deepEqual(await kept(), [true, true, false, true, true]);
    assert.deepEqual(urls(await pages.search(tenant, 'badgers', 5, 0)), [url]);
  });

  test(`${driver.name}: words are found in titles and texts, in any form, the best page first`, { skip }, async (t) => {
    const pages = await opened(t);
    await pages.keep(
      page('https://a.example/text', `${'filler '.repeat(200)} a red panda sleeps ${'filler '.repeat(200)}`),
    );
    await pages.keep(page('https://a.example/title', 'They sleep in red trees.', { title: 'Pandas' }));
    await pages.keep(page('https://a.example/other', 'A blue whale.'));
    const found = await pages.search(tenant, 'RED pandas?', 5, 0);
    assert.deepEqual(urls(found).sort(), ['https://a.example/text', 'https://a.example/title']);
    const text = found.find(({ url }) => url.endsWith('/text'))!;
    assert.match(text.snippet, /^… .*a red panda sleeps .* …$/);
    assert.ok(text.snippet.length < 320 && text.score > 0 && text.title === 'A page' && text.fetchedMs === nowMs);
    assert.equal(
      (await pages.search(tenant, 'pandas', 1, 0))[0]!.url,
      'https://a.example/title',
      'a title weighs more',
    );
    assert.deepEqual(
      urls(await pages.search(tenant, 'whale giraffe', 5, 0)),
      ['https://a.example/other'],
      'one of two',
    );
    assert.deepEqual(urls(await pages.search(tenant, 'red pandas', 1, 1)).length, 1);
    assert.deepEqual(await pages.search(tenant, 'red pandas', 5, 2), [], 'behind the last');
    assert.deepEqual(await pages.search(tenant, 'giraffe', 5, 0), []);
  });

  test(`${driver.name}: Chinese, Japanese and Korean are found by parts of what stands there without spaces`, {
    skip,
  }, async (t) => {
    const pages = await opened(t);
    await pages.keep(page('https://a.example/zh', '北京大学的历史可以追溯到1898年。'));
    await pages.keep(
      page('https://a.example/ja', '東京タワーは港区にある。Node.js入門も読める。', { title: '観光案内' }),
    );
    await pages.keep(page('https://a.example/ko', '한국어를 배우는 사람들'));
    await pages.keep(page('https://a.example/en', 'The history of a university.'));
    const found = async (query: string) => urls(await pages.search(tenant, query, 5, 0)).map((url) => url.slice(-2));
    for (const [query, of] of [
      ['大学', 'zh'],
      ['北京大学', 'zh'],
      ['大学 历史', 'zh'],
      ['史', 'zh'],
      ['年', 'zh'],
      ['1898', 'zh'],
      ['タワー', 'ja'],
      ['港区の観光', 'ja'],
      ['node入門', 'ja'],
      ['한국어', 'ko'],
      ['history', 'en'],
    ] as const) {
      assert.deepEqual(await found(query), [of], query);
    }
    assert.deepEqual(await found('上海'), []);
    assert.deepEqual(await found('京大'), ['zh'], 'in this order');
    assert.deepEqual(await found('学大'), []);
    const long = `${'其他的文字。'.repeat(200)}熊猫在睡觉${'其他的文字。'.repeat(200)}`;
    await pages.keep(page('https://a.example/lo', long));
    assert.match((await pages.search(tenant, '熊猫睡觉', 5, 0))[0]!.snippet, /熊猫在睡觉/);
  });

  test(`${driver.name}: a page of a hundred thousand different words is kept and found`, { skip }, async (t) => {
    const pages = await opened(t);
    // Drawn from twenty thousand characters, by a rule without a short period.
    let drawn = 1;
    const text = Array.from({ length: 100_000 }, () => {
      drawn = (drawn * 48_271) % 2_147_483_647;
      return String.fromCodePoint(0x4e00 + (drawn % 20_000));
    }).join('');
    await pages.keep(page('https://a.example/', text, { title: text.slice(0, 1_000) }));
    assert.equal((await pages.search(tenant, text.slice(500, 510), 5, 0)).length, 1);
  });

  test(`${driver.name}: a tenant finds its own pages alone`, { skip }, async (t) => {
    const pages = await opened(t);
    await pages.keep(page('https://a.example/', 'a secret otter', { tenant: 'acme/phone' }));
    assert.deepEqual(await pages.search(tenant, 'otter', 5, 0), []);
    assert.deepEqual([await pages.holdsPages(tenant), await pages.holdsPages('acme/phone')], [false, true]);
  });

  test(`${driver.name}: a query is words, whatever a database would make of it`, { skip }, async (t) => {
    const pages = await opened(t);
    await pages.keep(page('https://a.example/', "an otter's den NEAR the river"));
    for (const query of [
      '',
      '"',
      '* OR',
      'text:otter',
      "'; DROP TABLE page; --",
      'NEAR(',
      '!!!',
      'a'.repeat(500),
      '&|!()',
      '\u0000',
    ]) {
      assert.ok(Array.isArray(await pages.search(tenant, query, 5, 0)), query);
    }
    assert.equal((await pages.search(tenant, 'otter AND "den" (river*)', 5, 0)).length, 1);
  });

  test(`${driver.name}: a tenant keeps no more than its bounds, the oldest go first`, { skip }, async (t) => {
    const pages = await opened(t, { pagesMax: 3, charsMax: 10_000 });
    const grown: number[] = [];
    for (let at = 0; at < 5; at++) {
      grown.push(await pages.keep(page(`https://a.example/${at}`, 'an otter', { fetchedMs: nowMs - 1_000 + at })));
    }
    const size = grown[0]!;
    assert.deepEqual(grown, [size, size, size, 0, 0], 'and says by how much its pages grow');
    await pages.keep(page('https://a.example/0', 'an otter', { tenant: 'acme/phone', fetchedMs: nowMs - 9_000 }));
    const kept = async () => urls(await pages.search(tenant, 'otter', 10, 0)).sort();
    assert.deepEqual(await kept(), ['https://a.example/2', 'https://a.example/3', 'https://a.example/4']);
    const long = `an otter ${'x'.repeat(6_000)}`;
    await pages.keep(page('https://a.example/long', long, { fetchedMs: nowMs - 1 }));
    const shrunk = await pages.keep(page('https://a.example/longer', long));
    assert.deepEqual(await kept(), ['https://a.example/longer'], 'more characters than may be kept');
    assert.ok(shrunk < 0 && shrunk > -3 * size, `${shrunk}`);
    assert.equal((await pages.search('acme/phone', 'otter', 10, 0)).length, 1);
  });

  test(`${driver.name}: what is old is removed, words and all`, { skip }, async (t) => {
    const pages = await opened(t);
    for (let at = 0; at < 60; at++) {
      await pages.keep(page(`https://a.example/old/${at}`, 'an otter', { fetchedMs: nowMs - 10 }));
    }
    await pages.keep(page('https://a.example/new', 'an otter'));
    assert.equal(await pages.prune(nowMs), 60);
    assert.deepEqual(urls(await pages.search(tenant, 'otter', 5, 0)), ['https://a.example/new']);
    assert.equal(await pages.prune(nowMs), 0);
  });
}
