import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { chromiumMissing } from '../chromium.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { openPage, settled } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 0, requests: 2 });

suite('the settings', { skip }, () => {
  test('show the configuration in force, found by name, and no secret', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings');
    await settled(page);
    assert.doesNotMatch(await page.locator('main').innerText(), /upstream-secret|sk-cv-/);
    await page.getByLabel('Find by name or value').fill('session_idle');
    await page.waitForURL(/text=session_idle/);
    assert.deepEqual(await page.locator('dt').allInnerTexts(), ['dashboard.session_idle']);
    assert.deepEqual(await page.locator('dd').allInnerTexts(), ['12h'], 'as the file writes it');
    await page.getByRole('button', { name: 'Not the default' }).click();
    await page.getByText('No setting matches.').waitFor();
    await page.getByLabel('Find by name or value').fill('base_url');
    await page.getByText('providers.claude.base_url').waitFor();
    assert.match((await page.locator('dd').allInnerTexts()).join(), /^http\S+\s+set/);
    await page.getByRole('link', { name: 'Documentation of providers' }).click();
    await page.locator('h2#providers').waitFor();
  });

  test('show the configuration where a link names a tab that is not there', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=gone');
    await page.getByRole('tab', { name: 'Configuration', selected: true }).waitFor();
    await page.getByText('server.port').waitFor();
  });

  test('find a setting by its value, and show hundreds of models when they are asked for', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await page.route('**/admin/v1/config', async (route) => {
      const json = await (await route.fetch()).json();
      const many = Array.from({ length: 2_000 }, (_, at) => `models.many-${at}.tier`);
      const settings = [...json.settings, ...many.map((path) => ({ path, value: `gold-${path}`, from: 'set' }))];
      await route.fulfill({ json: { ...json, settings } });
    });
    await page.goto('/dashboard/settings');
    await page.getByLabel('Find by name or value').fill('GOLD-models.many-19');
    await page.waitForURL(/text=GOLD/);
    const names = page.locator('dt');
    await page.getByRole('button', { name: 'Show 11 more of models' }).click();
    await names.nth(110).waitFor();
    assert.equal(await names.last().innerText(), 'models.many-1999.tier');
    await page.getByLabel('Find by name or value').fill('many-1999');
    await page.waitForURL(/text=many-1999/);
    assert.deepEqual(await names.allInnerTexts(), ['models.many-1999.tier']);
  });

  test('check a file, and say where it is wrong', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=check');
    await page.getByLabel('culvert.yaml').fill('server:\n  prot: 4141\n');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    const line = page.getByRole('listitem').filter({ hasText: 'prot' });
    await line.waitFor();
    assert.match(await line.innerText(), /2:3/);
    assert.match(await line.innerText(), /did you mean/);
  });

  test('make an operator: the server’s message stands at its field, the key is shown once, the audit log has it', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=operators');
    await page.getByRole('button', { name: 'Create an operator' }).first().click();
    const name = page.getByLabel('Name');
    await name.fill('admin');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Expected another name than').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await name.fill('Lena');
    await page.getByLabel('Accounts').fill('atlas, nobody');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('There is no account').waitFor();
    assert.equal(await page.getByLabel('Accounts').getAttribute('aria-invalid'), 'true');
    await page.getByRole('button', { name: 'Remove nobody' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const key = await page.getByRole('dialog', { name: 'Key of Lena' }).locator('pre').innerText();
    for (const stray of ['Escape', 'Enter', ' ']) await page.keyboard.press(stray);
    assert.ok(await page.getByRole('dialog', { name: 'Key of Lena' }).isVisible(), 'no stray key loses a secret');
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('cell', { name: 'Lena', exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByText('operator.create').waitFor();
    await page.getByRole('button', { name: 'Show' }).first().click();
    const change = page.getByRole('dialog');
    await change.getByText('Lena').first().waitFor();
    assert.ok(!(await change.innerText()).includes(key));
  });

  test('find in the audit log what somebody did to a key, and leave the filter with the tab', async (t) => {
    const made = await gateway.admin('/keys', { method: 'POST', body: { account: 'northwind', name: 'audited' } });
    const { id } = (await made.json()) as { id: string };
    await gateway.admin(`/keys/${id}/revoke`, { method: 'POST', body: {} });
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'audited-later' } });
    const page = await openPage(t, gateway, `/dashboard/keys/${id}`);
    const rows = page.getByRole('region', { name: 'Audit log' }).locator('tbody tr');
    const actions = rows.locator('code');
    await page.getByRole('link', { name: 'Changes' }).click();
    await page.waitForURL(/action=key&subject=/);
    await settled(page);
    assert.deepEqual(await actions.allInnerTexts(), ['key.revoke', 'key.create']);
    await page.getByLabel('Action', { exact: true }).fill('key.create');
    await page.keyboard.press('Enter');
    await rows.nth(1).waitFor({ state: 'detached' });
    assert.deepEqual(await actions.allInnerTexts(), ['key.create']);
    await page.getByLabel('Operator', { exact: true }).fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No change matches.').waitFor();
    await page.getByRole('tab', { name: 'Doctor' }).click();
    await page.waitForURL((url) => url.search === '?tab=doctor');
  });

  test('list alerts and notices that were sent, and say why one did not arrive', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const notify = { at: [0.1], webhook: `http://127.0.0.1:${await closedPort()}/hook`, secret: 'x'.repeat(32) };
    const own = await startGateway(t, {
      ...overUpstreams(upstream.url),
      plans: { default: { rpm: 'off', windows: { '5h': 10 }, notify } },
    });
    const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
    await (await own.fetch('/v1/chat/completions', { json })).text();
    const page = await openPage(t, own, '/dashboard/settings?tab=alerts');
    const row = page.getByRole('row').filter({ hasText: 'The account dev used 10% of 5h.' });
    await row.getByText('waiting').waitFor();
    await until('the first try has failed', async () => {
      const reason = await row.getByText('waiting').getAttribute('title');
      return reason?.includes('127.0.0.1') === true;
    });
    await row.getByRole('button', { name: 'Show' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The next try is at').waitFor();
    assert.match(await dialog.locator('pre').innerText(), /"type": "quota.threshold"/);
  });

  test('end the session of another browser', async (t) => {
    const another = await openPage(t, gateway, '/account', { login: { key: gateway.keys['lumen/reader'] } });
    const page = await openPage(t, gateway, '/dashboard/settings?tab=sessions');
    await settled(page);
    const here = page.getByRole('row').filter({ hasText: 'this browser' });
    assert.equal(await here.count(), 1);
    await here.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('dialog', { name: 'Log yourself out?' }).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('row').filter({ hasText: 'lumen/reader' }).getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('row').filter({ hasText: 'lumen/reader' }).waitFor({ state: 'detached' });
    const answer = await another.context().request.get('/dashboard/session');
    assert.equal((await answer.json()).kind, 'nobody');
  });

  test('download a backup, which opens and holds what was made', async (t) => {
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'saved', name: 'Saved for later' } });
    const page = await openPage(t, gateway, '/dashboard/settings?tab=backup');
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download a backup' }).click();
    const download = await downloading;
    assert.match(download.suggestedFilename(), /^culvert-backup-\d{4}-\d\d-\d\d\.gz$/);
    const lines = gunzipSync(readFileSync(await download.path()))
      .toString('utf8')
      .trimEnd()
      .split('\n');
    assert.ok(lines.some((line) => line.includes('Saved for later')));
    assert.equal(JSON.parse(lines.at(-1)!).end, true, 'it is whole');
    await page.getByText(/^The backup was downloaded: /).waitFor();
  });

  test('say why there is no backup, and that one that breaks off is not saved', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=backup');
    const message = 'Another backup is being made or read. Only one runs at a time; retry when it has ended.';
    const json = { error: { type: 'conflict', message } };
    await page.route('**/admin/v1/backup', (route) => route.fulfill({ status: 409, json }));
    await page.getByRole('button', { name: 'Download a backup' }).click();
    await page.getByRole('alert').getByText(message).waitFor();
    const cut = createServer((_, response) => response.write('begun', () => response.destroy())).listen(0);
    t.after(() => cut.close());
    const { port } = cut.address() as AddressInfo;
    await page.route('**/admin/v1/backup', (route) => route.continue({ url: `http://127.0.0.1:${port}` }));
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').getByText('Nothing was saved').waitFor();
  });

  test('offer a backup to owners alone', async (t) => {
    const made = await gateway.admin('/operators', { method: 'POST', body: { name: 'adam', role: 'admin' } });
    const { key } = (await made.json()) as { key: string };
    const page = await openPage(t, gateway, '/dashboard/settings', { login: { admin_key: key } });
    await page.getByRole('tab', { name: 'Operators' }).waitFor();
    assert.equal(await page.getByRole('tab', { name: 'Backup' }).count(), 0);
  });

  test('say what the doctor finds', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/settings?tab=doctor');
    await settled(page);
    assert.ok((await page.getByRole('main').getByRole('listitem').count()) > 3);
  });
});
