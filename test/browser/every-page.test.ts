import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { assertLooksRight, assertTablesFit, followTo, openPage, settled } from './open-page.ts';
import { everyPage } from './pages.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const lists = [
  'requests',
  'usage',
  'providers',
  'models',
  'mcp-servers',
  'agents',
  'prompts',
  'guards',
  'routes',
  'accounts',
  'keys',
  'plans',
  'replicas',
  'sessions',
];

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 14, perDay: 120 });
if (!skip) {
  for (const [name, role] of [
    ['Lena Brandt', 'admin'],
    ['Finance', 'billing'],
  ]) {
    await gateway.admin('/operators', {
      method: 'POST',
      body: { name, role, accounts: role === 'admin' ? ['atlas'] : null },
    });
  }
}

test('every page fits every screen, can be used by everybody, and runs without an error', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/nowhere', { refusals: 'faults' });
  for (const [name, path] of Object.entries(everyPage)) {
    await t.test(name, async () => {
      await followTo(page, typeof path === 'string' ? path : await path(gateway));
      await assertLooksRight(page, name);
    });
  }
});

test('tables fit windows of any width', { skip }, async (t) => {
  const server = { name: 'tickets', url: 'https://tickets.example.org/a/long/path/to/its/mcp' };
  await gateway.admin('/mcp-servers', { method: 'POST', body: server });
  await gateway.admin('/agents', { method: 'POST', body: { ...server, name: 'planner' } });
  // At their limits, in letters at which no line breaks.
  const longest = { name: 'v'.repeat(64), type: 'openai', base_url: `http://127.0.0.1:9/${'u'.repeat(150)}` };
  await gateway.admin('/providers', { method: 'POST', body: { ...longest, api_key: 'upstream-secret-5' } });
  const page = await openPage(t, gateway, '/dashboard/requests');
  for (const path of [...lists.map((name) => `/dashboard/${name}`), '/dashboard/settings?tab=audit']) {
    await followTo(page, path);
    await page.locator('main table').first().waitFor();
    for (const width of [360, 640, 768, 940, 1024, 1160, 1280, 1510, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await settled(page);
      await assertTablesFit(page, `${path} at ${width} px`);
    }
  }
});

test('a fact that can be copied stands on the line of its name', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/models/smart');
  const boxOf = async (text: string) => (await page.locator('dl').getByText(text, { exact: true }).boundingBox())!;
  const [name, fact] = [await boxOf('Name'), await boxOf('smart')];
  assert.ok(name.height <= 20, 'one line of text, and no higher row');
  assert.ok(Math.abs(name.y + name.height / 2 - fact.y - fact.height / 2) < 2);
});

test('a chart of days names each day once', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard');
  await keepDrawnTexts(page);
  await page.goto('/dashboard/usage?group_by=model&range=7d');
  await settled(page);
  await page.locator('canvas').waitFor();
  const said = await drawnTexts(page.locator('main'));
  const days = said.filter((label) => /^\d+ \w{3}$/.test(label));
  assert.ok(days.length > 5, said.join());
  assert.deepEqual(days, [...new Set(days)]);
});

test('a chart of counts has whole numbers at its axis, each once', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard');
  await keepDrawnTexts(page);
  await page.goto('/dashboard/models/embed');
  await page.getByRole('img', { name: 'Failed attempts over time' }).locator('canvas').waitFor();
  await settled(page);
  const said = await drawnTexts(page.getByRole('img', { name: 'Failed attempts over time' }));
  const figures = said.filter((label) => /^[\d.,]+$/.test(label));
  assert.ok(figures.length > 1, said.join());
  assert.deepEqual(
    figures.filter((label) => !/^\d+$/.test(label)),
    [],
  );
  assert.deepEqual(figures, [...new Set(figures)]);
});

test('login fits every screen, and can be used by everybody', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard', { login: null, refusals: 'faults' });
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await assertLooksRight(page, 'login');
});

/** From the next load on, canvases remember what is written on them, and where. */
async function keepDrawnTexts(page: Page): Promise<void> {
  await page.addInitScript(`{
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      (this.canvas.said ??= new Set()).add([text, ...rest.slice(0, 2).map(Math.round)].join(' at '));
      return fillText.call(this, text, ...rest);
    };
  }`);
}

/** Texts of the only canvas in it; one that is at two places comes twice. */
async function drawnTexts(within: Locator): Promise<string[]> {
  const said = await within.locator('canvas').evaluate((canvas) => [...(canvas as never as { said: string[] }).said]);
  return said.map((label) => label.split(' at ')[0]!);
}
