import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertAccessible, assertLooksRight, openPage, shoot } from './open-page.ts';

const hooks = { after: after as never };
const skip = chromiumMissing;
const upstream = await startUpstream();
after(() => upstream.close());
const { providers, models } = overUpstreams(upstream.url) as { providers: object; models: object };
const gateway = await startGateway(hooks, {
  providers,
  models: { ...models, secretive: { targets: ['up1/mock-secretive'] } },
  plans: {
    small: {
      windows: { '5h': 10 },
      rpm: 30,
      models: ['chat'],
      budget: { month: 100 },
      soft: { budget: { month: 80 }, tokens: { week: 1_000 } },
    },
    default: { windows: 'off', rpm: 'off' },
  },
  accounts: { dev: { plan: 'small' } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'rivals', name: 'rivals-key' },
  ],
});
const login = { key: testKey };
const chat = (key: string, model: string) =>
  gateway.fetch('/v1/chat/completions', {
    headers: { authorization: `Bearer ${key}` },
    json: { model, messages: [{ role: 'user', content: 'Hello' }] },
  });
for (let calls = 0; calls < 4; calls += 1) assert.equal((await chat(testKey, 'chat')).status, 200);
assert.equal((await chat(otherKey, 'secretive')).status, 200);

test('the holder of a key sees its windows and what its account used', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/account', { login });
  const gauge = page.getByRole('meter', { name: 'Units in 5 hours' });
  await gauge.waitFor();
  assert.equal(await gauge.getAttribute('aria-valuenow'), '40');
  await page.getByText(/belongs to the account dev, which has the plan small/).waitFor();
  await page.getByRole('cell', { name: 'chat', exact: true }).waitFor();
  await assertAccessible(page);
  await shoot(page, 'own-desktop-light');
  // Requests that need no model have a row, too.
  assert.equal((await gateway.fetch('/v1/vectors/collections')).status, 200);
  await page.reload();
  await page.getByRole('cell', { name: '–', exact: true }).first().waitFor();
});

test('the page of a key shows the credit of its account, and a limit that allows nothing', { skip }, async (t) => {
  const admin = { authorization: `Bearer ${adminKey}` };
  await gateway.fetch('/admin/v1/accounts', { headers: admin, json: { id: 'prepaid', plan: 'small' } });
  await gateway.fetch('/admin/v1/accounts/prepaid/credit', { headers: admin, json: { usd: 20, id: 'first' } });
  const limits = { windows: { '5h': 0 } };
  const json = { account: 'prepaid', name: 'paying', limits };
  const { key } = (await (await gateway.fetch('/admin/v1/keys', { headers: admin, json })).json()) as { key: string };
  const page = await openPage(t, gateway, '/account', { login: { key } });
  await page.getByText('Credit: $20.00 left of $20.00 that were added').waitFor();
  await page.getByText('It allows nothing.').waitFor();
  await page.goto('/account/requests?class=timeout');
  await page.getByText('There are no requests.').waitFor();
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'any');
  await page.getByLabel('Outcome').selectOption('failed');
  await page.getByText('No request has this outcome.').waitFor();
});

test('a soft limit is a mark on its bar, with its amount, on the page of its caller and of the key', {
  skip,
}, async (t) => {
  const admin = { authorization: `Bearer ${adminKey}` };
  const limits = { budget: { month: 10 }, soft: { budget: { month: 5 }, tokens: { '5h': 3 } } };
  const made = await gateway.fetch('/admin/v1/keys', {
    headers: admin,
    json: { account: 'dev', name: 'soft', limits },
  });
  const { id, key } = (await made.json()) as { id: string; key: string };
  assert.equal((await chat(key, 'chat')).status, 200);
  for (const path of ['/account', `/dashboard/keys/${id}`]) {
    const page = await openPage(t, gateway, path, path === '/account' ? { login: { key } } : {});
    const section = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Limits of this key' }) });
    const budget = section.getByRole('meter', { name: 'Budget in 30 days' });
    await budget.waitFor();
    assert.equal(await budget.getAttribute('aria-valuetext'), '$0 of $10.00, warns at $5.00');
    await section.getByText('Warns at $5.00.', { exact: true }).waitFor();
    const mark = section.getByRole('listitem').filter({ hasText: 'Budget in 30 days' }).locator('[data-mark]');
    const [place, bar] = [(await mark.boundingBox())!, (await budget.boundingBox())!];
    assert.ok(Math.abs(place.x + place.width / 2 - (bar.x + bar.width / 2)) < 1.5, 'the mark is half way');
    // Without a limit of the window: the amount that warns is passed, and nothing is full.
    await section.getByText('Warns at 3, refuses nothing.', { exact: true }).waitFor();
    const tokens = section.getByRole('meter', { name: 'Tokens in 5 hours' });
    assert.equal(await tokens.getAttribute('aria-valuenow'), '80');
    await page.getByText('Warns at $80.00.', { exact: true }).waitFor();
    await assertLooksRight(page, path === '/account' ? 'soft-own' : 'soft-key');
  }
});

