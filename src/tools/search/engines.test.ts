import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brave } from './brave.ts';
import { exa } from './exa.ts';
import { mergeHits } from './merge-hits.ts';
import type { EngineRequest, SearchEngine, SearchQuery } from './search-engine.ts';
import { searxng } from './searxng.ts';
import { serper } from './serper.ts';
import { tavily } from './tavily.ts';

// The answers below are hand-made from the services' published API documents.

const plain: SearchQuery = {
  query: 'red pandas',
  source: 'web',
  limit: 5,
  offset: 0,
  country: null,
  lang: null,
  timeRange: null,
  includeDomains: [],
  excludeDomains: [],
  nowMs: Date.UTC(2026, 0, 31),
};

const settings = { baseUrl: 'https://engine.example', apiKey: 'key-of-engine' };

function requestOf(engine: SearchEngine, query: Partial<SearchQuery> = {}): EngineRequest {
  const request = engine.encode({ ...plain, ...query }, settings);
  assert.ok(!('cannot' in request), 'the engine can be asked this');
  return request;
}

const query = {
  source: 'web',
  country: 'DE',
  lang: 'en',
  timeRange: 'week',
  includeDomains: ['a.example', 'b.example'],
  excludeDomains: ['c.example'],
} as const;

test('searxng is asked for JSON, in its own words for language, time and domains', () => {
  const { method, url, headers, body, skip } = requestOf(searxng, { ...query, offset: 13 });
  assert.equal(method, 'GET');
  assert.equal(url.pathname, '/search');
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    q: 'red pandas (site:a.example OR site:b.example) -site:c.example',
    format: 'json',
    categories: 'general',
    pageno: '2',
    language: 'en-DE',
    time_range: 'week',
  });
  assert.equal(headers.authorization, 'Bearer key-of-engine');
  assert.deepEqual([body, skip], [null, 3]);
  assert.equal(requestOf(searxng, { source: 'news' }).url.searchParams.get('categories'), 'news');
});

test('searxng below a path of its own is asked there', () => {
  const request = searxng.encode(plain, { baseUrl: 'http://127.0.0.1:8888/searx/', apiKey: '' });
  assert.ok(!('cannot' in request));
  assert.equal(request.url.pathname, '/searx/search');
  assert.equal(request.headers.authorization, undefined);
});

