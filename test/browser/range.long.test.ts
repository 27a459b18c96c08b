import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { assertAccessible, followTo, settled } from './open-page.ts';
import { sharedPage } from './shared-page.ts';

suite('the range of pages', { skip: chromiumMissing }, () => {
  let page: Page;
  sharedPage('/dashboard', (opened) => {
    page = opened;
  });

  const range = () => page.getByRole('button', { name: /^Range: / });
  const said = async () => (await range().innerText()).replaceAll(/\s+/g, ' ');
  const panel = () => page.getByRole('dialog', { name: 'Range' });
  const addressed = () => new URL(page.url()).searchParams;

  async function choose(name: string): Promise<void> {
    await range().click();
    await panel().getByRole('button', { name, exact: true }).click();
    await settled(page);
  }

  test('a range stays between pages and in the address, and Back returns to the one before', async () => {
    await settled(page);
    assert.equal(await said(), 'Range: Last 24 hours UTC');
    await choose('Last 7 days');
    await choose('Yesterday');
    assert.deepEqual([addressed().get('range'), addressed().get('zone')], ['yesterday', 'UTC']);
    await page.goBack();
    await settled(page);
    assert.match(await said(), /Last 7 days/);
    await page.goForward();
    for (const path of ['usage', 'requests', 'providers', 'cache']) {
      await page.getByRole('navigation').getByRole('link', { name: path, exact: false }).first().click();
      await settled(page);
      assert.match(await said(), /Yesterday/, path);
      await page.waitForURL((address) => address.searchParams.get('range') === 'yesterday');
    }
  });

  test('an empty range, a turned one, and a time zone that is none are refused at their fields', async () => {
    await followTo(page, '/dashboard?range=24h');
    await range().click();
    const [from, to, zone] = ['From', 'To', 'Time zone'].map((label) => panel().getByLabel(label, { exact: true }));
    const show = panel().getByRole('button', { name: 'Show this range' });
    const fault = async (field: typeof from) => {
      assert.equal(await field!.getAttribute('aria-invalid'), 'true');
      return page.locator(`[id="${await field!.getAttribute('aria-describedby')}"]`).innerText();
    };
    await from!.fill('2026-01-02T00:00');
    await to!.fill('2026-01-02T00:00');
    await show.click();
    assert.equal(await fault(to), 'The range is empty: it ends when it begins.');
    await to!.fill('2026-01-01T00:00');
    await show.click();
    assert.equal(await fault(to), 'The range ends before it begins.');
    await from!.fill('2100-01-01T00:00');
    await to!.fill('2100-01-02T00:00');
    await show.click();
    assert.equal(await fault(from), 'This time is in the future.');
    await zone!.fill('Europe/Belin');
    await zone!.press('Enter');
    assert.match(await fault(zone), /^There is no time zone "Europe\/Belin"/);
    assert.equal(addressed().get('range'), '24h', 'nothing was taken');
    await assertAccessible(page);
    await zone!.fill('Asia/Kolkata');
    await zone!.press('Enter');
    await settled(page);
    assert.equal(await said(), 'Range: Last 24 hours Asia/Kolkata');
    await page.reload();
    await settled(page);
    assert.match(await said(), /Asia\/Kolkata$/, 'the browser remembers the zone');
    await followTo(page, '/dashboard?range=yesterday&zone=Nowhere/Land');
    assert.match(await said(), /Yesterday Asia\/Kolkata$/);
    await page.evaluate(`localStorage.clear()`);
  });

  test('dragging over a chart shows that time, and a click on a bar leads to its requests', async () => {
    await page.goto('/dashboard?range=7d&zone=UTC');
    await settled(page);
    const plot = await chartBox(page);
    await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width * 0.9, plot.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/range=20/);
    const [from, to] = addressed().get('range')!.split('..').map(Date.parse) as [number, number];
    const days = (to - from) / 86_400_000;
    assert.ok(days > 2.5 && days < 3.1, `40 % of seven days is ${days}`);
    await settled(page);
    await page.goBack();
    await settled(page);
    assert.equal(addressed().get('range'), '7d');
    const { x, y, width } = await chartBox(page);
    await page.mouse.click(x + width * 0.92, y + 60);
    await page.waitForURL(/dashboard\/requests/);
    const [first, end] = addressed().get('range')!.split('..').map(Date.parse) as [number, number];
    assert.equal(end - first, 2 * 3_600_000, 'the two hours of a bar');
  });

  test('a bar belongs to its step up to the next one, also where it was redrawn below a resting pointer', async () => {
    await followTo(page, '/dashboard/requests?range=7d');
    await page.getByRole('img', { name: 'Requests by day' }).locator('.u-over').waitFor();
    const { x, y, width, height } = await chartBox(page);
    const legend = page.locator('main figcaption').first();
    const pointAt = async (step: number) => {
      await page.mouse.move(x + (width / 8) * step, y + height - 4);
      return legend.innerText();
    };
    const figures = await pointAt(5.2);
    assert.equal(await pointAt(5.9), figures);
    await page.emulateMedia({ colorScheme: 'dark' });
    await settled(page);
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForURL(/range=20/);
    const from = Date.parse(addressed().get('range')!.split('..')[0]!);
    const dayMs = 86_400_000;
    assert.equal(from, (Math.floor(Date.now() / dayMs) - 2) * dayMs, 'the sixth of eight days');
    await page.emulateMedia({ colorScheme: 'light' });
  });
});

async function chartBox(of: Page) {
  const over = of.locator('figure .u-over').first();
  await over.waitFor();
  return (await over.boundingBox())!;
}
