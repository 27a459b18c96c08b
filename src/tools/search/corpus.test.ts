import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askCorpus, type Corpus } from './corpus.ts';
import type { SearchQuery } from './search-engine.ts';

const nowMs = Date.UTC(2026, 0, 31);
const dayMs = 86_400_000;
const query: SearchQuery = {
  query: 'otters',
  source: 'web',
  limit: 2,
  offset: 0,
  country: null,
  lang: null,
  timeRange: null,
  includeDomains: [],
  excludeDomains: [],
  nowMs,
};

function corpusOf(ages: readonly number[]): Corpus & { limits: number[] } {
  const limits: number[] = [];
  return {
    limits,
    async search(_tenant, _query, limit) {
      limits.push(limit);
      const pages = ages.map((days, at) => ({ fetchedMs: nowMs - days * dayMs, url: `https://a.example/${at}` }));
      return pages.map((page) => ({ ...page, title: 'A', snippet: 'words', score: 1 })).slice(0, limit);
    },
    holdsPages: async () => ages.length > 0,
  };
}

test('no page at all is another answer than no hit', async () => {
  assert.equal(await askCorpus(corpusOf([]), 'acme/laptop', query), null);
  const silent = { search: async () => [], holdsPages: async () => true };
  assert.deepEqual(await askCorpus(silent, 'acme/laptop', query), []);
});

test('pages are as old as their last reading', async () => {
  const corpus = corpusOf([0, 40, 5, 400]);
  const within = async (timeRange: SearchQuery['timeRange']) =>
    (await askCorpus(corpus, 'acme/laptop', { ...query, timeRange }))!.map(({ url }) => String(url).slice(-1)).join('');
  assert.equal(await within('day'), '0');
  assert.equal(await within('week'), '02');
  assert.equal(await within('year'), '012');
  assert.equal(await within(null), '01', 'as many as are wanted');
  assert.deepEqual(corpus.limits, [200, 200, 200, 2]);
});
