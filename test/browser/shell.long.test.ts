import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromiumMissing } from '../chromium.ts';
import { followTo, openPage, settled, shoot } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 2, perDay: 60 });
const firstLoadMaxBytes = 200_000;
const built = fileURLToPath(new URL('../../web/dist/', import.meta.url));

suite('around every page', { skip }, () => {
  test('the first load is at most 200 KB, gzipped', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    await page.locator('canvas').first().waitFor();
    const loaded = await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
    const files = new Set(['index.html']);
    for (const url of loaded) {
      const [, name] = /\/dashboard\/(.*\.\w+)$/.exec(url) ?? [];
      if (name !== undefined) files.add(name);
    }
    const bytes = [...files].reduce((sum, name) => sum + statSync(`${built}${name}.gz`).size, 0);
    assert.ok(files.size > 3, 'scripts and styles are among them');
    assert.ok(bytes <= firstLoadMaxBytes, `${bytes} bytes of ${[...files].join(', ')}`);
  });

  test('the title of the window begins with what is open in the page', async (t) => {
    const answer = await gateway.admin('/requests?limit=1');
    const { data } = (await answer.json()) as { data: { id: string }[] };
    const id = data[0]!.id;
    const page = await openPage(t, gateway, '/dashboard/settings');
    for (const [path, title] of [
      ['settings', 'Configuration · Settings'],
      ['settings?tab=audit', 'Audit log · Settings'],
      ['jobs', 'Batches · Batches and files'],
      ['jobs?view=files', 'Files · Batches and files'],
      ['jobs?view=toString', 'Batches · Batches and files'],
      ['tools?tool=map', 'Map · Web tools'],
      ['vectors?collection=handbook&tab=map', 'Map · handbook'],
      ['playground?mode=images', 'Images · Playground'],
      ['reference?operation=GET+/admin/v1/keys', 'GET /admin/v1/keys · API reference'],
      [`requests/${id}`, `${id} · Request`],
      ['requests', 'Requests'],
    ] as const) {
      await followTo(page, `/dashboard/${path}`);
      await page.waitForFunction(`document.title === ${JSON.stringify(`${title} · Culvert`)}`, undefined, {
        timeout: 5_000,
      });
    }
  });

  test('everything is a few keys away', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('usa');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor();
    await page.keyboard.press('/');
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Request id');
    await page.keyboard.type('g o');
    assert.equal(await page.getByLabel('Request id').inputValue(), 'g o', 'typing is not a shortcut');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('Ctrl K finds what has a page, by its name or its account, and tabs of settings', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    const cases = [
      ['northwi', /^northwind Account/, 'northwind'],
      ['crm', /^crm Key, northwind/, 'crm'],
      ['priva', /^private Model/, 'private'],
      ['groq', /^groq Provider/, 'groq'],
      ['trial', /^trial Plan/, 'trial'],
      ['user-3', /^Requests of the end user user-3/, 'Requests'],
      ['audit', /^Settings: Audit log/, 'Settings'],
    ] as const;
    for (const [text, option, title] of cases) {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      const found = page.getByRole('option', { name: option });
      await found.waitFor();
      if (text === 'crm') await shoot(page, 'palette');
      await found.click();
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
    }
    assert.match(page.url(), /tab=audit/);
    const refused: string[] = [];
    page.on('response', (answer) => answer.ok() || refused.push(answer.url()));
    await page.keyboard.press('Control+k');
    await page.keyboard.insertText('a sentence that somebody pasted here '.repeat(10));
    await page.waitForResponse((answer) => answer.url().includes('/admin/v1/keys?'));
    assert.deepEqual(refused, [], 'a long text finds nothing, and is no mistake');
  });

  test('a key is found by its account and name, its prefix or its secret, which comes into no address', async (t) => {
    const made = await gateway.admin('/keys', { method: 'POST', body: { account: 'northwind', name: 'leaked' } });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const page = await openPage(t, gateway, '/dashboard/keys');
    await settled(page);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    for (const text of ['northwind/leak', `sk-cv-${id}`, key]) {
      await page.keyboard.press('Control+k');
      await page.getByRole('listbox').waitFor();
      await page.keyboard.insertText(text);
      await page.getByRole('option', { name: /^leaked Key, northwind/ }).waitFor();
      if (text === key) assert.equal(await page.getByRole('option', { name: /end user/ }).count(), 0);
      await page.keyboard.press('Escape');
      const search = page.getByRole('searchbox');
      await search.fill(text);
      await search.press('Enter');
      await page.waitForURL(/text=/);
      await page.getByRole('link', { name: 'leaked' }).waitFor();
      await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
      await search.fill('');
      await page.waitForURL((url) => url.search === '');
    }
    await page.goto('/dashboard/requests?range=7d');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByLabel('Key id', { exact: true }).fill(key);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('key') === id);
    assert.deepEqual(
      sent.filter((url) => url.includes(key)),
      [],
    );
  });

  test('a key of another service that is pasted into Ctrl K is sent nowhere, and leads nowhere', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/keys');
    await settled(page);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.keyboard.press('Control+k');
    for (const begins of ['AIza', 'gsk_', 'hf_', 'ghp_', 'xai-', 'sk-ant-api03-', 'eyJ', 'Authorization: Bearer hf_']) {
      const pasted = begins + 'x9F2q7Lm'.repeat(5);
      await page.getByRole('combobox').fill(pasted);
      await page.getByText('Nothing matches.').waitFor();
      await page.keyboard.press('Enter');
    }
    await page.getByRole('combobox').fill('hf-inference-providers');
    await page.getByRole('option', { name: 'Requests of the end user hf-inference-providers' }).waitFor();
    await page.waitForRequest((request) => request.url().includes('text=hf-inference-providers'));
    assert.match(page.url(), /keys$/);
    assert.deepEqual(
      sent.filter((url) => url.includes('x9F2q7Lm')),
      [],
    );
  });

  test('Ctrl K finds a model by its name, however many have a target of that name', async (t) => {
    const definition = { targets: ['openai/zebra-9'] };
    for (let at = 1; at <= 8; at += 1)
      await gateway.admin('/models', { method: 'POST', body: { id: `a-${at}`, ...definition } });
    await gateway.admin('/models', { method: 'POST', body: { id: 'zebra', ...definition } });
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('zebra');
    await page.getByRole('option', { name: /^zebra Model/ }).waitFor();
  });

  test('a note goes by itself, later the more there is to read, and no more than three are shown', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/usage');
    await settled(page);
    await page.clock.install();
    const notes = page.locator('output > div');
    const refusal = 'The operator has a role that may not see this. '.repeat(3);
    await page.route('**/usage.csv*', (route) => route.fulfill({ status: 403, json: { error: { message: refusal } } }));
    await page.getByRole('button', { name: 'CSV', exact: true }).click();
    await notes.getByText(refusal.trim()).waitFor();
    for (let copies = 1; copies <= 4; copies += 1) {
      await page.getByRole('button', { name: 'Table options' }).first().click();
      await page.getByRole('menuitem', { name: 'Copy link to this view' }).click();
      await notes
        .getByText('The link is copied.')
        .nth(Math.min(copies, 3) - 1)
        .waitFor();
    }
    assert.equal(await notes.count(), 3);
    await page.clock.runFor(5_000);
    assert.equal(await notes.count(), 0);
    await page.getByRole('button', { name: 'CSV', exact: true }).click();
    await notes.getByText(refusal.trim()).waitFor();
    await page.clock.runFor(9_000);
    assert.equal(await notes.count(), 1, 'there was no time to read it');
    await page.clock.runFor(5_000);
    assert.equal(await notes.count(), 0);
  });

  test('what the arrow keys point at is in sight', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    await page.keyboard.press('Control+k');
    const pointed = page.getByRole('option', { selected: true });
    await pointed.waitFor();
    await page.keyboard.press('ArrowUp');
    assert.equal(await pointed.innerText(), 'Log out', 'the last one');
    const [option, list] = [await pointed.boundingBox(), await page.getByRole('listbox').boundingBox()];
    assert.ok(option!.y + option!.height <= list!.y + list!.height, 'it is not below the visible part');
  });

  test('a dialog begins at its first field, and gives the focus back', async (t) => {
    await gateway.admin('/operators', { method: 'POST', body: { name: 'Mia', role: 'viewer', accounts: null } });
    const page = await openPage(t, gateway, '/dashboard/keys');
    await page.getByRole('button', { name: 'New key' }).press('Enter');
    await page.locator('[name=account]:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('button:focus', { hasText: 'New key' }).waitFor();
    await page.goto('/dashboard/settings?tab=operators');
    const menu = page.getByRole('button', { name: 'Actions for Mia' });
    await menu.press('Enter');
    await page.getByRole('menuitem', { name: 'Edit' }).press('Enter');
    await page.locator('[name=name]:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('[aria-label="Actions for Mia"]:focus').waitFor();
  });

  test('a request is found by its id from anywhere', async (t) => {
    const answer = await gateway.admin('/requests?limit=1');
    const [{ id }] = ((await answer.json()) as { data: [{ id: string }] }).data;
    const page = await openPage(t, gateway, '/dashboard/settings');
    await settled(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    assert.ok(page.url().endsWith(id));
  });

  test('the theme is chosen, and kept', async (t) => {
    const page = await openPage(t, gateway, '/dashboard', { scheme: 'light' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'admin owner' }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    await settled(page);
    assert.equal(await ground(), dark);
  });

  test('an operator sees what its role may see', async (t) => {
    const made = await gateway.admin('/operators', { method: 'POST', body: { name: 'olga', role: 'billing' } });
    const { key } = (await made.json()) as { key: string };
    const page = await openPage(t, gateway, '/dashboard', { login: { admin_key: key } });
    await settled(page);
    const places = await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link').allInnerTexts();
    assert.ok(places.includes('Usage'));
    for (const hidden of ['Requests', 'Settings']) assert.ok(!places.includes(hidden), hidden);
    await page.goto('/dashboard/requests');
    await page.getByText('which may not see requests').waitFor();
    assert.equal(await page.getByLabel('Loading', { exact: true }).count(), 0, 'a chart that never comes');
  });

  test('a viewer does not see pages that call for a key, and is told why where an address leads there', async (t) => {
    const made = await gateway.admin('/operators', { method: 'POST', body: { name: 'vera', role: 'viewer' } });
    const { key } = (await made.json()) as { key: string };
    // With 'faults', nothing may be asked for that is refused.
    const page = await openPage(t, gateway, '/dashboard', { login: { admin_key: key }, refusals: 'faults' });
    await settled(page);
    const places = await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link').allInnerTexts();
    assert.ok(places.includes('Requests'));
    for (const [title, path] of [
      ['Playground', 'playground'],
      ['Vectors', 'vectors'],
      ['Web tools', 'tools'],
      ['API reference', 'reference?operation=POST+/v1/embeddings'],
    ] as const) {
      assert.equal(places.includes(title), title === 'API reference', title);
      await page.goto(`/dashboard/${path}`);
      await page.getByText('which may not make calls. These roles may: owner, admin, member.').waitFor();
    }
  });

  test('on a phone every page is in the drawer', async (t) => {
    const page = await openPage(t, gateway, '/dashboard', { size: 'phone' });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  test('a page that is not there says so', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/nowhere');
    await page.getByText('There is no such page').waitFor();
  });
});
