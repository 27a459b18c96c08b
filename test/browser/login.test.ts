import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { adminKey } from '../start-gateway.ts';
import { openSeeded } from './open-seeded.ts';

const { gateway, browser } = await openSeeded({ after: after as never }, { days: 0, requests: 1 });

suite('logging in', { skip: chromiumMissing }, () => {
  test('a printed link logs one browser in, once, and its token leaves the address bar', async () => {
    const { path } = (await (await gateway.admin('/login-links', { method: 'POST' })).json()) as { path: string };
    const { page } = await browser.open({ as: 'nobody' });
    await page.goto(path);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.doesNotMatch(page.url(), /token/);
    const another = await browser.open({ as: 'nobody' });
    await another.page.goto(path);
    await another.page.getByText('This login link was used before or is over.').waitFor();
    await another.page.locator('input[type=password]').fill(adminKey);
    await another.page.getByRole('button', { name: 'Log in' }).click();
    await another.page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('a wrong key is answered in the server’s words and stays in the field', async () => {
    const { page } = await browser.open({ as: 'nobody' });
    await page.goto('/dashboard/requests?status=5xx');
    await page.locator('input[type=password]').fill('sk-cv-admin-wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This is neither the admin key of this server').waitFor();
    assert.equal(await page.locator('input[type=password]').inputValue(), 'sk-cv-admin-wrong');
    await page.locator('input[type=password]').fill(adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    assert.match(page.url(), /requests\?status=5xx$/, 'where the link led');
  });

  test('a session that is ended elsewhere asks for the next one, and what was typed stays', async () => {
    const { page, context } = await browser.open();
    await page.goto('/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('server: { port: 99999 }');
    await context.clearCookies();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await page.locator('input[type=password]').fill(adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await field.inputValue(), 'server: { port: 99999 }');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('server.port').waitFor();
  });

  test('a lost connection is said, keeps what was typed, and goes by itself', async () => {
    const { page, context } = await browser.open();
    await page.goto('/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('models: {}');
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    const note = page.getByText('Trying again every two seconds');
    await note.waitFor();
    assert.equal(await field.inputValue(), 'models: {}');
    await context.setOffline(false);
    await note.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('It could be used as it is').waitFor();
  });

  test('logging out ends the session and its cookie', async () => {
    const { page, context } = await browser.open();
    await page.goto('/dashboard');
    await page.getByRole('button', { name: 'admin owner' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    assert.deepEqual(await context.cookies(), []);
  });
});
