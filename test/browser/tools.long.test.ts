import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';
import { searxngSays, startEngine } from '../tools/start-engine.ts';
import { assertAccessible, assertFits, assertLooksRight, openPage, shoot } from './open-page.ts';

const hooks = { after: after as never };
const skip = chromiumMissing;
const attack = '<img src=x onerror="document.title=1">';
const sentence = 'This is a page of some length, as pages are that somebody wants to read, and it has one link.';
const pageOf = (title: string, inside: string) =>
  `<html><head><title>${title}</title></head><body><main><h1>${title}</h1><p>${sentence}</p>${inside}</main></body></html>`;
const html =
  (text: string) => (response: { setHeader(name: string, value: string): void; end(text: string): void }) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(text);
  };
const escaped = attack.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const site = await startAwkwardSite(hooks, {
  '/': html(pageOf('Home', '<a href="/article">One</a> <a href="/500">Two</a> <a href="/secret">Three</a>')),
  '/robots.txt': (response) => response.end('User-agent: *\nDisallow: /secret\n'),
  '/hostile': html(pageOf(escaped, `<p>${escaped}</p><p><a href="javascript:alert(1)">Run</a></p>`)),
  '/waiting': html(
    pageOf('Waiting', '<a href="/half">Broken</a> <a href="/hostile">Hostile</a> <a href="/silent">Never</a>'),
  ),
});
const engine = await startEngine(hooks, () => searxngSays('https://a.example/1', 'https://a.example/2'));
const gateway = await startGateway(hooks, {
  fetch: { allow_private: [site.place] },
  tools: { crawl: { delay: '0s' }, search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
});
const path = '/dashboard/tools';

test('a page is read in its formats, with what it cost', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('textbox', { name: 'URL' }).fill(`${site.url}/article`);
  await page.getByRole('checkbox', { name: 'Raw HTML' }).check();
  await page.getByRole('button', { name: 'Scrape', exact: true }).click();
  await page.getByText('A second paragraph follows').waitFor();
  await page.getByText('1 unit', { exact: true }).waitFor();
  await assertAccessible(page);
  await shoot(page, 'tools-scrape-desktop-light');
  await page.getByRole('button', { name: 'Markdown', exact: true }).click();
  await page.getByText('# An article').waitFor();
  await page.getByRole('button', { name: 'Raw HTML' }).click();
  await page.getByText('<!doctype html>').waitFor();
  await page.getByRole('button', { name: /^Links/ }).click();
  await page.getByRole('link', { name: `${site.url}/next` }).waitFor();
  await page.getByRole('button', { name: 'Metadata' }).click();
  await page.getByText('About it').waitFor();
});

test('what a page says is text, and an address that is wrong is said at its field', { skip }, async (t) => {
  const page = await openPage(t, gateway, path, { size: 'phone', scheme: 'dark' });
  const address = page.getByRole('textbox', { name: 'URL' });
  await address.fill('ftp://example.org');
  await page.getByRole('button', { name: 'Scrape', exact: true }).click();
  await page.locator('input[name=url][aria-invalid=true]').waitFor();
  await address.fill(`${site.url}/hostile`);
  await page.getByRole('button', { name: 'Scrape', exact: true }).click();
  await page.getByText(attack).first().waitFor();
  assert.equal(await page.locator('#page img, #page a[href^=javascript]').count(), 0);
  assert.match(await page.title(), /^\w+ · Web tools/);
  await assertFits(page);
  await assertAccessible(page);
  await shoot(page, 'tools-scrape-phone-dark');
});

test('what a scrape answers is text, whatever it holds, and no link runs anything', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  // The gateway escapes markup and drops such links: the page must not rely on it.
  const script = 'javascript:document.title=1';
  const data = { markdown: `${attack}\n\n[Run](${script})`, links: [script], metadata: { title: attack } };
  await page.route('**/v1/tools/scrape', (route) => route.fulfill({ json: { success: true, data } }));
  await page.getByRole('textbox', { name: 'URL' }).fill('https://example.org');
  await page.getByRole('button', { name: 'Scrape', exact: true }).click();
  await page.getByText('Run', { exact: true }).waitFor();
  assert.ok((await page.getByText(attack).count()) >= 2);
  assert.equal(await page.locator('#page img, #page a[href^=javascript]').count(), 0);
  await page.getByRole('button', { name: /^Links/ }).click();
  await page.getByText(script).waitFor();
  assert.equal(await page.locator('#page a[href^=javascript]').count(), 0);
});

test('a screenshot stands beside what was read', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('textbox', { name: 'URL' }).fill(`${site.url}/article`);
  await page.getByRole('checkbox', { name: 'Screenshot' }).check();
  await page.getByRole('button', { name: 'Scrape', exact: true }).click();
  const picture = page.getByRole('img', { name: 'The page as a browser shows it' });
  await picture.waitFor();
  const [text, image] = await Promise.all([page.getByText('A second paragraph').boundingBox(), picture.boundingBox()]);
  assert.ok(image!.x > text!.x + text!.width, 'to the right of it');
  await assertLooksRight(page, 'tools-screenshot');
});

