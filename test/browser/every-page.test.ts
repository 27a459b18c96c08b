import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { axeFindings, inPage, type Scheme, type Size, screenshot, settled } from './open-browser.ts';
import { openSeeded } from './open-seeded.ts';
import type { SeededGateway } from './seeded-gateway.ts';

/** Every page by the name of its pictures; a path, or one that is made of what the gateway has. */
const pages: Record<string, string | ((gateway: SeededGateway) => Promise<string>)> = {
  overview: '/dashboard?range=7d',
  requests: '/dashboard/requests',
  'requests-none': '/dashboard/requests?account=nobody',
  request: async (gateway) => `/dashboard/requests/${await retriedRequest(gateway)}`,
  usage: '/dashboard/usage?group_by=model&from=7d',
  'usage-by-day': '/dashboard/usage',
  providers: '/dashboard/providers',
  provider: '/dashboard/providers/claude',
  models: '/dashboard/models',
  model: '/dashboard/models/smart',
  welcome: '/dashboard/welcome',
  tools: '/dashboard/tools',
  'tools-search': '/dashboard/tools?tool=search',
  'tools-map': '/dashboard/tools?tool=map',
  reference: '/dashboard/reference',
  'reference-operation': '/dashboard/reference?operation=POST+/admin/v1/keys',
  'tools-crawls': '/dashboard/tools?tool=crawls',
  settings: '/dashboard/settings',
  'settings-check': '/dashboard/settings?tab=check',
  'settings-doctor': '/dashboard/settings?tab=doctor',
  'settings-operators': '/dashboard/settings?tab=operators',
  'settings-sessions': '/dashboard/settings?tab=sessions',
  'settings-audit': '/dashboard/settings?tab=audit',
};

const { gateway, browser } = await openSeeded({ after: after as never }, { days: 14, perDay: 120 });
if (chromiumMissing === false) {
  for (const [name, role] of [
    ['Lena Brandt', 'admin'],
    ['Finance', 'billing'],
  ]) {
    await gateway.admin('/operators', {
      method: 'POST',
      body: { name, role, accounts: role === 'admin' ? ['atlas'] : null },
    });
  }
}

suite('every page', { skip: chromiumMissing }, () => {
  for (const size of ['desktop', 'phone'] as const satisfies readonly Size[]) {
    for (const scheme of ['light', 'dark'] as const satisfies readonly Scheme[]) {
      test(`fits a ${size} in ${scheme}, can be used by everybody, and runs without an error`, async () => {
        const { page, context, faults } = await browser.open({ size, scheme });
        for (const [name, path] of Object.entries(pages)) {
          await page.goto(typeof path === 'string' ? path : await path(gateway));
          await settled(page);
          await screenshot(page, `${name}-${size}-${scheme}`);
          // Colours differ by scheme, order and labels by size: two of the four are enough for both.
          if ((size === 'desktop') === (scheme === 'light')) {
            assert.deepEqual(await axeFindings(page), [], `${name}: axe`);
          }
          const wide = await inPage(page, 'document.documentElement.scrollWidth - innerWidth');
          assert.equal(wide, 0, `${name}: nothing is wider than the window`);
        }
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  }

  test('the login page too', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { page, context } = await browser.open({ size: 'phone', scheme, as: 'nobody' });
      await page.goto('/dashboard');
      await page.getByRole('button', { name: 'Log in' }).waitFor();
      await screenshot(page, `login-phone-${scheme}`);
      assert.deepEqual(await axeFindings(page), []);
      await context.close();
    }
  });
});

/** One that another provider answered than the first that was asked. */
async function retriedRequest(gateway: SeededGateway): Promise<string> {
  const answer = await gateway.admin('/requests?class=ok&limit=1000');
  const { data } = (await answer.json()) as { data: { id: string; route: { attempts: unknown[] } }[] };
  return data.find(({ route }) => route.attempts.length > 1)!.id;
}
