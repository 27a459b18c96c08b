import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { loggedIn } from '../browser-login.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertFewClicks, countClicks } from './count-clicks.ts';
import { assertAccessible, assertLooksRight, changes, openPage, settled, shoot } from './open-page.ts';

const hooks = { after: after as never };
const skip = chromiumMissing;
const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(hooks, overUpstreams(upstream.url));
const admin = await loggedIn(gateway, { admin_key: adminKey });
const attack = '<img src=x onerror="document.title=1">';

async function made<Reply>(path: string, json: unknown, method = 'POST'): Promise<Reply> {
  const response = await admin.fetch(`/admin/v1${path}`, { json, method });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Reply;
}

const chat = (key: string) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  });

await made('/plans/team', { windows: { '5h': 20, week: 400 }, budget: { month: 25 }, rpm: 60 }, 'PUT');
await made('/accounts', { id: 'northwind', name: 'Northwind Traders', plan: 'team' });
await made('/accounts', { id: 'hostile', name: attack, plan: 'team' });
const { key, id: production } = await made<{ key: string; id: string }>('/keys', {
  account: 'northwind',
  name: 'production',
  limits: { budget: { month: 10 }, rpm: 600 },
});
for (let calls = 0; calls < 3; calls += 1) assert.equal((await chat(key)).status, 200);

test('an account is made with a plan and a key, whose secret is shown once and works', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Atlas');
  await page.getByRole('textbox', { name: 'Id' }).fill('northwind');
  await page.getByRole('combobox', { name: 'Plan' }).selectOption('team');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('alert').getByText("An account 'northwind' exists already.").waitFor();
  await page.getByRole('textbox', { name: 'Id' }).fill('not/an id');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText(/Expected 1 to 64 of letters/).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Id' }).getAttribute('aria-invalid'), 'true');
  await page.getByRole('textbox', { name: 'Id' }).fill('atlas');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Atlas' }).waitFor();

  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('It is shown only once').waitFor();
  await assertAccessible(page);
  const secret = await page.getByRole('dialog').locator('pre').innerText();
  assert.equal((await chat(secret)).status, 200);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('row', { name: /laptop/ }).waitFor();
  assert.ok(!(await page.content()).includes(secret));

  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('misspelt');
  await page.getByText('Limits of this key').click();
  await page.getByRole('textbox', { name: 'Models' }).fill('no-such-model');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('dialog').getByText("no model is called 'no-such-model'").waitFor();
});

test('a window is a gauge, with the instant at which its next unit is available again', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/accounts/northwind');
  const gauge = page.getByRole('meter', { name: 'Units in 5 hours' });
  await gauge.waitFor();
  assert.equal(await gauge.getAttribute('aria-valuenow'), '15');
  const window = page.getByRole('listitem').filter({ has: gauge });
  assert.match(await window.innerText(), /3 of 20[\s\S]*available again in (4|5) h, at /);
  await page.getByText('Cost by day and model').waitFor();
  await assertAccessible(page);
  await shoot(page, 'account-windows-desktop-light');
});

test('a key is rotated with a grace, then revoked', { skip }, async (t) => {
  const { key: old } = await made<{ key: string }>('/keys', { account: 'northwind', name: 'old laptop' });
  const page = await openPage(t, gateway, '/dashboard/keys?text=old');
  await page.getByRole('button', { name: 'Actions for old laptop' }).click();
  await page.getByRole('menuitem', { name: 'Rotate the secret' }).click();
  await page.getByRole('combobox', { name: 'Grace period' }).selectOption('1h');
  await page.getByRole('button', { name: 'Rotate', exact: true }).click();
  const secret = await page.getByRole('dialog').locator('pre').innerText();
  assert.notEqual(secret, old);
  for (const one of [old, secret]) assert.equal((await chat(one)).status, 200);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByText('rotating').waitFor();
  await page.getByRole('button', { name: 'Actions for old laptop' }).click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByRole('cell', { name: 'revoked' }).waitFor();
  for (const one of [old, secret]) assert.equal((await chat(one)).status, 401);
  await assertAccessible(page);
  await shoot(page, 'keys-made-desktop-light');
});

