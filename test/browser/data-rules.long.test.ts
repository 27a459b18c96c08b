import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loggedIn } from '../browser-login.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { assertAccessible, openPage } from './open-page.ts';

/** Data rules in the forms of accounts, keys and plans. */
const skip = chromiumMissing;
const gateway = await startGateway({ after: after as never });
const admin = await loggedIn(gateway, { admin_key: adminKey });

async function call(path: string, json: unknown, method = 'POST'): Promise<Record<string, unknown>> {
  const response = await admin.fetch(`/admin/v1${path}`, { json, method });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Record<string, unknown>;
}

async function read(path: string): Promise<Record<string, unknown>> {
  return (await (await admin.fetch(`/admin/v1${path}`)).json()) as Record<string, unknown>;
}

await call('/plans/team', { rpm: 60, mcp: ['tickets'], agents: ['planner'], data: { regions: ['eu'] } }, 'PUT');
await call('/accounts', { id: 'northwind', plan: 'team' });

test('an account is made with a data rule, which its page shows and its form changes', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByRole('textbox', { name: 'Id' }).fill('berlin');
  await page.getByRole('textbox', { name: 'Data regions' }).fill('The moon');
  await page.getByRole('checkbox', { name: 'No training on requests' }).check();
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText(/expected a region in small letters/).waitFor();
  await page.getByRole('textbox', { name: 'Data regions' }).fill('eu, us-east-1');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('regions eu, us-east-1; no training').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Data regions' }).fill('');
  await page.getByRole('checkbox', { name: 'Zero retention' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('no training; zero retention').waitFor();
  assert.deepEqual((await read('/accounts/berlin')).data, { no_training: true, zero_retention: true });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('checkbox', { name: 'Zero retention' }).uncheck();
  await page.getByRole('checkbox', { name: 'No training on requests' }).uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Data no training/).waitFor({ state: 'detached' });
  assert.equal((await read('/accounts/berlin')).data, null);
});

test('a key is made with a data rule, and its form changes it', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/accounts/northwind');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
  await page.getByText('Limits of this key').click();
  await page.getByRole('textbox', { name: 'Data regions' }).fill('eu-west-1');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('It is shown only once').waitFor();
  const { data: keys } = (await read('/keys?account=northwind')) as { data: { id: string; limits: object }[] };
  const rule = { regions: ['eu-west-1'], no_training: false, zero_retention: false };
  assert.deepEqual(keys[0]?.limits, { data: rule });
  await page.goto(`${gateway.url}/dashboard/keys/${keys[0]?.id}`);
  await page.getByText('regions eu-west-1').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Data regions' }).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('wherever its account and plan allow').waitFor();
  assert.equal((await read(`/keys/${keys[0]?.id}`)).limits, null);
});

test('the form of a plan changes its data rule, and keeps what it has no field for', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/plans/team');
  assert.equal(await page.getByRole('textbox', { name: 'Data regions' }).inputValue(), 'eu');
  await page.getByRole('checkbox', { name: 'Zero retention' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const { definition } = (await read('/plans/team')) as { definition: Record<string, unknown> };
  assert.deepEqual(definition.data, { regions: ['eu'], no_training: false, zero_retention: true });
  assert.deepEqual([definition.mcp, definition.agents], [['tickets'], ['planner']]);
});
