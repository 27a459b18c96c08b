import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import Firecrawl from 'firecrawl';
import { listening } from '../listening.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

test('a crawl begins once for each Idempotency-Key, under the name of Firecrawl’s SDKs too', async (t) => {
  const gateway = await startGateway(t, {});
  const begin = async (key: string | null, urls: readonly string[]) => {
    const headers = key === null ? {} : { 'idempotency-key': key };
    const response = await gateway.fetch('/v1/tools/batch/scrape', { json: { urls }, headers });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const urls = ['https://a.invalid/'];
  const first = await begin('pages-1', urls);
  assert.equal(first.status, 200);
  assert.deepEqual(await begin('pages-1', urls), first);
  assert.equal((await begin('pages-1', ['https://b.invalid/'])).status, 409);
  assert.notEqual((await begin(null, urls)).body.id, first.body.id);
  assert.equal((await begin('pages-2', [])).status, 400);
  const firecrawl = new Firecrawl({ apiUrl: gateway.url, apiKey: testKey });
  const once = () => firecrawl.startBatchScrape([...urls], { idempotencyKey: 'pages-3' });
  const begun = await once();
  assert.equal((await once()).id, begun.id);
});

test('pages of a crawl, and what embeds them, count for the end user in its header', async (t) => {
  const prose = 'This page says at some length what pages say which somebody wants to read.';
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<html><head><title>A</title></head><body><main><h1>A</h1><p>${prose}</p></main></body></html>`);
  });
  const url = await listening(t, site);
  const gateway = await startGateway(t, { fetch: { allow_private: [new URL(url).host] } });
  const collection = { name: 'pages', model: 'culvert-lexical-1024' };
  const headers = { 'x-culvert-user': 'ada' };
  const json = { urls: [`${url}/a`], collection };
  const { id } = (await (await gateway.fetch('/v1/tools/batch/scrape', { json, headers })).json()) as Body;
  for (let status = 'scraping'; status === 'scraping'; ) {
    ({ status } = (await (await gateway.fetch(`/v1/tools/batch/scrape/${id}`)).json()) as Body);
  }
  const asAdmin = { authorization: `Bearer ${adminKey}` };
  const { data } = (await (await gateway.fetch('/admin/v1/requests?user=ada', { headers: asAdmin })).json()) as Body;
  const endpoints = new Set(data.map(({ endpoint }: Body) => endpoint));
  assert.deepEqual([...endpoints].toSorted(), ['crawl-page', 'vectors']);
});
