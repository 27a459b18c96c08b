import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { adminKey } from '../start-gateway.ts';
import { openPage, otherMachine } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 0, requests: 1 });

suite('logging in', { skip }, () => {
  test('a printed link logs one browser in, once, and its token leaves the address bar', async (t) => {
    const { path } = (await (await gateway.admin('/login-links', { method: 'POST' })).json()) as { path: string };
    const page = await openPage(t, gateway, path, { login: null });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.doesNotMatch(page.url(), /token/);
    const another = await openPage(t, gateway, path, { login: null });
    await another.getByText('This login link was used or has expired.').waitFor();
    await another.locator('input[type=password]').fill(adminKey);
    await another.getByRole('button', { name: 'Log in' }).click();
    await another.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('a link works in a tab that is open and logged in, and one that was used leaves its session', async (t) => {
    const { path } = (await (await gateway.admin('/login-links', { method: 'POST' })).json()) as { path: string };
    const page = await openPage(t, gateway, '/account', { login: { key: gateway.keys['lumen/reader'] } });
    await page.getByRole('heading', { name: 'reader' }).waitFor();
    const follow = () => page.evaluate(`location.hash = ${JSON.stringify(path.slice(path.indexOf('#')))}`);
    await follow();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await follow();
    await page.getByText('This login link was used or has expired.').waitFor();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.doesNotMatch(page.url(), /token/);
  });

  test('a wrong key is answered in the server’s words and stays in the field', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests?status=5xx', { login: null });
    await page.locator('input[type=password]').fill('sk-cv-admin-wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This is neither the admin key of this server').waitFor();
    assert.equal(await page.locator('input[type=password]').inputValue(), 'sk-cv-admin-wrong');
    await page.locator('input[type=password]').fill(gateway.keys['lumen/reader']);
    await page.keyboard.press('Enter');
    await page.getByText('This is an API key, not an admin key. Log in with it as an API key.').waitFor();
    await page.locator('input[type=password]').fill(adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    assert.match(page.url(), /requests\?status=5xx$/, 'where the link led');
  });

  test('a session that is ended elsewhere asks for the next one, and what was typed stays', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('server: { port: 99999 }');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await page.locator('input[type=password]:focus').waitFor();
    await page.keyboard.insertText(adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await field.inputValue(), 'server: { port: 99999 }');
    await page.getByText('The session had ended, and nothing was changed.').waitFor();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('server.port').waitFor();
  });

  test('a tab whose person has logged in anew in another one is told so, and goes on', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    await page.getByLabel('culvert.yaml').fill('server: { port: 99999 }');
    const anew = await page
      .context()
      .request.post(`${gateway.url}/dashboard/session`, { data: { admin_key: adminKey } });
    assert.equal(anew.status(), 200);
    const check = () => page.getByRole('button', { name: 'Check', exact: true }).click();
    await check();
    await page.getByText('logged in again in another tab').waitFor();
    await check();
    await page.getByText('server.port').first().waitFor();
    assert.equal(await page.getByText('x-culvert-csrf').count(), 0);
  });

  test('a page of a key that was opened before another login reads with the new session', async (t) => {
    const key = gateway.keys['lumen/reader'];
    const page = await openPage(t, gateway, '/account', { login: { key } });
    await page.getByRole('heading', { name: 'reader' }).waitFor();
    const anew = await page.context().request.post(`${gateway.url}/dashboard/session`, { data: { key } });
    assert.equal(anew.status(), 200);
    await page.getByRole('link', { name: 'Models' }).first().click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.locator('tbody tr').first().waitFor();
  });

  test('an answer that is not from Culvert is said to be one', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    await page.route('**/admin/v1/cluster*', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<html>Log in to the proxy</html>' }),
    );
    await page.getByRole('link', { name: 'Replicas' }).click();
    await page.getByText('The answer is not from Culvert: a proxy in front of it may ask for a login.').waitFor();
    await page.route('**/admin/v1/keys?*', (route) =>
      route.fulfill({ status: 503, contentType: 'text/html', body: '<html>503</html>' }),
    );
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('A proxy in front of Culvert seems to have answered with status 503. Try again').waitFor();
  });

  test('a session that ends is noticed by calls that no query made, and the next one reads the page again', async (t) => {
    const logIn = async (page: Page) => {
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
      await page.locator('input[type=password]').fill(adminKey);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const live = await openPage(t, gateway, '/dashboard/requests');
    await live.locator('tbody tr').first().waitFor();
    await live.context().clearCookies();
    await live.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    const calls: string[] = [];
    live.on('request', (request) => calls.push(request.url()));
    await live.waitForTimeout(2_500);
    assert.deepEqual(calls, [], 'the server would list each as refused');
    await logIn(live);
    const page = await openPage(t, gateway, '/dashboard/playground');
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Send' }).click();
    await logIn(page);
    await page.goto('/dashboard/keys');
    await page.locator('tbody tr').first().waitFor();
    await page.context().clearCookies();
    await page.getByRole('searchbox').fill('crm');
    await logIn(page);
    await page.locator('tbody tr').filter({ hasText: 'northwind' }).waitFor();
    assert.equal(await page.getByText('The session had ended').count(), 0);
  });

  test('pages work over plain http from another machine, where browsers hide a part of what they can', async (t) => {
    const url = gateway.url.replace('127.0.0.1', otherMachine);
    const page = await openPage(t, { url }, '/dashboard/playground', { login: null });
    assert.equal(await page.evaluate('typeof navigator.clipboard + typeof crypto.randomUUID'), 'undefinedundefined');
    await page.locator('input[type=password]').fill(adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('article', { name: 'Answer' }).waitFor();
    await page.goto('/dashboard/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('[name=account]').fill('atlas');
    await dialog.locator('[name=name]').fill('laptop');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('button', { name: 'Copy secret' }).click();
    await dialog.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    const secret = await dialog.locator('pre').innerText();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('searchbox').focus();
    await page.keyboard.press('Control+v');
    assert.equal(await page.getByRole('searchbox').inputValue(), secret);
  });

  test('another person who logs in where a session ended gets a page of their own', async (t) => {
    const admin = { authorization: `Bearer ${adminKey}` };
    const made = await gateway.fetch('/admin/v1/operators', { headers: admin, json: { name: 'Vera', role: 'admin' } });
    const { key } = (await made.json()) as { key: string };
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('server: { port: 99999 }');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await page.locator('input[type=password]').fill(key);
    const loaded = page.waitForEvent('load');
    await page.keyboard.press('Enter');
    await loaded;
    await field.waitFor();
    assert.equal(await field.inputValue(), '');
  });

  test('a lost connection is said, keeps what was typed, and goes by itself', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('models: {}');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    const note = page.getByText('This page tries again every two seconds');
    await note.waitFor();
    assert.equal(await field.inputValue(), 'models: {}');
    await page.context().setOffline(false);
    await note.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('The file is valid').waitFor();
  });

  test('a page that is opened during an outage comes after it, and the last one stays until then', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    const field = page.getByLabel('culvert.yaml');
    await field.fill('models: {}');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Plans', exact: true }).click();
    await page.getByText('This page tries again every two seconds').waitFor();
    assert.equal(await field.inputValue(), 'models: {}');
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Plans', exact: true }).waitFor();
  });

  test('logging out ends the session and its cookie', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await page.getByRole('button', { name: 'admin owner' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    assert.deepEqual(await page.context().cookies(), []);
  });
});
