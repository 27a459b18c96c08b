import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, suite, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { assertAccessible, assertLooksRight, followTo, openPage, settled } from './open-page.ts';
import { type SeededKey, startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 3, perDay: 150 });

suite('the requests', { skip }, () => {
  test('are filtered by the URL, which can be shared', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests?account=lumen');
    await settled(page);
    const accounts = page.locator('tbody td:nth-child(4)');
    assert.ok((await accounts.count()) > 3);
    for (const text of await accounts.allInnerTexts()) assert.match(text, /^lumen\//);
    await page.getByLabel('Outcome').selectOption('failed');
    await page.waitForURL(/class=failed/);
    const shared = await openPage(t, gateway, page.url());
    await settled(shared);
    assert.equal(await shared.getByLabel('Outcome').inputValue(), 'failed');
    for (const text of await shared.locator('tbody td:nth-child(2)').allInnerTexts()) assert.notEqual(text, '200');
    await shared.getByRole('button', { name: 'Clear' }).click();
    await shared.waitForURL(/requests$/);
  });

  test('show each filter that an address has, on a phone and on the page that is open', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests', { size: 'phone' });
    const account = page.getByLabel('Account', { exact: true });
    assert.equal(await account.isVisible(), false);
    await followTo(page, '/dashboard/requests?account=atlas');
    assert.equal(await account.inputValue(), 'atlas');
    assert.ok(await account.isVisible());
    const empty = async (field: typeof account) => {
      await field.fill('');
      await page.waitForURL(/requests$/);
      await settled(page);
      assert.ok(await field.isVisible(), 'a field that is emptied stays');
    };
    await empty(account);
    await followTo(page, '/dashboard/requests?user=user-1');
    const user = page.getByLabel('User', { exact: true });
    assert.equal(await user.inputValue(), 'user-1');
    await empty(user);
  });

  test('appear as they end, and stop when they are told to', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests');
    await settled(page);
    await ask('somebody new');
    await page.getByText('somebody new').waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByRole('button', { name: 'Go live' }).waitFor();
    await ask('somebody later');
    await page.waitForTimeout(2_500);
    assert.equal(await page.getByText('somebody later').count(), 0);
    assert.equal(await page.getByText('somebody new').count(), 1, 'what was shown stays');
  });

  test('of the next page are those behind the shown ones, however many ended meanwhile', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests');
    await settled(page);
    for (let at = 0; at < 5; at += 1) await ask(`meanwhile ${at}`);
    await page.getByText('meanwhile 4').waitFor();
    const ids = () =>
      page.locator('tbody a').evaluateAll((all) => all.map((one) => (one as never as { href: string }).href));
    const last = (await ids()).at(-1)!;
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('Page 2').waitFor();
    await settled(page);
    const [next] = await ids();
    const answer = await gateway.admin('/requests?class=any&limit=100');
    const all = ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    const placeOf = (address: string) => all.findIndex((id) => address.endsWith(id));
    assert.equal(placeOf(next!), placeOf(last) + 1);
  });

  test('say on a phone, too, why one was refused before its model was read', async (t) => {
    const busy = await startGateway(t, { plans: { default: { rpm: 1, windows: 'off' } } });
    const json = { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] };
    for (let at = 0; at < 2; at += 1) await (await busy.fetch('/v1/chat/completions', { json })).text();
    await workersKnow();
    const page = await openPage(t, busy, '/dashboard/requests?status=429', { size: 'phone' });
    await page.locator('tbody').getByText('quota exceeded').filter({ visible: true }).waitFor();
    await page.locator('tbody a').click();
    await page.waitForURL(/requests\/req_/);
    // The list has a heading, too.
    await page.locator('dl').first().waitFor();
    const facts = (await page.locator('dl').allInnerTexts()).join(' ');
    assert.match(facts.replaceAll(/\s+/g, ' '), /Endpoint chat Model –/);
  });

  test('page on the server, and go back', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests?until=1m');
    await settled(page);
    const first = await page.locator('tbody a').first().getAttribute('href');
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('Page 2').waitFor();
    assert.equal(await page.locator(`tbody a[href="${first}"]`).count(), 0);
    const second = await page.locator('tbody a').first().getAttribute('href');
    await page.locator('tbody tr').first().click();
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    await page.goBack();
    await page.getByText('Page 2').waitFor();
    await page.locator(`tbody a[href="${second}"]`).waitFor();
    await page.getByLabel('Outcome').selectOption('2xx');
    await page.getByText('Page 1').waitFor();
    await page.getByLabel('Outcome').selectOption('');
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('button', { name: 'Previous page' }).click();
    await page.getByText('Page 1').waitFor();
    assert.equal(await page.locator('tbody a').first().getAttribute('href'), first);
  });

  test('open as a timeline of attempts, with why another one was asked', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests?model=private&class=failed');
    await settled(page);
    await page.locator('tbody tr').first().click();
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    assert.equal(await page.getByText('answered 503: out of memory').count(), await page.locator('ol > li').count());
    await page.getByText('upstreams failed').waitFor();
  });

  test('that were refused are in any outcome, and say why, two clicks from the plan that refused them', async (t) => {
    const refused = await gateway.fetch('/v1/embeddings', {
      headers: { authorization: `Bearer ${gateway.keys['maria.jensen/laptop']}` },
      json: { model: 'embed', input: ['Hello'] },
    });
    assert.equal(refused.status, 403);
    const page = await openPage(t, gateway, '/dashboard/requests?account=maria.jensen&model=embed');
    await page.locator('tbody tr').first().click();
    const why = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Why it was refused' }) });
    await why.getByText("'embed'").waitFor();
    assert.equal(await page.getByText(/unknown/).count(), 0, 'it cost nothing, which is known');
    await assertLooksRight(page, 'refused');
    await why.getByRole('link', { name: 'Plan trial' }).click();
    await page.getByRole('heading', { level: 1, name: 'trial' }).waitFor();
  });

  test('show attempts beside each other where they ran so, and those of earlier versions', async (t) => {
    const attempts = await attemptsOf((all) => all.some((one) => one.class === 'cancelled' && one.startMs !== null));
    const page = await openPage(t, gateway, `/dashboard/requests/${attempts.id}`);
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    assert.equal(attempts.list.length, 2);
    const [silent, answered] = await Promise.all(
      [0, 1].map(async (at) => (await page.locator(`ol > li >> nth=${at}`).locator('[style]').first().boundingBox())!),
    );
    assert.ok(answered!.x > silent!.x + 20, 'the second began later');
    assert.ok(answered!.x < silent!.x + silent!.width, 'while the first still ran');
    await page.getByText('started after 1.2 s').waitFor();
    const earlier = await attemptsOf((all) => all.length > 0 && all[0]!.startMs === null);
    await page.goto(`/dashboard/requests/${earlier.id}`);
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    assert.equal(await page.locator('ol > li').count(), earlier.list.length);
    assert.equal(await page.getByText('started after').count(), 0);
  });

  test('show their bodies where they are kept, and run again in the playground', async (t) => {
    const messages = [
      { role: 'system', content: 'Answer in Danish.' },
      { role: 'user', content: 'Good morning' },
      { role: 'assistant', content: 'Godmorgen' },
      { role: 'user', content: 'And good night?' },
    ];
    await ask('night owl', {}, { key: 'northwind/crm', json: { messages, temperature: 0.5 } });
    const page = await openPage(t, gateway, '/dashboard/requests?user=night+owl');
    await page.locator('tbody tr').first().click();
    await page.getByText('Answer in Danish.').first().waitFor();
    await page.getByRole('button', { name: 'Run again in the playground' }).click();
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
    await page.getByText('Godmorgen').waitFor();
    assert.equal(await page.locator('textarea').filter({ hasText: 'And good night?' }).count(), 1);
    assert.equal(await page.getByText('And good night?').count(), 1, 'it is the draft, not sent yet');
    assert.equal(await page.getByText('Answer in Danish.').count(), 1);
  });

  test('are exported with the filters of the page', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/requests?account=atlas');
    await page.getByRole('button', { name: 'Export' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'CSV' }).click();
    const file = await (await downloading).path();
    const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\r\n');
    const account = head!.split(',').indexOf('account');
    assert.ok(lines.length > 10);
    for (const line of lines) assert.equal(line.split(',')[account], 'atlas');
    const message = 'The database cannot be used now.';
    await page.route('**/requests.jsonl*', (route) => route.fulfill({ status: 503, json: { error: { message } } }));
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: 'JSON lines' }).click();
    await page.getByText(message).waitFor();
  });

  test('show what callers wrote as text', async (t) => {
    const payload = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>';
    await ask(payload, { 'x-culvert-tag': '"><svg onload=window.ran=1>' });
    const page = await openPage(t, gateway, `/dashboard/requests?user=${encodeURIComponent(payload)}`);
    await settled(page);
    await page.getByText(payload).first().waitFor();
    await page.locator('tbody tr').first().click();
    await page.getByRole('heading', { name: 'Route' }).waitFor();
    await page.getByText('"><svg onload=window.ran=1>').waitFor();
    await page.goto('/dashboard/usage?group_by=user&from=24h');
    await page.getByRole('cell', { name: payload }).waitFor();
    assert.equal(await page.evaluate('window.ran'), undefined);
  });

  test('without an account, a key or a model have no empty links', async (t) => {
    const json = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] };
    await gateway.fetch('/v1/chat/completions', { headers: { authorization: 'Bearer sk-cv-nobody' }, json });
    const headers = { authorization: `Bearer ${gateway.keys['lumen/reader']}` };
    await gateway.fetch('/v1/vectors/collections', { headers, json: { name: 'notes', vector_size: 3 } });
    await workersKnow();
    const page = await openPage(t, gateway, '/dashboard/requests?status=401');
    await page.locator('tbody a').first().click();
    await page.waitForURL(/requests\/req_/);
    await settled(page);
    await assertAccessible(page);
    await page.goto('/dashboard?range=24h');
    await page.getByText('no model', { exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'no model' }).count(), 0, 'a link to requests of all models');
    await assertAccessible(page);
  });
});

type Attempts = { class: string; startMs: number | null }[];

/** A request of the past whose attempts are so. */
async function attemptsOf(fits: (attempts: Attempts) => boolean): Promise<{ id: string; list: Attempts }> {
  const lines = (await (await gateway.admin('/requests.jsonl?from=7d')).text()).trim().split('\n');
  for (const line of lines) {
    const { id, route } = JSON.parse(line) as { id: string; route: { attempts: Attempts } };
    if (fits(route.attempts)) return { id, list: route.attempts };
  }
  assert.fail('no such request was seeded');
}

async function ask(
  user: string,
  headers: Record<string, string> = {},
  { key = 'atlas/production', json = {} }: { key?: SeededKey; json?: object } = {},
): Promise<void> {
  const answer = await gateway.fetch('/v1/chat/completions', {
    headers: { authorization: `Bearer ${gateway.keys[key]}`, ...headers },
    json: { model: 'smart', user, messages: [{ role: 'user', content: 'Hello' }], ...json },
  });
  assert.equal(answer.status, 200);
  await answer.text();
}
