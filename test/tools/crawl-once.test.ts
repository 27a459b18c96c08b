import assert from 'node:assert/strict';
import { test } from 'node:test';
import Firecrawl from 'firecrawl';
import { startGateway, testKey } from '../start-gateway.ts';

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
