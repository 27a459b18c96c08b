import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { FirecrawlClient } from 'firecrawl';
import { startGateway } from '../start-gateway.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';

const sitemap = (urls: readonly string[]) =>
  `<?xml version="1.0"?><urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;
const site = await startAwkwardSite(
  { after },
  {
    '/sitemap.xml': (response) =>
      response.writeHead(200, { 'content-type': 'application/xml' }).end(sitemap([`${site.url}/from-sitemap`])),
  },
);
const gateway = await startGateway({ after: after as never }, { fetch: { allow_private: [site.place] } });
const firecrawl = new FirecrawlClient({ apiKey: gateway.key, apiUrl: `${gateway.url}/v1/tools`, maxRetries: 1 });

test('Firecrawl’s SDK scrapes a page', async () => {
  const page = await firecrawl.scrape(`${site.url}/article`, {
    formats: ['markdown', 'links', 'html'],
    timeout: 60_000,
  });
  assert.match(page.markdown!, /^# An article\n\nIt has \*\*words\*\*/);
  assert.deepEqual(page.links, [`${site.url}/elsewhere`, `${site.url}/next`]);
  assert.equal(page.metadata?.title, 'An article');
  assert.equal(page.metadata?.statusCode, 200);
  assert.equal(page.metadata?.ogImage, 'https://img.example/1.png');
});

test('Firecrawl’s SDK says why a page is refused', async () => {
  await assert.rejects(firecrawl.scrape('http://10.0.0.1/'), (error: Error & { status?: number; code?: string }) => {
    assert.equal(error.status, 400);
    assert.equal(error.code, 'url_blocked');
    assert.match(error.message, /not on the public Internet/);
    return true;
  });
});

test('Firecrawl’s SDK maps a site by its page and its sitemap', async () => {
  const { links } = await firecrawl.map(`${site.url}/article`, { limit: 10 });
  assert.deepEqual(
    links.map(({ url }) => url.replace(site.url, '')),
    ['/article', '/from-sitemap', '/elsewhere', '/next'],
  );
  assert.equal(links[0]?.title, 'An article');
});
