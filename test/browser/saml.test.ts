import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { startSamlProvider } from '../start-saml-provider.ts';
import { openPage, settled, shoot } from './open-page.ts';

const skip = chromiumMissing;
const provider = await startSamlProvider();
after(() => provider.close());
const gateway = await startGateway({ after: after as never });
await gateway.reload({
  server: { public_url: gateway.url },
  dashboard: {
    saml: provider.settings([
      { group: 'finance', role: 'billing' },
      { group: 'platform', role: 'owner' },
    ]),
  },
});
await provider.register(gateway.url);

/** From the login page of Culvert through that of the provider, whose last page posts itself. */
async function logInThere(page: Page, person: string): Promise<void> {
  await page.locator('input[name=login]').fill(person);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${gateway.url}/**`);
}

test('a person logs in at the identity provider, has the role of their groups, and logs out', { skip }, async (t) => {
  provider.people.set('frida', { groups: ['staff', 'finance'], email: 'frida@example.org' });
  const page = await openPage(t, gateway, '/dashboard/usage?group_by=account', { login: null });
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await page.waitForURL(`${provider.url}/sso**`);
  await logInThere(page, 'frida');
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
  assert.match(page.url(), /\/dashboard\/usage\?group_by=account$/, 'where the link led');
  await settled(page);
  const places = page.getByRole('navigation', { name: 'Pages' }).first();
  await places.getByRole('link', { name: 'Plans' }).waitFor();
  assert.equal(await places.getByRole('link', { name: 'Requests' }).count(), 0, 'which billing may not see');

  await page.getByRole('button', { name: 'frida@example.org billing' }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.getByRole('link', { name: 'Continue with Example' }).waitFor();
  assert.equal(page.url(), `${gateway.url}/dashboard`);
});

test('a person whom no group lets in is told so, and can log in as another', { skip }, async (t) => {
  provider.people.set('gast', { groups: ['guests'], email: 'gast@example.org' });
  provider.people.set('paula', { groups: ['platform'], email: 'paula@example.org' });
  const page = await openPage(t, gateway, '/dashboard', { login: null });
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await logInThere(page, 'gast');
  await page.getByText('gast@example.org is in none of the groups that may use this dashboard.').waitFor();
  await shoot(page, 'saml-refused');
  await page.getByRole('link', { name: 'Log in as another person' }).click();
  await logInThere(page, 'paula');
  await page.getByRole('button', { name: 'paula@example.org owner' }).waitFor();
  await page.goto(`${gateway.url}/dashboard/settings?tab=sessions`);
  await page.getByRole('cell', { name: 'SAML' }).first().waitFor();
});
