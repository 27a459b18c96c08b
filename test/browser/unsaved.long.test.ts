import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Dialog, Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { until } from '../until.ts';
import { followTo, openPage, settled } from './open-page.ts';
import { type SeededGateway, startSeededGateway } from './seeded-gateway.ts';

suite('what an operator types and looks for', { skip: chromiumMissing }, () => {
  let page: Page;
  let gateway: SeededGateway;
  const ends: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  before(async () => {
    const hooks = { after: (done: () => Promise<void>) => void ends.unshift(done) } as never;
    gateway = await startSeededGateway(hooks, { days: 5, perDay: 60 });
    page = await openPage(hooks, gateway, '/dashboard/keys');
  });

  test('a dialog asks before it discards what was typed, and closes at once where nothing was', async () => {
    await settled(page);
    const dialog = page.getByRole('dialog', { name: 'New key' });
    const open = () => page.getByRole('button', { name: 'New key' }).click();
    await open();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await open();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('laptop');
    for (const stray of ['Escape', 'Escape']) await page.keyboard.press(stray);
    await dialog.getByText('Your changes are not saved.').waitFor();
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    assert.equal(await dialog.getByRole('textbox', { name: 'Name' }).inputValue(), 'laptop');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('button', { name: 'Discard them' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  test('a dialog asks before it discards rows that were taken away or added, and switches', async () => {
    const budgets = [{ by: 'user', usd: 5, window: 'month' }];
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'rows' } });
    await gateway.admin('/accounts/rows', { method: 'PATCH', body: { budgets } });
    await gateway.admin('/routes', { method: 'POST', body: { name: 'rows', tag: 'a' } });
    for (const [path, open, change] of [
      ['/dashboard/accounts/rows', 'Edit budgets', 'Remove budget 1'],
      ['/dashboard/accounts/rows', 'Edit budgets', 'Add a budget'],
      ['/dashboard/prompts', 'Add prompt', 'Add message'],
      ['/dashboard/prompts', 'Add prompt', 'Add variable'],
      ['/dashboard/routes/rows', 'Edit', 'In force'],
    ] as const) {
      await followTo(page, path);
      await page.getByRole('button', { name: open }).last().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole(change === 'In force' ? 'switch' : 'button', { name: change, exact: true }).click();
      await page.keyboard.press('Escape');
      await dialog.getByText('Your changes are not saved.').waitFor();
      await dialog.getByRole('button', { name: 'Discard them' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
  });

  test('a dialog with changes asks before Back, a reload or Ctrl K loses them, and not once they are saved', async () => {
    await followTo(page, '/dashboard/plans');
    await followTo(page, '/dashboard/guards');
    await page.getByRole('button', { name: 'Add guard' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add a guard' });
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.fill('cards');
    const asked: string[] = [];
    const stay = (question: Dialog) => {
      asked.push(question.type());
      void question.dismiss();
    };
    page.on('dialog', stay);
    await page.goBack();
    await page.evaluate('setTimeout(() => location.reload())');
    await until('both questions', () => asked.length === 2);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('plans');
    await page.keyboard.press('Enter');
    await until('the third question', () => asked.length === 3);
    assert.deepEqual(asked, ['confirm', 'beforeunload', 'confirm']);
    assert.equal(await name.inputValue(), 'cards');
    await dialog.getByRole('button', { name: 'Add guard' }).click();
    await page.waitForURL(/guards\/cards/);
    page.off('dialog', stay);
    assert.equal(asked.length, 3);
  });

  test('a dialog with changes asks before another tab or entry of its page takes its place, and not once they are saved', async () => {
    const asked: string[] = [];
    const stay = (question: Dialog) => {
      asked.push(question.message());
      void question.dismiss();
    };
    page.on('dialog', stay);
    const dialog = page.getByRole('dialog').first();
    await followTo(page, '/dashboard/vectors');
    await page.getByRole('button', { name: 'New collection' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('unsaved');
    await dialog.getByRole('button', { name: 'Create collection' }).click();
    await page.getByRole('heading', { level: 1, name: 'unsaved' }).waitFor();
    assert.deepEqual(asked, [], 'a saved form');
    await page.locator('main').getByRole('link', { name: 'Vectors' }).click();
    await page.getByRole('link', { name: 'unsaved' }).click();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const texts = dialog.getByRole('textbox', { name: 'Texts' });
    await texts.fill('A long text.');
    await page.goBack();
    await until('a question', () => asked.length === 1);
    assert.equal(await texts.inputValue(), 'A long text.');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('button', { name: 'Discard them' }).click();
    await followTo(page, '/dashboard/settings?tab=operators');
    await page.getByRole('button', { name: 'Create an operator' }).click();
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.fill('olga');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('Settings: Sessions');
    await page.keyboard.press('Enter');
    await until('another question', () => asked.length === 2);
    assert.equal(await name.inputValue(), 'olga');
    assert.equal(await page.evaluate('document.activeElement.name'), 'name', 'the focus is back');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('button', { name: 'Discard them' }).click();
    assert.equal(asked.length, 2);
    page.off('dialog', stay);
  });

  test('a form that is saved once its reader has closed it leaves them where they are', async () => {
    await followTo(page, '/dashboard/guards');
    await page.getByRole('button', { name: 'Add guard' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('late');
    let answer = () => {};
    const held = new Promise<void>((done) => (answer = done));
    await page.route('**/admin/v1/guards', async (route) => {
      await held;
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Add guard' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('button', { name: 'Discard them' }).click();
    await followTo(page, '/dashboard/plans/fresh');
    const field = page.getByLabel('Requests per minute');
    await field.fill('12');
    answer();
    await page.getByText('late was added.').waitFor();
    await settled(page);
    assert.equal(await field.inputValue(), '12');
    await page.unroute('**/admin/v1/guards');
    await field.fill('');
  });

  test('a secret that is shown once is not lost by Back or a reload', async () => {
    await followTo(page, '/dashboard/plans');
    await followTo(page, '/dashboard/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Account').fill('atlas');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('shown once');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const warning = dialog.getByText('It is shown only once');
    await warning.waitFor();
    const asked: string[] = [];
    const stay = (question: Dialog) => {
      asked.push(question.type());
      void question.dismiss();
    };
    page.on('dialog', stay);
    await page.goBack();
    await page.evaluate('setTimeout(() => location.reload())');
    await until('both questions', () => asked.length === 2);
    page.off('dialog', stay);
    assert.deepEqual(asked, ['confirm', 'beforeunload']);
    assert.ok(await warning.isVisible());
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  test('the page of a plan asks before it is left with changes', async () => {
    await followTo(page, '/dashboard/plans/fresh');
    const field = page.getByLabel('Requests per minute');
    await field.fill('12');
    const asked: string[] = [];
    const answer = (with_: 'accept' | 'dismiss') =>
      page.once('dialog', (dialog) => {
        asked.push(dialog.message());
        void dialog[with_]();
      });
    answer('dismiss');
    await page.getByRole('link', { name: 'Models' }).click();
    assert.equal(await field.inputValue(), '12');
    assert.match(page.url(), /plans\/fresh/);
    answer('accept');
    await page.getByRole('link', { name: 'Models' }).click();
    await page.waitForURL(/dashboard\/models/);
    // Until the form is gone, it would ask before the next page, too.
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    assert.equal(asked.length, 2);
  });

  test('the chart above the requests shows their volume, and a click narrows the list', async () => {
    await followTo(page, '/dashboard/requests?range=7d');
    const chart = page.getByRole('img', { name: 'Requests by day' });
    await chart.waitFor();
    const over = chart.locator('.u-over');
    const { x, y, width, height } = (await over.boundingBox())!;
    await page.mouse.click(x + (width / 8) * 6.2, y + height - 4);
    await page.waitForURL(/range=20.*\.\./);
    const range = new URL(page.url()).searchParams.get('range')!;
    const [from, to] = range.split('..').map(Date.parse) as [number, number];
    assert.equal(to - from, 86_400_000);
    await settled(page);
    const times = await page
      .locator('main tbody time')
      .evaluateAll((all) => all.map((one) => (one as never as { dateTime: string }).dateTime));
    assert.ok(times.length > 0 && times.every((at) => Date.parse(at) >= from && Date.parse(at) < to), times.join());
    await followTo(page, '/dashboard/requests?range=7d&status=5xx');
    assert.equal(await page.locator('main figure').count(), 0, 'sums know no status');
  });

  test('typing goes on behind a pause and a space, and Enter in a filter keeps the focus there', async () => {
    await followTo(page, '/dashboard/keys');
    const search = page.getByRole('searchbox');
    await search.pressSequentially('northwind ');
    await page.waitForURL(/text=northwind/);
    await settled(page);
    await search.pressSequentially('crm');
    assert.equal(await search.inputValue(), 'northwind crm');
    const account = page.getByLabel('Account', { exact: true });
    await account.fill('lumen');
    await account.press('Enter');
    await page.waitForURL(/account=lumen/);
    await settled(page);
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Account');
    await page.getByText('No key matches these filters.').waitFor();
    await followTo(page, '/dashboard/keys?account=nobody');
    assert.equal(await account.inputValue(), 'nobody', 'another address has another value');
    await page.getByText('No key matches these filters.').waitFor();
  });

  test('nothing is exported beyond what the page shows', async () => {
    for (const [path, name, filter] of [
      ['/dashboard/requests', 'Export', 'text=req_1'],
      ['/dashboard/usage', 'FOCUS', 'tag=nightly'],
    ] as const) {
      await followTo(page, `${path}?${filter}`);
      const button = page.getByRole('button', { name, exact: true });
      assert.equal(await button.isDisabled(), true, name);
      await followTo(page, `${path}?account=lumen`);
      assert.equal(await button.isDisabled(), false, name);
    }
  });

  test('Ctrl K finds a collection of the key that calls use', async () => {
    const answer = await fetch(`${gateway.url}/v1/vectors/collections`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.keys['atlas/production']}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'handbook', vector_size: 3 }),
    });
    assert.ok(answer.ok, await answer.text());
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('handb');
    await page.getByRole('option', { name: /handbook Collection/ }).click();
    await page.waitForURL(/vectors\?collection=handbook/);
    await page.getByRole('heading', { level: 1, name: 'handbook' }).waitFor();
  });
});