test("a key's budget is raised in four clicks, and what would stop it is said before", { skip }, async (t) => {
  const limits = { budget: { month: 0.5 }, rpm: 600 };
  const { id, key: own } = await made<{ id: string; key: string }>('/keys', {
    account: 'northwind',
    name: 'nightly',
    limits,
  });
  assert.equal((await chat(own)).status, 200);
  const page = await openPage(t, gateway, '/dashboard/keys?text=nightly');
  await settled(page);
  await countClicks(page);
  await page.getByRole('link', { name: /nightly/ }).click();
  await page.getByText('of $0.50').waitFor();
  await page.getByText(/^Last used ./).waitFor();
  await page.getByRole('table').getByRole('row', { name: /chat/ }).waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  const budget = page.getByRole('textbox', { name: 'Budget, USD in 30 days' });
  await budget.click();
  await budget.fill('0');
  await page.getByText('The key would be stopped at once.').waitFor();
  await assertAccessible(page);
  await budget.fill('24');
  await page.getByText('The key would be stopped at once.').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByText('of $24').waitFor();
  assertFewClicks(page);
  const shown = (await (await admin.fetch(`/admin/v1/keys/${id}`)).json()) as { limits: unknown };
  assert.deepEqual(shown.limits, { budget: { month: 24 }, rpm: 600 });
});

