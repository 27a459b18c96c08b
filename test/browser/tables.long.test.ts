import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { adminKey } from '../start-gateway.ts';
import { assertAccessible, followTo, settled } from './open-page.ts';
import { sharedPage } from './shared-page.ts';

suite('tables', { skip: chromiumMissing }, () => {
  let page: Page;
  sharedPage('/dashboard/models', (opened) => {
    page = opened;
  });

  const heads = async () =>
    (await page.locator('main thead').first().locator('th').allInnerTexts()).map((text) => text.trim());
  const first = async () =>
    (await page.locator('main tbody').first().locator('tr td:first-child .font-medium').allInnerTexts()).join();
  const menu = async (item: string) => {
    await page.getByRole('button', { name: 'Table options' }).first().click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  const csv = async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), menu('Download as CSV')]);
    return readFileSync((await file.path())!, 'utf8')
      .trim()
      .split('\r\n');
  };

  test('sort by every head, up, down and as they were, and the address keeps it', async () => {
    await settled(page);
    const before = await first();
    const head = page.getByRole('columnheader', { name: 'Model' }).getByRole('button');
    await head.click();
    await page.waitForURL(/sort-models=model/);
    const names = (await first()).split(',');
    assert.ok(names.length > 5);
    assert.deepEqual(names, names.toSorted(new Intl.Collator('en', { numeric: true }).compare));
    await head.click();
    await page.waitForURL(/sort-models=-model/);
    assert.equal(await first(), names.toReversed().join());
    await page.reload();
    await settled(page);
    assert.equal(await first(), names.toReversed().join());
    await head.click();
    await page.waitForURL((url) => !url.search.includes('sort'));
    assert.equal(await first(), before);
  });

  test('hide and move columns, export exactly these, and a link shows them elsewhere', async () => {
    assert.deepEqual(await heads(), ['Model', 'Type', 'State', 'Source', 'Tier', 'USD per 1M tokens, in / out']);
    await menu('Columns');
    const dialog = page.getByRole('dialog');
    for (const hidden of ['Source', 'Tier']) await dialog.getByRole('checkbox', { name: hidden }).uncheck();
    await dialog.getByRole('button', { name: 'Move State up' }).click();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const chosen = ['Model', 'State', 'Type', 'USD per 1M tokens, in / out'];
    assert.deepEqual(await heads(), chosen);
    await page.reload();
    await settled(page);
    assert.deepEqual(await heads(), chosen, 'the browser remembers them');
    const lines = await csv();
    assert.equal(lines[0], 'Model,State,Type,"USD per 1M tokens, in / out"');
    assert.ok(lines.includes('smart,healthy,chat,3'), lines.join('\n'));
    await menu('Copy link to this view');
    const link = await page.evaluate<string>('navigator.clipboard.readText()');
    await page.evaluate('localStorage.clear()');
    await page.goto(link);
    await settled(page);
    assert.deepEqual(await heads(), chosen, 'a link has them too');
  });

  test('of many pages export all rows that the filters let through, and are not sorted by a part of them', async () => {
    await page.evaluate('localStorage.clear()');
    await page.goto('/dashboard/requests?account=atlas');
    await settled(page);
    await page.locator('main thead button').waitFor({ state: 'detached' });
    const lines = await csv();
    assert.ok(lines.length > 52, `${lines.length} lines are more than a page`);
    const accountAt = lines[0]!.split(',').indexOf('Account');
    assert.deepEqual([...new Set(lines.slice(1).map((line) => line.split(',')[accountAt]))], ['atlas']);
  });

  test('a list keeps its page in the address, and begins again where its filter changes', async () => {
    const { origin } = new URL(page.url());
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const add = (name: string) =>
      fetch(`${origin}/admin/v1/keys`, { method: 'POST', headers, body: JSON.stringify({ account: 'atlas', name }) });
    const made = await Promise.all(Array.from({ length: 60 }, (_, at) => add(`many-${at + 10}`)));
    assert.deepEqual([...new Set(made.map(({ status }) => status))], [201]);
    await page.goto('/dashboard/keys?text=many-');
    await settled(page);
    const ids = () => page.locator('main tbody tr .font-medium').allInnerTexts();
    const first = await ids();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.waitForURL(/[?&]pages=/);
    await settled(page);
    const second = await ids();
    assert.equal(first.length + second.length, 60);
    await page.reload();
    await settled(page);
    assert.deepEqual(await ids(), second);
    await page.locator('main tbody tr a, main tbody tr').first().click();
    await page.waitForURL(/keys\/\w/);
    await page.goBack();
    await settled(page);
    assert.deepEqual(await ids(), second, 'Back returns to it');
    await page.getByRole('searchbox').first().fill('many-1');
    await page.waitForURL((url) => url.searchParams.get('text') === 'many-1' && !url.searchParams.has('pages'));
    await settled(page);
    assert.equal((await ids()).length, 10);
  });

  test('hundreds of accounts are one page, so that who spent most is first by a click', async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const make = (at: number) => page.request.post('/admin/v1/accounts', { headers, data: { id: `a-${at}` } });
    await Promise.all(Array.from({ length: 210 }, (_, at) => make(at)));
    await page.goto('/dashboard/accounts');
    await page.getByRole('columnheader', { name: 'Spent, 30 d' }).getByRole('button').click();
    await page.getByRole('row').nth(1).getByText('atlas').waitFor();
  });

  test('a view is saved by name, opened from any page, and taken away again', async () => {
    await page.goto('/dashboard/requests?account=atlas&range=7d');
    await settled(page);
    await menu('Saved views');
    const dialog = page.getByRole('dialog');
    const name = dialog.getByLabel('Save this view as');
    await name.press('Enter');
    assert.match(await dialog.getByRole('alert').innerText(), /Enter a name/);
    await name.fill('Atlas, a week');
    await name.press('Enter');
    await followTo(page, '/dashboard/models');
    await menu('Saved views');
    await name.fill('Half');
    page.once('dialog', (question) => void question.dismiss());
    await dialog.getByRole('link', { name: 'Atlas, a week' }).click();
    assert.equal(await name.inputValue(), 'Half', 'it stays where the reader does');
    await name.fill('');
    page.once('dialog', (question) => void question.accept());
    await dialog.getByRole('link', { name: 'Atlas, a week' }).click();
    await page.waitForURL(/requests\?account=atlas&range=7d/);
    await settled(page);
    await menu('Saved views');
    await dialog.getByRole('button', { name: 'Remove Atlas, a week' }).click();
    assert.equal(await dialog.getByRole('link').count(), 0);
    await page.keyboard.press('Escape');
  });
});
