import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loggedIn } from '../browser-login.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { assertFewClicks, countClicks } from './count-clicks.ts';
import { assertAccessible, assertLooksRight, followTo, openPage, settled, shoot } from './open-page.ts';

const skip = chromiumMissing;
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'x' } },
    models: { smart: { targets: ['up/large'] } },
  },
);
const admin = await loggedIn(gateway, { admin_key: adminKey });
await admin.fetch('/admin/v1/accounts', { json: { id: 'atlas', name: 'Atlas' } });

test('a viewer is invited in at most four clicks, and the link lets one person in', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/settings?tab=operators');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gateway.url });
  await settled(page);
  await countClicks(page);
  for (const name of ['Invite', 'Create link', 'Copy link'])
    await page.getByRole('button', { name, exact: true }).click();
  assertFewClicks(page);
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const link = String(await page.evaluate('navigator.clipboard.readText()'));
  assert.ok(link.startsWith(`${gateway.url}/dashboard#invitation=`));
  await assertAccessible(page);
  await shoot(page, 'invitation-link');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('is invited by admin as viewer of all accounts').waitFor();

  const guest = await openPage(t, gateway, link.slice(gateway.url.length), { login: null });
  await guest.getByText('admin invites you to join as').waitFor();
  assert.equal(new URL(guest.url()).hash, '', 'the link leaves the address bar');
  await assertAccessible(guest);
  await assertLooksRight(guest, 'invitation');
  await guest.getByLabel('Your name').fill('admin');
  await guest.getByRole('button', { name: 'Accept' }).click();
  await guest.getByRole('alert').waitFor();
  await guest.getByLabel('Your name').fill('Vera');
  await guest.getByRole('button', { name: 'Accept' }).click();
  const key = await guest.locator('pre').innerText();
  assert.match(key, /^sk-cv-op-/);
  await guest.getByRole('button', { name: /Open the dashboard/ }).click();
  await guest.getByRole('heading', { name: 'Overview' }).waitFor();
  const session = await loggedIn(gateway, { admin_key: key });
  assert.deepEqual([session.session.name, session.session.role], ['Vera', 'viewer']);

  const late = await openPage(t, gateway, link.slice(gateway.url.length), { login: null });
  await late.getByText('This invitation was used or withdrawn').waitFor();
  await late.getByRole('button', { name: 'Continue to the login' }).click();
  await late.getByLabel('Admin key').last().waitFor();
});

test('the page of an account has its members: an admin of it invites and removes them', { skip }, async (t) => {
  const order = { name: 'Ada', role: 'admin', accounts: ['atlas'] };
  const { key } = (await (await admin.fetch('/admin/v1/operators', { json: order })).json()) as { key: string };
  await admin.fetch('/admin/v1/operators', { json: { name: 'Mia', role: 'member', accounts: ['atlas'] } });
  const page = await openPage(t, gateway, '/dashboard/accounts/atlas', { login: { admin_key: key } });
  await page.getByRole('cell', { name: 'Mia' }).waitFor();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('button', { name: 'Remove atlas' }).waitFor();
  await page.getByLabel('Role').selectOption('owner');
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByText('may not give the role owner').waitFor();
  await page.getByLabel('Role').selectOption('member');
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByText('Send this link to one person').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('is invited by Ada as member of atlas').waitFor();
  await assertAccessible(page);
  await assertLooksRight(page, 'members');
  await page.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('is invited by Ada').waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /Mia/ }).getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('cell', { name: 'Mia' }).waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: 'Ada' }).waitFor();
});

test('an invitation that another person has withdrawn leaves the list, and the page says why', { skip }, async (t) => {
  const order = { role: 'viewer', accounts: ['atlas'], email: 'late@example.org' };
  const { id } = (await (await admin.fetch('/admin/v1/invitations', { json: order })).json()) as { id: string };
  const page = await openPage(t, gateway, '/dashboard/settings?tab=operators');
  const line = page.getByRole('listitem').filter({ hasText: 'late@example.org' });
  await line.waitFor();
  await admin.fetch(`/admin/v1/invitations/${id}`, { method: 'DELETE' });
  await line.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText(`There is no invitation '${id}'.`).waitFor();
  await line.waitFor({ state: 'detached' });
});

test('a member makes a key of its account, and has no settings', { skip }, async (t) => {
  const order = { name: 'Max', role: 'member', accounts: ['atlas'] };
  const { key } = (await (await admin.fetch('/admin/v1/operators', { json: order })).json()) as { key: string };
  const page = await openPage(t, gateway, '/dashboard/accounts/atlas', { login: { admin_key: key } });
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('It is shown only once').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Invite' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Suspend' }).count(), 0);
  await page.goto('/dashboard');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await settled(page);
  assert.equal(await page.locator('a[href*="/dashboard/providers"]').count(), 0, 'pages that it may not see');
});

test('an admin of some accounts is offered nothing that only operators of all accounts do', { skip }, async (t) => {
  const order = { name: 'Some', role: 'admin', accounts: ['atlas'] };
  const { key } = (await (await admin.fetch('/admin/v1/operators', { json: order })).json()) as { key: string };
  for (const [path, offered] of [
    ['/dashboard/accounts', 'New account'],
    ['/dashboard/statements', 'Close the month'],
  ] as const) {
    for (const [login, count] of [
      [adminKey, 1],
      [key, 0],
    ] as const) {
      const page = await openPage(t, gateway, path, { login: { admin_key: login } });
      await settled(page);
      assert.equal(await page.getByRole('button', { name: offered }).count(), count, `${offered}, ${login}`);
    }
  }
});

for (const role of ['admin', 'member', 'viewer', 'billing']) {
  test(`no page that an operator of some accounts with the role ${role} is led to asks for what is refused`, {
    skip,
  }, async (t) => {
    const order = { name: `Some ${role}`, role, accounts: ['atlas'] };
    const { key } = (await (await admin.fetch('/admin/v1/operators', { json: order })).json()) as { key: string };
    const page = await openPage(t, gateway, '/dashboard', { login: { admin_key: key }, refusals: 'faults' });
    await settled(page);
    const links = page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link');
    const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    assert.ok(paths.length > 8, paths.join());
    for (const path of [...paths, '/dashboard/accounts/atlas', '/dashboard/models/smart']) {
      await followTo(page, path);
      await settled(page);
      assert.equal(await page.getByRole('alert').count(), 0, path);
    }
  });
}

test('the first plan says, before it is saved, what it does to accounts without a plan', { skip }, async (t) => {
  const server = await startGateway(t, { plans: {} });
  const page = await openPage(t, server, '/dashboard/plans/pro');
  const note = page.getByText('This is the first plan.');
  await note.waitFor();
  await assertAccessible(page);
  await page.goto('/dashboard/accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByLabel('Plan', { exact: true }).last().selectOption({ label: 'A new plan' });
  await note.waitFor();
  await page.goto('/dashboard/plans/pro');
  await note.waitFor();
  await page.getByRole('button', { name: 'Create plan' }).click();
  await page.getByRole('button', { name: 'Remove' }).waitFor();
  await page.goto('/dashboard/plans/second');
  await page.getByText('Save to create it.').waitFor();
  await settled(page);
  assert.equal(await note.count(), 0);
});