test('of two people who change a key the second one’s change leaves the first one’s as it is', { skip }, async (t) => {
  const limits = { budget: { '5h': 1, month: 5 }, rpm: 60 };
  const { id } = await made<{ id: string }>('/keys', { account: 'northwind', name: 'of two', limits });
  const page = await openPage(t, gateway, `/dashboard/keys/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('');
  await page.getByRole('textbox', { name: 'Name' }).fill('of both');
  await made(`/keys/${id}`, { limits: { budget: { month: 9 } }, models: ['chat'] }, 'PATCH');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Another person has changed this.').waitFor();
  assert.deepEqual((await changes(page)).toSorted(), [
    'budget {"5h":1,"month":9} unchanged',
    'models ["chat"] unchanged',
    'name unchanged of both',
    'rpm unchanged nothing',
  ]);
  await page.getByRole('button', { name: 'Keep my changes' }).click();
  await page.getByRole('textbox', { name: 'Expires' }).fill('yesterday');
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('alert')
    .getByText(/Expected a date such as/)
    .waitFor();
  await page.getByRole('textbox', { name: 'Expires' }).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'of both' }).waitFor();
  const shown = (await (await admin.fetch(`/admin/v1/keys/${id}`)).json()) as Record<string, unknown>;
  assert.deepEqual([shown.limits, shown.models], [{ budget: { '5h': 1, month: 9 } }, ['chat']]);
});

test('a key of the file says so, and nothing of it can be changed here', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/keys');
  const row = page.getByRole('row').filter({ hasText: 'file' }).first();
  await row.getByText('file', { exact: true }).waitFor();
  await row.getByRole('link').click();
  await page.getByText('This key is set in the configuration file').waitFor();
  assert.equal(await page.getByRole('button', { name: /Edit|Rotate|Revoke/ }).count(), 0);
});

test('an account gets an extra budget until a day in four clicks, and its page says so', { skip }, async (t) => {
  await made('/accounts', { id: 'short', name: 'Short of money', plan: 'team' });
  const page = await openPage(t, gateway, '/dashboard/accounts/short');
  await page.getByText('of $').first().waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Extra budget, USD' }).fill('50');
  await page.getByRole('textbox', { name: 'Until' }).fill('Friday');
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('alert')
    .getByText(/Expected a date such as/)
    .waitFor();
  await page.getByRole('textbox', { name: 'Until' }).fill('5d');
  await assertAccessible(page);
  await shoot(page, 'account-edit-desktop-light');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('$50.00 more until').waitFor();
  const { extra_budget: extra } = (await (await admin.fetch('/admin/v1/accounts/short')).json()) as {
    extra_budget: { usd: number };
  };
  assert.equal(extra.usd, 50);
});

test('an account is suspended and active again', { skip }, async (t) => {
  const { key: own } = await made<{ key: string }>('/keys', { account: 'hostile', name: 'k' });
  const page = await openPage(t, gateway, '/dashboard/accounts/hostile');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('button', { name: 'Suspend account' }).click();
  await page.getByRole('button', { name: 'Activate' }).click();
  assert.equal((await chat(own)).status, 403);
  await page.getByRole('button', { name: 'Activate account' }).click();
  await page.getByRole('button', { name: 'Suspend' }).waitFor();
  assert.equal((await chat(own)).status, 200);
  assert.equal(await page.locator('#page img').count(), 0, 'a name is text');
  assert.equal(await page.title(), `${attack} · Culvert`);
});

test('an account that another person has changed is suspended once that was seen', { skip }, async (t) => {
  await made('/accounts', { id: 'moved', name: 'Moved', plan: 'team' });
  const page = await openPage(t, gateway, '/dashboard/accounts/moved');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await made('/accounts/moved', { name: 'Moved meanwhile' }, 'PATCH');
  await page.getByRole('button', { name: 'Suspend account' }).click();
  await page.getByText('Another person has changed this, and nothing was done.').waitFor();
  await page.getByRole('dialog', { name: 'Suspend Moved meanwhile?' }).waitFor();
  await page.getByRole('button', { name: 'Suspend account' }).click();
  await page.getByRole('button', { name: 'Activate' }).waitFor();
});

test('names in Arabic begin at the left, and a key’s is apart from its prefix', { skip }, async (t) => {
  const name = 'شركة الأنهار';
  await made('/accounts', { id: 'rivers', name, plan: 'team' });
  await made('/keys', { account: 'rivers', name });
  const page = await openPage(t, gateway, '/dashboard/accounts/rivers');
  const row = page.getByRole('row').filter({ hasText: name });
  await row.waitFor();
  const placeOf = (text: Locator) =>
    text.evaluate((element) => {
      const range = element.ownerDocument.createRange();
      range.selectNodeContents(element);
      const { left, right } = range.getBoundingClientRect();
      return { left, right };
    });
  const [back, title] = [
    await placeOf(page.getByRole('link', { name: 'Accounts' }).last()),
    await placeOf(page.locator('h1')),
  ];
  assert.ok(title.left - back.right < 50, `${title.left} after ${back.right}`);
  const [ofKey, prefix] = [await placeOf(row.getByText(name)), await placeOf(row.getByText(/^sk-cv-/))];
  assert.ok(prefix.left - ofKey.right >= 4, `${prefix.left} after ${ofKey.right}`);
});

test('a plan says whom it would stop before it is saved, and what is wrong at its field', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/plans/team');
  const hours = page.getByRole('textbox', { name: 'Units in 5 hours' });
  await page.getByText(/Nobody would be stopped/).waitFor();
  await hours.fill('2');
  await page.getByText('stopped at once').waitFor();
  await page.getByRole('link', { name: 'northwind' }).waitFor();
  await assertAccessible(page);
  await shoot(page, 'plan-preview-desktop-light');
  await hours.fill('500');
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('alert')
    .getByText(/a shorter window cannot allow more/)
    .waitFor();
  assert.equal(await hours.getAttribute('aria-invalid'), 'true');
  await hours.fill('30');
  await page.getByRole('textbox', { name: 'Units in 7 days' }).fill('1,400');
  await page.getByRole('textbox', { name: 'Budget, USD in 30 days' }).fill('22,5');
  const zone = page.getByRole('combobox', { name: 'Time zone' });
  assert.equal(await zone.inputValue(), 'UTC', 'the zone of this browser');
  await page.getByRole('textbox', { name: 'Budget by calendar, USD per day' }).fill('0');
  await page.getByText('Budget per day (UTC): $0 used of $0').first().waitFor();
  await page.getByRole('textbox', { name: 'Budget by calendar, USD per day' }).fill('');
  await page.getByRole('textbox', { name: 'Budget by calendar, USD per month' }).fill('20');
  await zone.fill('Europe/Berln');
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('alert')
    .getByText(/Expected a time zone/)
    .waitFor();
  await zone.fill('Europe/Berlin');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const { definition } = (await (await admin.fetch('/admin/v1/plans/team')).json()) as { definition: unknown };
  assert.deepEqual(definition, {
    windows: { '5h': 30, week: 1_400 },
    budget: { month: 22.5 },
    calendar_budget: { time_zone: 'Europe/Berlin', month: 20 },
    rpm: 60,
    storage: 10 * 1024 ** 3,
    scope: 'account',
  });
});

test('of two people who change an account the second one’s change leaves the first one’s as it is', {
  skip,
}, async (t) => {
  await made('/accounts', { id: 'shared', name: 'Shared', plan: 'team' });
  const page = await openPage(t, gateway, '/dashboard/accounts/shared');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Renamed');
  await made('/accounts/shared', { plan: 'default' }, 'PATCH');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Another person has changed this.').waitFor();
  assert.deepEqual(await changes(page), ['name unchanged Renamed', 'plan default unchanged']);
  await assertAccessible(page);
  await shoot(page, 'account-changed-desktop-light');
  await page.getByRole('button', { name: 'Keep my changes' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Renamed' }).waitFor();
  const { name, plan } = (await (await admin.fetch('/admin/v1/accounts/shared')).json()) as Record<string, unknown>;
  assert.deepEqual([name, plan], ['Renamed', 'default']);
});

test('of two people who change a plan the second is told what the first one made of it', { skip }, async (t) => {
  await made('/plans/shared', { windows: { '5h': 10 }, rpm: 5 }, 'PUT');
  const page = await openPage(t, gateway, '/dashboard/plans/shared');
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('9');
  await made('/plans/shared', { windows: { '5h': 77 }, rpm: 5 }, 'PUT');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Another person has changed this.').waitFor();
  assert.deepEqual(await changes(page), ['windows {"5h":77} unchanged', 'rpm unchanged 9']);
  await assertAccessible(page);
  await shoot(page, 'plan-changed-desktop-light');
  await page.getByRole('button', { name: 'Keep my changes' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Units in 5 hours' }).inputValue(), '77');
  assert.equal(await page.getByRole('textbox', { name: 'Requests per minute' }).inputValue(), '9');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
});

for (const [name, path, wait] of [
  ['accounts', '/dashboard/accounts', 'Northwind Traders'],
  ['account', '/dashboard/accounts/northwind', 'Cost by day and model'],
  ['keys', '/dashboard/keys', 'production'],
  ['key', `/dashboard/keys/${production}`, 'Last used'],
  ['plans', '/dashboard/plans', 'team'],
  ['plan', '/dashboard/plans/team', 'Nobody would be stopped'],
] as const) {
  test(`${name} can be used on every screen`, { skip }, async (t) => {
    const page = await openPage(t, gateway, path);
    await page.locator('#page').getByText(wait).first().waitFor();
    await assertLooksRight(page, `${name}-set-up`);
  });
}

test('a key of the configuration is blocked, and works again once that is lifted', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/keys?text=dev');
  const act = async (item: string, action: string) => {
    await page.getByRole('button', { name: 'Actions for test' }).first().click();
    await page.getByRole('menuitem', { name: item }).click();
    await page.getByRole('dialog').getByRole('button', { name: action }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const isBlocked = async () => (await chat(gateway.key)).status === 401;
  await act('Block', 'Block');
  await page.getByText('The key test was blocked.').waitFor();
  assert.ok(await isBlocked());
  await assertAccessible(page);
  await act('Lift the block', 'Lift the block');
  await page.getByText('The key test works again.').waitFor();
  assert.ok(!(await isBlocked()));
});
