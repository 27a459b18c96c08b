import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { PlanReply } from '../../src/admin/entries/plans.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { changes, followTo, openPage } from './open-page.ts';

const headers = { authorization: `Bearer ${adminKey}` };

suite('plans', { skip: chromiumMissing }, () => {
  let gateway: TestGateway;
  let page: Page;
  const ends: (() => Promise<void>)[] = [];
  const hooks = { after: (end: () => Promise<void>) => void ends.unshift(end) } as never;
  before(async () => {
    gateway = await startGateway(hooks, {
      plans: {
        file: { rpm: 'off', tpm: 9_000, concurrency: 3 },
        least: { windows: { '5h': 1 }, rpm: 1, concurrency: 1 },
      },
    });
    page = await openPage(hooks, gateway, '/dashboard/plans');
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const create = (on: Page) => on.getByRole('button', { name: 'Create plan' }).click();
  const planOf = async (name: string) =>
    (await (await gateway.fetch(`/admin/v1/plans/${name}`, { headers })).json()) as PlanReply;

  test('a plan that limits tokens and concurrent requests alone is not called unlimited', async () => {
    await page.getByRole('row', { name: /file.*9,000 tokens per minute, 3 concurrent requests/ }).waitFor();
  });

  test('one unit or request is not called several', async () => {
    await page
      .getByRole('row', { name: /1 unit in 5 hours, .*1 request per minute, 1 concurrent request\b/ })
      .waitFor();
  });

  test('a saved plan asks nothing when its page is left, however it was typed', async () => {
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await followTo(page, '/dashboard/plans/typed');
    await page.getByLabel('Requests per minute').fill('1,500');
    await page.getByLabel('Storage').fill('5GB');
    await create(page);
    await page.getByText('Saved. The limits apply at once.').waitFor();
    assert.equal(await page.getByLabel('Requests per minute').inputValue(), '1500');
    await page.getByRole('link', { name: 'Models' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    assert.deepEqual(asked, []);
  });

  test('emptied limits by tier stay in sight', async () => {
    await followTo(page, '/dashboard/plans/typed');
    await page.getByText('Limits by tier').click();
    const field = page.getByLabel('As JSON');
    await field.fill('{');
    await field.fill('');
    assert.ok(await field.isVisible());
  });

  test('whoever creates a plan second sees the first one, and replaces nothing unseen', async (t) => {
    const other = await openPage(t, gateway, '/dashboard/plans/both');
    await followTo(page, '/dashboard/plans/both');
    await page.getByLabel('Requests per minute').fill('11');
    await other.getByLabel('Tokens per minute').fill('22');
    await create(page);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await create(other);
    await other.getByText('Another person has changed this.').waitFor();
    assert.deepEqual(await changes(other), ['rpm 11 unchanged', 'tpm unchanged 22']);
    assert.equal((await planOf('both')).definition.rpm, 11);
    await other.getByRole('button', { name: 'Keep my changes' }).click();
    await other.getByRole('button', { name: 'Save' }).click();
    await other.getByText('Saved. The limits apply at once.').waitFor();
    const { rpm, tpm } = (await planOf('both')).definition;
    assert.deepEqual({ rpm, tpm }, { rpm: 11, tpm: 22 });
  });

  test('a plan that another person has changed is removed once that was seen, and not offered again', async () => {
    await followTo(page, '/dashboard/plans/both');
    await page.evaluate(`globalThis.offers = 0; new MutationObserver(() => {
      if (document.querySelector('main').textContent.includes('There is no plan')) globalThis.offers += 1;
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove plan' }).click();
    await page.getByText('Another person has changed this, and nothing was done.').waitFor();
    await page.getByRole('button', { name: 'Remove plan' }).click();
    await page.getByText('The plan both was removed.').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Plans' }).waitFor();
    assert.equal(await page.evaluate('globalThis.offers'), 0);
  });

  test('a plan that another person has removed is created anew from what was typed', async () => {
    await gateway.fetch('/admin/v1/plans/anew', { method: 'PUT', headers, json: { rpm: 5 } });
    await followTo(page, '/dashboard/plans/anew');
    await page.getByLabel('Requests per minute').fill('77');
    await gateway.fetch('/admin/v1/plans/anew', { method: 'DELETE', headers });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText("There is no plan 'anew'").waitFor();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    assert.equal((await planOf('anew')).definition.rpm, 77);
  });

  test('a person who may not write plans is not told to save one', async (t) => {
    const operator = await gateway.fetch('/admin/v1/operators', { headers, json: { name: 'reader', role: 'viewer' } });
    const { key } = (await operator.json()) as { key: string };
    const viewer = await openPage(t, gateway, '/dashboard/plans/none', { login: { admin_key: key } });
    await viewer.getByText('There is no plan with this name yet.').waitFor();
    assert.ok(!(await viewer.locator('main').innerText()).includes('Save'));
    assert.equal(await viewer.getByLabel('Requests per minute').count(), 0);
  });
});