test('titles and texts of hits, links and pages of a crawl are text', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?tool=search`);
  const script = 'javascript:document.title=1';
  const harmless = async (where: string) => {
    assert.equal(await page.locator('#page img, [role=dialog] img, a[href^=javascript]').count(), 0, where);
    assert.match(await page.title(), /^\w+ · Web tools/, where);
  };
  const hit = { url: script, title: attack, description: attack, markdown: `${attack} [Run](${script})` };
  const found = { success: true, data: { web: [hit] }, provider: attack, cached: false, warning: attack };
  await page.route('**/v1/tools/search', (route) => route.fulfill({ json: found }));
  await page.getByRole('textbox', { name: 'Query' }).fill('otters');
  await page.getByRole('button', { name: 'Search', exact: true }).last().click();
  await page.getByRole('list', { name: 'Results' }).getByText(attack).first().waitFor();
  await page.getByText('Page content', { exact: true }).click();
  await page.getByText('Run', { exact: true }).waitFor();
  await harmless('hits');
  await page.route('**/v1/tools/map', (route) =>
    route.fulfill({ json: { success: true, links: [{ url: script, title: attack }], warning: attack } }),
  );
  await page.getByRole('tab', { name: 'Map' }).click();
  await page.getByRole('textbox', { name: 'Site URL' }).fill(site.url);
  await page.getByRole('button', { name: 'List the links' }).click();
  await page.getByText(script).waitFor();
  await harmless('links');
  const answer = await gateway.fetch('/v1/tools/crawl', { json: { url: `${site.url}/hostile`, limit: 1 } });
  const { id } = (await answer.json()) as { id: string };
  await page.goto(`${path}?tool=crawls&crawl=${id}`);
  await page.getByRole('button', { name: attack }).click();
  await page.getByRole('dialog', { name: attack }).getByText(sentence).waitFor();
  await harmless('a page of a crawl');
});

test('a search lists its hits, and a map the links of a site', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('tab', { name: 'Search' }).click();
  await page.getByRole('textbox', { name: 'Query' }).fill('otters');
  await page.getByRole('textbox', { name: 'Query' }).press('Enter');
  const hits = page.getByRole('list', { name: 'Results' });
  await hits.getByRole('link', { name: 'Title of https://a.example/2' }).waitFor();
  assert.equal(engine.asked.at(-1)!.url.searchParams.get('q'), 'otters');
  assert.match(page.url(), /tool=search/);
  await assertAccessible(page);
  await shoot(page, 'tools-searched-desktop-light');
  await page.getByRole('tab', { name: 'Map' }).click();
  await page.getByRole('textbox', { name: 'Site URL' }).fill(`${site.url}/`);
  await page.getByRole('button', { name: 'List the links' }).click();
  await page.getByRole('link', { name: `${site.url}/article` }).waitFor();
  await assertAccessible(page);
  await shoot(page, 'tools-mapped-desktop-light');
});

test('a crawl is begun, followed to its end, and shows its pages and errors', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?tool=crawls`);
  await page.getByRole('button', { name: 'New crawl' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'URL' }).fill(`${site.url}/`);
  await dialog.getByRole('textbox', { name: 'Page limit' }).fill('many');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await dialog.locator('input[name=limit][aria-invalid=true]').waitFor();
  await dialog.getByRole('textbox', { name: 'Page limit' }).fill('20');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/crawl=/);
  await page.getByText('Done', { exact: true }).waitFor();
  const errors = page.getByRole('region', { name: 'Pages that could not be read' });
  await errors.getByText('robots.txt').waitFor();
  await assertAccessible(page);
  await shoot(page, 'tools-crawl-desktop-light');
  await page.getByRole('button', { name: /^An article/ }).click();
  await page.getByRole('dialog').getByText('A second paragraph follows').waitFor();
  await assertAccessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Crawls', exact: true }).click();
  await page.getByRole('region', { name: 'Crawls' }).getByText('Done').waitFor();
});

test('a crawl is begun on the page, shows how far it is and what went wrong, and is cancelled', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?tool=crawls`);
  await page.getByRole('button', { name: 'New crawl' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'URL' }).fill(`${site.url}/waiting`);
  await dialog.getByRole('checkbox', { name: 'Crawl the whole site' }).check();
  await assertLooksRight(page, 'tools-new-crawl');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByText('2 of 4 pages read, 1 failed').waitFor();
  assert.equal(await page.getByRole('progressbar').getAttribute('value'), '3');
  await page.getByText('Running', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Waiting/ }).waitFor();
  const errors = page.getByRole('region', { name: 'Pages that could not be read' });
  assert.match(await errors.getByRole('row', { name: `${site.url}/half` }).innerText(), /connection|ended|broke/i);
  await assertLooksRight(page, 'tools-crawl-running');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
  await page.getByRole('link', { name: 'Crawls', exact: true }).click();
  await page
    .getByRole('row', { name: `${site.url}/waiting` })
    .getByText('Cancelled')
    .waitFor();
  await assertLooksRight(page, 'tools-crawls-some');
});