test('nothing of another account is shown, or asked for', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/account', { login });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  for (const path of ['/account', '/account/requests', '/account/models', '/account/connect', '/account/playground']) {
    await page.goto(path);
    await page.waitForLoadState('networkidle');
    const text = await page.locator('body').innerText();
    assert.ok(!/rivals|secretive/.test(text), path);
  }
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/admin')),
    [],
  );
  // The dashboard sends whoever holds a key back to the own pages.
  await page.goto(`/dashboard/accounts`);
  await page.waitForURL('**/account');
  const refused = await page.evaluate<number>("fetch('/admin/v1/accounts').then(({ status }) => status)");
  assert.equal(refused, 403);
});

test('the models that the key may use are listed, and found by name', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/account/models', { login });
  await page.getByRole('cell', { name: 'chat', exact: true }).first().waitFor();
  await page.getByRole('searchbox', { name: 'Find a model' }).fill('nothing like that');
  await page.getByText('No model matches.').waitFor();
  await assertAccessible(page);
});

test('each client has a text to paste, with this address and a model of the key, without a secret', {
  skip,
}, async (t) => {
  const page = await openPage(t, gateway, '/account/connect', { login });
  for (const [client, holds] of [
    ['curl', `curl ${gateway.url}/v1/chat/completions`],
    ['Python', `base_url="${gateway.url}/v1"`],
    ['TypeScript', `baseURL: '${gateway.url}/v1'`],
    ['Claude Code', `ANTHROPIC_BASE_URL=${gateway.url}\n`],
    ['Codex', `base_url = "${gateway.url}/v1"`],
    ['opencode', `"baseURL": "${gateway.url}/v1"`],
  ] as const) {
    await page.getByRole('tab', { name: client }).click();
    await page.getByRole('tabpanel').getByText('chat').first().waitFor();
    const text = (await page.getByRole('tabpanel').locator('pre').allInnerTexts()).join('\n');
    assert.ok(text.includes(holds), client);
    assert.ok(!text.includes(testKey), client);
    await assertAccessible(page);
  }
  await shoot(page, 'connect-desktop-light');
});

test('a key that is revoked meanwhile asks for another login, and keeps the page', { skip }, async (t) => {
  const mortal = await startGateway(t, { ...overUpstreams(upstream.url) });
  const page = await openPage(t, mortal, '/account', { login });
  await page.getByText(/belongs to the account dev/).waitFor();
  await mortal.reload({ ...overUpstreams(upstream.url), keys: [{ key: otherKey, account: 'other', name: 'test' }] });
  // The page asks anew by itself, too: then the dialog is there first, and in the way of a pointer.
  await page.getByRole('link', { name: 'Models' }).first().dispatchEvent('click');
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
});

for (const [name, path, wait] of [
  ['own', '/account', 'Units in 5 hours'],
  ['own-models', '/account/models', 'chat'],
  ['connect', '/account/connect', 'Send a request'],
] as const) {
  test(`${name} can be used on every screen`, { skip }, async (t) => {
    const page = await openPage(t, gateway, path, { login });
    await page.locator('#page').getByText(wait).first().waitFor();
    await assertLooksRight(page, name);
  });
}

test('the holder of a key sees its requests, and why one was refused', { skip }, async (t) => {
  assert.equal((await chat(testKey, 'secretive')).status, 403);
  const page = await openPage(t, gateway, '/account', { login });
  await page.getByRole('link', { name: 'Requests' }).click();
  await page
    .getByRole('row', { name: /403.*secretive/ })
    .getByText(/may not use|not allow|plan/)
    .waitFor();
  await assertLooksRight(page, 'own-requests');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByLabel('Outcome').selectOption('ok');
  await page.getByRole('row', { name: /secretive/ }).waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /200/ }).first().waitFor();
});
