import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { freePort, nginxMissing, type ProxiedPath, startNginxBelow } from '../start-nginx.ts';
import { startOpenIdProvider } from '../start-openid-provider.ts';
import { startUpstream } from '../start-upstream.ts';
import { openPage, settled } from './open-page.ts';

const skip = chromiumMissing || nginxMissing;
const kinds: readonly ProxiedPath[] = ['passed on', 'stripped'];

for (const kind of kinds) {
  test(`the dashboard works below a path of nginx that is ${kind}`, { skip }, async (t) => {
    const [provider, upstream, port] = await Promise.all([
      startOpenIdProvider({ claims: 'id-token' }),
      startUpstream(),
      freePort(),
    ]);
    t.after(() => Promise.all([provider.close(), upstream.close()]));
    const origin = `http://127.0.0.1:${port}`;
    const gateway = await startGateway(t, {
      server: { public_url: `${origin}/culvert` },
      dashboard: { oidc: provider.settings([{ group: 'platform', role: 'owner' }]) },
      providers: { plain: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
      models: { fast: { targets: [{ provider: 'plain', model: 'mock/ok' }] } },
    });
    await Promise.all([startNginxBelow(t, port, gateway.url, kind), provider.register(`${origin}/culvert`)]);
    provider.people.set('frida', { groups: ['platform'] });

    const page = await openPage(t, { url: origin }, '/culvert/', { login: null });
    page.setDefaultTimeout(15_000);
    const outside = new Set<string>();
    page.on('request', (request) => {
      const { origin: to, pathname } = new URL(request.url());
      if (to === origin && !pathname.startsWith('/culvert/')) outside.add(pathname);
    });

    await t.test('a person logs in at a provider, and comes back to the page of the link', async () => {
      await page.goto('/culvert/dashboard/usage?group_by=account');
      // The provider's pages name a font of the internet.
      await page.route(
        ({ hostname }) => hostname !== '127.0.0.1',
        (route) => route.abort(),
      );
      await page.getByRole('link', { name: 'Continue with Example' }).click();
      await page.locator('input[name=login]').fill('frida');
      await page.locator('input[name=password]').fill('any');
      await page.getByRole('button').click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
      assert.equal(page.url(), `${origin}/culvert/dashboard/usage?group_by=account`);
      const cookies = await page.context().cookies(`${origin}/culvert`);
      const session = cookies.find(({ name }) => name === `culvert_session_${port}_culvert`);
      assert.equal(session?.path, '/culvert', 'its neighbours do not get it');
    });

    await t.test('each page is reached by its link, and loaded again', async () => {
      const places = page.getByRole('navigation', { name: 'Pages' }).first();
      for (const name of (await places.getByRole('link').allInnerTexts()).map((text) => text.trim())) {
        await places.getByRole('link', { name, exact: true }).click();
        await settled(page);
        await page.reload();
        await settled(page);
      }
    });

    await t.test('a form is saved, and its entry is at its address', async () => {
      await page.goto('/culvert/dashboard/keys');
      await page.getByRole('button', { name: 'New key' }).click();
      const form = page.getByRole('dialog');
      await form.getByLabel('Account').fill('dev');
      await form.getByLabel('Name').fill('below-a-path');
      await form.getByRole('button', { name: 'Create' }).click();
      await form.getByText(/^sk-cv-/).waitFor();
      await form.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('link', { name: 'below-a-path' }).click();
      await page.getByRole('heading', { name: 'below-a-path' }).waitFor();
      assert.match(page.url(), /\/culvert\/dashboard\/keys\/\w+$/);
      await page.reload();
      await page.getByRole('heading', { name: 'below-a-path' }).waitFor();
    });

    await t.test('the playground streams, the request is listed, and the list is saved', async () => {
      await page.goto('/culvert/dashboard/playground');
      const message = page.getByRole('textbox', { name: 'Message' });
      await message.fill('How is bread baked?');
      await message.press('Control+Enter');
      await page.getByText('Mock answer to: How is bread baked?').waitFor();
      await page.goto('/culvert/dashboard/usage');
      await settled(page);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV', exact: true }).click();
      assert.match(readFileSync(await (await download).path(), 'utf8'), /^day,[\w,]+\r\n/);
    });

    await t.test('the documentation leads from page to page', async () => {
      await page.goto('/culvert/docs/');
      await page.locator('main a[href$="/dashboard"]').click();
      await page.waitForURL('**/culvert/docs/dashboard**');
      await page.locator('main h1', { hasText: 'Dashboard' }).waitFor();
      await page.reload();
      await page.locator('main h1', { hasText: 'Dashboard' }).waitFor();
    });

    await t.test('who logs out here and there comes back', async () => {
      await page.goto('/culvert/dashboard');
      await page.getByRole('button', { name: /^frida/ }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await page.waitForURL(`${provider.issuer}/session/end**`);
      await page.getByRole('button', { name: /yes/i }).click();
      await page.getByRole('link', { name: 'Continue with Example' }).waitFor();
      assert.equal(page.url(), `${origin}/culvert/dashboard`);
    });

    assert.deepEqual([...outside], [], 'nothing is asked outside of the path');
  });
}
