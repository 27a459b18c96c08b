import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { startOpenIdProvider } from '../start-openid-provider.ts';
import { openPage, settled, shoot } from './open-page.ts';

const skip = chromiumMissing;
const provider = await startOpenIdProvider({ claims: 'id-token' });
after(() => provider.close());
const gateway = await startGateway(
  { after: after as never },
  {
    dashboard: {
      oidc: provider.settings([
        { group: 'finance', role: 'billing' },
        { group: 'platform', role: 'owner' },
      ]),
    },
  },
);
await provider.register(gateway.url);

/** From the login page of Culvert through those of the provider. */
async function logInThere(page: Page, person: string): Promise<void> {
  // The provider's pages name a font of the internet.
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.abort(),
  );
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await page.waitForURL(`${provider.issuer}/**`);
  await page.locator('input[name=login]').fill(person);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button').click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${gateway.url}/**`);
}

test('a person logs in at the provider, has the role of their groups, and logs out of both', { skip }, async (t) => {
  provider.people.set('frida', { groups: ['staff', 'finance'] });
  const page = await openPage(t, gateway, '/dashboard/usage?group_by=account', { login: null });
  await logInThere(page, 'frida');
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
  assert.match(page.url(), /\/dashboard\/usage\?group_by=account$/, 'where the link led');
  await settled(page);
  const places = page.getByRole('navigation', { name: 'Pages' }).first();
  await places.getByRole('link', { name: 'Plans' }).waitFor();
  assert.equal(await places.getByRole('link', { name: 'Requests' }).count(), 0, 'which billing may not see');

  await page.getByRole('button', { name: 'frida@example.org billing' }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.waitForURL(`${provider.issuer}/session/end**`);
  await page.getByRole('button', { name: /yes/i }).click();
  await page.getByRole('link', { name: 'Continue with Example' }).waitFor();
  assert.equal(page.url(), `${gateway.url}/dashboard`);
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await page.locator('input[name=login]').waitFor();
});

test('a login at the provider in another tab goes on with the page whose session had ended', { skip }, async (t) => {
  provider.people.set('olga', { groups: ['platform'] });
  const page = await openPage(t, gateway, '/dashboard/guards', { login: null });
  await logInThere(page, 'olga');
  await page.getByRole('button', { name: 'Add guard' }).first().click();
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('cards');
  await page.context().clearCookies({ name: /^culvert/ });
  await page.getByRole('button', { name: 'Add guard' }).last().click();
  const ended = page.getByRole('dialog', { name: 'Your session has ended' });
  const opened = page.context().waitForEvent('page');
  await ended.getByRole('link', { name: 'Continue with Example' }).click();
  const tab = await opened;
  await tab.getByRole('heading', { name: 'Guards', level: 1 }).waitFor();
  await tab.close();
  // A browser with a window says so when the first tab is seen again.
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
  await ended.waitFor({ state: 'detached' });
  assert.equal(await name.inputValue(), 'cards');
});

test('a person whom no group lets in is told so, and can log in as another', { skip }, async (t) => {
  provider.people.set('gast', { groups: ['guests'] });
  const page = await openPage(t, gateway, '/dashboard', { login: null });
  await logInThere(page, 'gast');
  await page.getByText('gast@example.org is in none of the groups that may use this dashboard.').waitFor();
  await shoot(page, 'openid-refused');
  await page.getByRole('link', { name: 'Log in as another person' }).click();
  await page.getByRole('button', { name: /yes/i }).click();
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  assert.deepEqual(
    (await page.context().cookies(gateway.url)).filter(({ name }) => name.startsWith('culvert')),
    [],
    'nobody is logged in',
  );
  provider.people.set('frida', { groups: ['finance'] });
  await logInThere(page, 'frida');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});
