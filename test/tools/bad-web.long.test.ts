import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway } from '../start-gateway.ts';
import type { Behaviour, Behaviours } from './bad-web/behaviour.ts';
import { connections } from './bad-web/connections.ts';
import { contents } from './bad-web/contents.ts';
import { packings } from './bad-web/packings.ts';
import { redirects } from './bad-web/redirects.ts';
import { pathOf, serve, serveAll } from './bad-web/serve.ts';
import { limit, sites } from './bad-web/sites.ts';

const behaviours: Behaviours = { ...connections, ...packings, ...redirects, ...contents };
const site = await serveAll({ after }, behaviours);
const wholes = await Promise.all(
  Object.entries(sites).map(async ([name, whole]) => {
    const served = await serve({ after }, (response, request, self) =>
      whole.answer(response, request.url ?? '/', self),
    );
    return { name, served, pages: whole.pages, most: whole.limit ?? limit };
  }),
);
const gateway = await startGateway(
  { after: after as never },
  {
    fetch: { allow_private: [site, ...wholes.map(({ served }) => served)].map(({ place }) => place) },
    tools: { scrape: { max_bytes: '2mb', render: 'never' }, crawl: { delay: '0s' } },
  },
);

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

async function hold(name: string, { expect, asked }: Behaviour): Promise<void> {
  const json = { url: site.url + pathOf(name), formats: ['text', 'links', 'markdown'], maxAge: 0, ...asked };
  let response = await gateway.fetch('/v1/tools/scrape', { json });
  // Pages before it may still be read: it says to try again.
  while (response.status === 503) {
    await pause(200);
    response = await gateway.fetch('/v1/tools/scrape', { json });
  }
  const body = (await response.json()) as Body;
  const told = `${response.status} ${JSON.stringify(body).slice(0, 300)}`;
  if ('refused' in expect) {
    const all = [expect.refused].flat();
    assert.ok(all.includes(body.error?.reason), `not ${all.join(' or ')} but ${told}`);
    return;
  }
  assert.equal(response.status, 200, told);
  assert.equal(body.data.metadata.statusCode, expect.status ?? 200, told);
  assert.match(body.data.text, expect.page, told);
  assert.match(body.warning ?? '', expect.warning ?? /^$/, told);
  // Whatever the page says, no link leads to anything but a page.
  for (const link of body.data.links as string[]) assert.match(link, /^https?:\/\//);
}

async function crawled(url: string, asked: Record<string, unknown>): Promise<Body> {
  const begun = await gateway.fetch('/v1/tools/crawl', { json: { url, maxConcurrency: 10, delay: 0, ...asked } });
  const { id } = (await begun.json()) as Body;
  const state = async (query: string) => (await (await gateway.fetch(`/v1/tools/crawl/${id}${query}`)).json()) as Body;
  // Its pages are megabytes, which are read once.
  while ((await state('?limit=1')).status === 'scraping') await pause(250);
  return state('');
}

const entries = Object.entries(behaviours);

test('S18 F25 F59 each page that misbehaves is given, in whole or part, or refused by name', {
  concurrency: 4,
}, async (t) => {
  assert.ok(entries.length >= 60);
  await Promise.all(entries.map(([name, behaviour]) => t.test(`F59 a page that ${name}`, () => hold(name, behaviour))));
});

test('S18 a caller may have a page cut sooner, never later', async () => {
  const cutAt = async (maxBytes: number) => {
    const json = { url: site.url + pathOf('goes on for ever'), maxBytes, maxAge: 0 };
    return ((await (await gateway.fetch('/v1/tools/scrape', { json })).json()) as Body).warning;
  };
  assert.match(await cutAt(5_000), /cut after 5000 bytes/);
  assert.match(await cutAt(50_000_000), /cut after 2097152 bytes/);
});

test('F59 a crawl over all of them comes to its end, and brings what can be brought', async () => {
  site.asked.length = 0;
  const crawl = await crawled(site.url, { limit: 500, scrapeOptions: { timeout: 8_000, maxAge: 0 } });
  assert.equal(crawl.status, 'completed', crawl.error);
  assert.equal(crawl.data[0].metadata.sourceURL, `${site.url}/`);
  for (const [name] of entries) assert.ok(site.asked.includes(pathOf(name)), `what ${name} was not asked for`);
  assert.ok(crawl.completed >= 10 && crawl.failed >= 20, `${crawl.completed} and ${crawl.failed}`);
});

test('F59 sites that go on for ever are left after what was asked', { concurrency: 4 }, async (t) => {
  await Promise.all(
    wholes.map(({ name, served, most, pages: { min, max } }) =>
      t.test(`F59 a site that ${name}`, async () => {
        const { status, error, completed } = await crawled(served.url, { limit: most });
        assert.equal(status, 'completed', error);
        assert.ok(completed >= min && completed <= max, `${completed} pages, ${served.asked.slice(0, 20)}`);
        // Its pages, what says where they are, and the redirects of each.
        assert.ok(served.asked.length <= most * 6 + 20 + 6, `${served.asked.length} requests`);
      }),
    ),
  );
});

test('F59 after all of it the gateway answers as before', async () => {
  assert.equal((await gateway.fetch('/healthz')).status, 200);
  await hold('is a good page', behaviours['is a good page']!);
});
