import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { assertLooksRight, assertTablesFit, followTo, openPage, settled } from './open-page.ts';
import { type SeededGateway, startSeededGateway } from './seeded-gateway.ts';

/** Every page by the name of its pictures; a path, or one that is made from the gateway's contents. */
const pages: Record<string, string | ((gateway: SeededGateway) => Promise<string>)> = {
  overview: '/dashboard?range=7d',
  requests: '/dashboard/requests',
  'requests-none': '/dashboard/requests?model=nobody',
  request: async (gateway) => `/dashboard/requests/${await retriedRequest(gateway)}`,
  bodies: '/dashboard/bodies',
  sessions: '/dashboard/sessions',
  'sessions-none': '/dashboard/sessions?account=nobody',
  session: '/dashboard/session?session=refactoring-the-billing-service-0',
  'session-none': '/dashboard/session?session=nobodys',
  usage: '/dashboard/usage?group_by=model&range=7d',
  'usage-by-day': '/dashboard/usage',
  statements: '/dashboard/statements?zone=UTC',
  providers: '/dashboard/providers',
  provider: '/dashboard/providers/claude',
  models: '/dashboard/models',
  model: '/dashboard/models/smart',
  jobs: '/dashboard/jobs',
  'jobs-files': '/dashboard/jobs?view=files',
  'jobs-videos': '/dashboard/jobs?view=videos',
  'mcp-servers-none': '/dashboard/mcp-servers',
  'mcp-calls-none': '/dashboard/mcp-calls',
  'agents-none': '/dashboard/agents',
  cache: '/dashboard/cache',
  replicas: '/dashboard/replicas',
  guards: '/dashboard/guards',
  guard: '/dashboard/guards/pii',
  rules: '/dashboard/routes',
  rule: '/dashboard/routes/free-and-long',
  prompts: '/dashboard/prompts',
  prompt: '/dashboard/prompts/reply',
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
  'settings-alerts': '/dashboard/settings?tab=alerts',
  'settings-operators': '/dashboard/settings?tab=operators',
  'settings-sessions': '/dashboard/settings?tab=sessions',
  'settings-audit': '/dashboard/settings?tab=audit',
  'settings-backup': '/dashboard/settings?tab=backup',
};

const lists = [
  'requests',
  'usage',
  'providers',
  'models',
  'mcp-servers',
  'agents',
  'prompts',
  'guards',
  'routes',
  'accounts',
  'keys',
  'plans',
  'replicas',
  'sessions',
];

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

test('tables fit windows of any width', { skip }, async (t) => {
  const server = { name: 'tickets', url: 'https://tickets.example.org/a/long/path/to/its/mcp' };
  await gateway.admin('/mcp-servers', { method: 'POST', body: server });
  await gateway.admin('/agents', { method: 'POST', body: { ...server, name: 'planner' } });
  const page = await openPage(t, gateway, '/dashboard/requests');
  for (const path of [...lists.map((name) => `/dashboard/${name}`), '/dashboard/settings?tab=audit']) {
    await followTo(page, path);
    await page.locator('main table').first().waitFor();
    for (const width of [360, 640, 768, 940, 1024, 1160, 1280, 1510, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await settled(page);
      await assertTablesFit(page, `${path} at ${width} px`);
    }
  }
});

test('a fact that can be copied stands on the line of its name', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/models/smart');
  const boxOf = async (text: string) => (await page.locator('dl').getByText(text, { exact: true }).boundingBox())!;
  const [name, fact] = [await boxOf('Name'), await boxOf('smart')];
  assert.ok(name.height <= 20, 'one line of text, and no higher row');
  assert.ok(Math.abs(name.y + name.height / 2 - fact.y - fact.height / 2) < 2);
});

test('a chart of days names each day once', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard');
  await page.addInitScript(`{
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      (this.canvas.said ??= new Set()).add(text + ' at ' + Math.round(rest[0]));
      return fillText.call(this, text, ...rest);
    };
  }`);
  await page.goto('/dashboard/usage?group_by=model&range=7d');
  await settled(page);
  await page.locator('canvas').waitFor();
  const said = await page.locator('canvas').evaluate((canvas) => [...(canvas as never as { said: string[] }).said]);
  const days = said.map((label) => label.split(' at ')[0]!).filter((label) => /^\d+ \w{3}$/.test(label));
  assert.ok(days.length > 5, said.join());
  assert.deepEqual(days, [...new Set(days)]);
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
