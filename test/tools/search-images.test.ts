import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Firecrawl } from 'firecrawl';
import { startGateway } from '../start-gateway.ts';
import { searxngSays, startEngine } from './start-engine.ts';

const image = { url: 'https://a.example/', title: 'A', img_src: 'https://cdn.example/a.jpg', resolution: '640x480' };
const shown = { title: 'A', imageUrl: image.img_src, imageWidth: 640, imageHeight: 480, url: image.url, position: 1 };

test('pictures are found by an engine that has them, as Firecrawl’s SDK reads them; others are passed over', async (t) => {
  const tavily = await startEngine(t, () => ({ body: { results: [] } }));
  const searxng = await startEngine(t, ({ url }) =>
    url.searchParams.get('categories') === 'images'
      ? { body: { results: [image] } }
      : searxngSays('https://b.example/'),
  );
  const gateway = await startGateway(t, {
    tools: {
      search: {
        providers: [
          { type: 'tavily', base_url: tavily.url, api_key: 'key' },
          { type: 'searxng', base_url: searxng.url, priority: 2 },
        ],
      },
    },
  });
  const client = new Firecrawl({ apiKey: gateway.key, apiUrl: `${gateway.url}/v1/tools` });
  const { images, web } = await client.search('otters', { sources: ['images'] });
  assert.deepEqual([images, web], [[shown], undefined]);
  assert.equal(tavily.asked.length, 0);
  const { web: none, images: both } = await client.search('otters', { sources: ['web', { type: 'images' }] });
  assert.deepEqual([none, both], [[], [shown]]);
});

test('of pictures no page is read, nor held for', async (t) => {
  const engine = await startEngine(t, () => ({ body: { results: [image] } }));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const json = { query: 'otters', sources: ['images'], scrapeOptions: { formats: ['markdown'] } };
  const response = await gateway.fetch('/v1/tools/search', { json });
  const { data, results, creditsUsed } = (await response.json()) as {
    data: object;
    results: object[];
    creditsUsed: number;
  };
  assert.deepEqual([data, results, creditsUsed], [{ images: [shown] }, [{ ...shown, content: 'A' }], 1]);
});

test('where no engine finds pictures the answer says so', async (t) => {
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'exa', base_url: 'http://127.0.0.1:9', api_key: 'key' }] } },
  });
  const response = await gateway.fetch('/v1/tools/search', { json: { query: 'otters', sources: ['images'] } });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /it finds no images/);
});