test('brave is asked with its token, in pages, and never for more than its queries hold', () => {
  const { method, url, headers } = requestOf(brave, query);
  assert.equal(method, 'GET');
  assert.equal(url.pathname, '/res/v1/web/search');
  assert.equal(headers['x-subscription-token'], 'key-of-engine');
  const { q, count, country, search_lang, freshness, offset } = Object.fromEntries(url.searchParams);
  assert.deepEqual([count, country, search_lang, freshness, offset], ['5', 'DE', 'en', 'pw', undefined]);
  assert.match(q!, /^red pandas \(site:a\.example OR/);
  const third = requestOf(brave, { offset: 43 });
  assert.deepEqual(
    [third.url.searchParams.get('offset'), third.url.searchParams.get('count'), third.skip],
    ['2', '20', 3],
  );
  assert.equal(requestOf(brave, { source: 'news' }).url.pathname, '/res/v1/news/search');
  assert.ok('cannot' in brave.encode({ ...plain, query: 'a'.repeat(450) }, settings));
  assert.ok('cannot' in brave.encode({ ...plain, offset: 200 }, settings));
});

test('tavily is asked for what comes before as well, with lists of domains and the name of a country', () => {
  const { method, headers, body, skip } = requestOf(tavily, { ...query, offset: 4 });
  assert.equal(method, 'POST');
  assert.equal(headers.authorization, 'Bearer key-of-engine');
  assert.deepEqual(JSON.parse(body!), {
    query: 'red pandas',
    max_results: 9,
    topic: 'general',
    time_range: 'week',
    country: 'germany',
    include_domains: ['a.example', 'b.example'],
    exclude_domains: ['c.example'],
  });
  assert.equal(skip, 4);
  assert.equal(JSON.parse(requestOf(tavily, { country: 'QQ' }).body!).country, undefined);
  assert.ok('cannot' in tavily.encode({ ...plain, offset: 20 }, settings));
});

test('serper is asked in the words of Google', () => {
  const { url, headers, body } = requestOf(serper, query);
  assert.equal(url.pathname, '/search');
  assert.equal(headers['x-api-key'], 'key-of-engine');
  const { q, ...rest } = JSON.parse(body!);
  assert.deepEqual(rest, { num: 5, gl: 'de', hl: 'en', tbs: 'qdr:w' });
  assert.match(q, /-site:c\.example$/);
  assert.equal(requestOf(serper, { source: 'news' }).url.pathname, '/news');
  assert.deepEqual(JSON.parse(requestOf(serper, { offset: 25 }).body!), { q: 'red pandas', num: 20, page: 2 });
});

test('exa is asked with a date for a time', () => {
  const { url, headers, body } = requestOf(exa, query);
  assert.equal(url.pathname, '/search');
  assert.equal(headers['x-api-key'], 'key-of-engine');
  assert.deepEqual(JSON.parse(body!), {
    query: 'red pandas',
    numResults: 5,
    contents: { highlights: true },
    userLocation: 'DE',
    startPublishedDate: '2026-01-24T00:00:00.000Z',
    includeDomains: ['a.example', 'b.example'],
    excludeDomains: ['c.example'],
  });
});

test('a day, a week, a month and a year are sent as each engine names them', () => {
  const sent = (['day', 'week', 'month', 'year'] as const).map((timeRange) => {
    const [ofExa, ofSerper] = [exa, serper].map((engine) => JSON.parse(requestOf(engine, { timeRange }).body!));
    const freshness = requestOf(brave, { timeRange }).url.searchParams.get('freshness');
    return [ofExa.startPublishedDate.slice(0, 10), ofSerper.tbs, freshness];
  });
  assert.deepEqual(sent, [
    ['2026-01-30', 'qdr:d', 'pd'],
    ['2026-01-24', 'qdr:w', 'pw'],
    ['2025-12-31', 'qdr:m', 'pm'],
    ['2025-01-30', 'qdr:y', 'py'],
  ]);
});

const url = 'https://panda.example/a';
const answers = [
  [
    'searxng',
    searxng,
    { results: [{ url, title: 'Pandas', content: 'They are red.', score: 1.5, publishedDate: '2025-05-01T00:00:00' }] },
  ],
  [
    'brave',
    brave,
    {
      type: 'search',
      web: { results: [{ url, title: 'Pandas', description: 'They are red.', page_age: '2025-05-01T00:00:00' }] },
    },
  ],
  ['tavily', tavily, { results: [{ url, title: 'Pandas', content: 'They are red.', score: 0.9 }] }],
  [
    'serper',
    serper,
    { searchParameters: {}, organic: [{ link: url, title: 'Pandas', snippet: 'They are red.', date: 'May 1, 2025' }] },
  ],
  [
    'exa',
    exa,
    {
      results: [{ url, title: 'Pandas', highlights: ['They are', 'red.'], publishedDate: '2025-05-01T00:00:00.000Z' }],
    },
  ],
] as const satisfies readonly (readonly [string, SearchEngine, unknown])[];

for (const [name, engine, answer] of answers) {
  test(`an answer of ${name} is read`, () => {
    const hits = mergeHits(engine.decode(answer, plain)!.hits, plain, 0);
    assert.equal(hits.length, 1);
    const { url: found, title, description, position, publishedDate } = hits[0]!;
    assert.deepEqual([found, title, position], [url, 'Pandas', 1]);
    assert.match(description!, /^They are( …)? red\.$/);
    if (name !== 'tavily') assert.equal(publishedDate, '2025-05-01T00:00:00.000Z');
  });

  test(`what ${name} never says is no answer`, () => {
    for (const body of [undefined, null, [], 'text', 7, {}, { results: 'none', web: 3, organic: {} }]) {
      assert.equal(engine.decode(body, plain), null, JSON.stringify(body));
    }
  });

  test(`hits of ${name} that are of no use are left out, whatever they hold`, () => {
    const odd = JSON.parse(
      JSON.stringify(answer).replace(
        /\[\{.*\}\]/,
        '[null, 3, {}, {"url": 7, "link": []}, {"url": "javascript:x", "link": "ftp://a"}]',
      ),
    );
    assert.deepEqual(mergeHits(engine.decode(odd, plain)!.hits, plain, 0), []);
  });
}

test('no hits is an answer too', () => {
  assert.deepEqual(brave.decode({ type: 'search', query: {} }, plain), { hits: [] });
  assert.deepEqual(serper.decode({ searchParameters: {} }, plain), { hits: [] });
  assert.deepEqual(searxng.decode({ results: [], unresponsive_engines: [['google', 'timeout']] }, plain), {
    hits: [],
    warning: 'These engines gave no answer: google timeout.',
  });
});

test('what its statuses mean, each engine knows best', () => {
  assert.match(searxng.faultOfStatus!(403, '')!.message, /search\.formats.* lacks json/);
  assert.equal(brave.faultOfStatus!(422, 'SUBSCRIPTION_TOKEN_INVALID: …')!.class, 'bad_credential');
  assert.equal(brave.faultOfStatus!(429, 'QUOTA_LIMITED')!.class, 'quota_exhausted');
  assert.equal(brave.faultOfStatus!(429, 'RATE_LIMITED'), null);
  assert.equal(tavily.faultOfStatus!(432, '')!.class, 'quota_exhausted');
  assert.equal(serper.faultOfStatus!(400, 'Not enough credits')!.class, 'quota_exhausted');
  assert.equal(serper.faultOfStatus!(400, 'Missing query'), null);
});

const raw = (given: string, rest: object = {}) => ({ url: given, title: 'A title', description: 'words', ...rest });

test('one page is one hit, and a later one fills what the first lacks', () => {
  const found = [
    raw('https://www.panda.example/a/?utm_source=x', { description: '' }),
    raw('http://panda.example/a', { description: 'later', publishedDate: '2025-01-01' }),
    raw('https://panda.example/b'),
  ];
  const hits = mergeHits(found, plain, 0);
  assert.deepEqual(
    hits.map(({ position, description }) => [position, description]),
    [
      [1, 'later'],
      [2, 'words'],
    ],
  );
  assert.equal(hits[0]!.url, 'https://www.panda.example/a/?utm_source=x');
  assert.equal(hits[0]!.publishedDate, '2025-01-01T00:00:00.000Z');
});

test('an engine that takes domains as advice is held to them', () => {
  const found = ['https://a.example/', 'https://x.a.example/', 'https://nota.example/', 'https://bad.a.example/'].map(
    (one) => raw(one),
  );
  const hits = mergeHits(found, { ...plain, includeDomains: ['a.example'], excludeDomains: ['bad.a.example'] }, 0);
  assert.deepEqual(
    hits.map((hit) => hit.url),
    ['https://a.example/', 'https://x.a.example/'],
  );
});

test('texts come without markup and bounded, and no words become a date', () => {
  const [hit] = mergeHits(
    [
      raw('https://a.example/', {
        title: `<strong>A</strong> &amp; B&#8217;s &#x201C;C&#x201d;&#0;&#55296; <b>`,
        description: 'x'.repeat(99_999),
        publishedDate: '2 days ago',
        score: Number.NaN,
      }),
    ],
    plain,
    0,
  );
  assert.equal(hit!.title, 'A & B’s “C” \ufffd');
  assert.equal(hit!.description!.length, 2_000);
  assert.ok(!('publishedDate' in hit!) && !('score' in hit!));
});

// Pictures: the recorded shapes of each, and the same two pictures of one page.
const picture = { page: 'https://a.example/zoo', one: 'https://cdn.example/1.jpg', two: 'https://cdn.example/2.jpg' };
const pictures: readonly { engine: SearchEngine; path: string; body: unknown }[] = [
  {
    engine: searxng,
    path: '/search',
    body: {
      results: [
        { url: picture.page, title: 'Zoo', img_src: picture.one, resolution: '1920 x 1080', category: 'images' },
        { url: picture.page, title: 'Zoo', img_src: picture.two, resolution: '', category: 'images' },
        { url: picture.page, title: 'Zoo', img_src: picture.one, category: 'images' },
        { url: picture.page, title: 'Inline', img_src: 'data:image/png;base64,AAAA' },
      ],
    },
  },
  {
    engine: brave,
    path: '/res/v1/images/search',
    body: {
      type: 'images',
      results: [
        { url: picture.page, title: 'Zoo', properties: { url: picture.one, width: 1920, height: 1080 } },
        { url: picture.page, title: 'Zoo', properties: { url: picture.two, width: 0, height: 0 } },
        { url: picture.page, title: 'No picture', thumbnail: { src: 'https://imgs.example/t' } },
      ],
    },
  },
  {
    engine: serper,
    path: '/images',
    body: {
      searchParameters: { q: 'red pandas', type: 'images' },
      images: [
        { title: 'Zoo', imageUrl: picture.one, imageWidth: 1920, imageHeight: 1080, link: picture.page, position: 1 },
        { title: 'Zoo', imageUrl: picture.two, link: picture.page, position: 2 },
        { title: 'Nowhere', imageUrl: picture.one, link: 'javascript:alert(1)', position: 3 },
      ],
    },
  },
];

for (const { engine, path, body } of pictures)
  test(`pictures of ${path} come in Firecrawl's shape, each once, though they stand on one page`, () => {
    const query = { ...plain, source: 'images' } as const;
    const { url, skip } = requestOf(engine, query);
    assert.equal(url.pathname, path);
    const decoded = engine.decode(body, query);
    assert.deepEqual(mergeHits(decoded!.hits, query, skip), [
      { title: 'Zoo', imageUrl: picture.one, imageWidth: 1920, imageHeight: 1080, url: picture.page, position: 1 },
      { title: 'Zoo', imageUrl: picture.two, url: picture.page, position: 2 },
    ]);
    const elsewhere = { ...query, excludeDomains: ['a.example'] };
    assert.deepEqual(mergeHits(decoded!.hits, elsewhere, skip), []);
  });

test('engines that find no pictures, or not these, cannot be asked for them', () => {
  const query = { ...plain, source: 'images' } as const;
  for (const engine of [tavily, exa]) assert.ok('cannot' in engine.encode(query, settings));
  assert.ok('cannot' in brave.encode({ ...query, timeRange: 'day' }, settings));
  assert.ok('cannot' in brave.encode({ ...query, offset: 199, limit: 5 }, settings));
});
