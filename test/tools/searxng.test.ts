import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { searxMissing, startSearx } from '../start-searx.ts';
import { startEngine } from './start-engine.ts';

test('a real searx answers searches, pages and domains', { skip: searxMissing }, async (t) => {
  const backend = await startEngine(t, ({ url }) => {
    const page = url.searchParams.get('page');
    const results = Array.from({ length: 10 }, (_, at) => ({
      url: `https://site${at % 2}.example/${page}/${at}`,
      title: `${url.searchParams.get('q')} ${page}/${at}`,
      content: 'An otter & its <b>river</b>.',
    }));
    return { body: { results } };
  });
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: await startSearx(t, backend.url) }] } },
  });
  const search = async (body: object) => {
    const response = await gateway.fetch('/v1/tools/search', { json: { timeout: 120_000, ...body } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  const first = await search({ query: 'otters', limit: 3 });
  assert.equal(first.provider, 'searxng');
  assert.equal(first.data.web.length, 3);
  assert.match(first.data.web[0].url, /^https:\/\/site\d\.example\/1\/\d$/);
  assert.match(first.data.web[0].title, /^otters 1\/\d$/);
  assert.match(first.data.web[0].description, /An otter/);
  const second = await search({ query: 'otters', limit: 3, offset: 10 });
  assert.match(second.data.web[0].url, /\.example\/2\/\d$/);
  const one = await search({ query: 'otters', limit: 20, includeDomains: ['site1.example'] });
  assert.ok(one.data.web.length > 0);
  for (const { url } of one.data.web) assert.match(url, /^https:\/\/site1\.example\//);
});
