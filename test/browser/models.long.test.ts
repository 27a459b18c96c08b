import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { ModelReply } from '../../src/admin/entries/models.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { openPage } from './open-page.ts';

const headers = { authorization: `Bearer ${adminKey}` };

suite('the form of a model', { skip: chromiumMissing }, () => {
  let gateway: TestGateway;
  let page: Page;
  let dialog: Locator;
  const ends: (() => Promise<void>)[] = [];
  const hooks = { after: (end: () => Promise<void>) => void ends.unshift(end) } as never;
  before(async () => {
    const up = { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'x' };
    gateway = await startGateway(hooks, { providers: { up } });
    page = await openPage(hooks, gateway, '/dashboard/models');
    dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add model' }).first().click();
    await dialog.getByLabel('Name', { exact: true }).fill('smart');
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const add = () => dialog.getByRole('button', { name: 'Add model' }).click();
  const target = (at: number) => dialog.getByLabel('Target', { exact: true }).nth(at);
  const variant = (at: number) => dialog.getByLabel('Variant', { exact: true }).nth(at);
  const wrong = () => dialog.locator('[aria-invalid=true]');

  test('a message about a target is at its line, behind lines without one', async () => {
    await dialog.getByRole('button', { name: 'Add target' }).click();
    await target(1).fill('up/small');
    await dialog.getByLabel('Weight').nth(1).fill('heavy');
    await add();
    await dialog.getByText('Expected a number').waitFor();
    assert.equal(await wrong().inputValue(), 'heavy');
    await dialog.getByLabel('Weight').nth(1).fill('2');
  });

  test('a target of which all but the name was typed is not lost', async () => {
    await dialog.getByLabel('USD in').nth(0).fill('3');
    await add();
    await dialog.getByText('Name the target, or remove it.').waitFor();
    assert.equal(await wrong().count(), 1);
    await target(0).fill('up/large');
  });

  test('a variant without a name, or with that of another one, is not lost', async () => {
    for (const at of [0, 1]) {
      await dialog.getByRole('button', { name: 'Add variant' }).click();
      await dialog
        .getByLabel('Share', { exact: true })
        .nth(at)
        .fill(String(at + 1));
    }
    await variant(0).fill('a');
    await add();
    await dialog.getByText('Name the variant, or remove it.').waitFor();
    await variant(1).fill('a');
    await add();
    await dialog.getByText('Another variant has this name.').waitFor();
    await variant(1).fill('b');
    await add();
    await page.getByText('smart can be called.').waitFor();
    const { definition } = (await (await gateway.fetch('/admin/v1/models/smart', { headers })).json()) as ModelReply;
    assert.deepEqual(definition?.variants, { a: { weight: 1 }, b: { weight: 2 } });
    assert.deepEqual(definition?.targets, [
      { provider: 'up', model: 'large', price: { input: 3 } },
      { provider: 'up', model: 'small', weight: 2 },
    ]);
  });

  test('a price is shown with all of its digits', async () => {
    const targets = [{ provider: 'up', model: 'nano', price: { input: 0.0375, output: 0.125 } }];
    await gateway.fetch('/admin/v1/models', { headers, json: { id: 'nano', targets } });
    for (const path of ['/dashboard/models', '/dashboard/models/nano']) {
      await page.goto(path);
      await page.getByText('$0.0375 / $0.125').waitFor();
    }
  });
});
