import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { assertLooksRight, followTo, openPage } from './open-page.ts';
import { type SeededGateway, startSeededGateway } from './seeded-gateway.ts';

/** Every page by the name of its pictures; a path, or one that is made from the gateway's contents. */
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
  'mcp-servers-none': '/dashboard/mcp-servers',
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
  'settings-backup': '/dashboard/settings?tab=backup',
};

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 14, perDay: 120 });
if (!skip) {
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

test('every page fits every screen, can be used by everybody, and runs without an error', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/nowhere', { refusals: 'faults' });
  for (const [name, path] of Object.entries(pages)) {
    await t.test(name, async () => {
      await followTo(page, typeof path === 'string' ? path : await path(gateway));
      await assertLooksRight(page, name);
    });
  }
});

test('login fits every screen, and can be used by everybody', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard', { login: null, refusals: 'faults' });
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await assertLooksRight(page, 'login');
});

/** One that another provider answered than the first that was asked. */
async function retriedRequest(gateway: SeededGateway): Promise<string> {
  const answer = await gateway.admin('/requests?class=ok&limit=1000');
  const { data } = (await answer.json()) as { data: { id: string; route: { attempts: unknown[] } }[] };
  return data.find(({ route }) => route.attempts.length > 1)!.id;
}
