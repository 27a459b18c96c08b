import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { chromiumMissing } from '../chromium.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertLooksRight, openPage, settled } from './open-page.ts';

/* Issue 30 §3: the runs of a key on its page, and amounts that warn too late in its form. */

const skip = chromiumMissing;
const gateway = skip ? null! : await start();

async function start(): Promise<TestGateway> {
  const upstream = await startUpstream();
  after(() => upstream.close());
  return startGateway(
    { after: after as never },
    {
      providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
      models: { smart: { targets: [{ provider: 'up', model: 'mock/ok', price: { input: 3, output: 15 } }] } },
    },
  );
}

test('the page of a key lists its runs, and its form says which amounts never warn', { skip }, async (t) => {
  await callAdmin(gateway, 'POST', '/accounts', { id: 'atlas' });
  const made = await callAdmin<{ id: string; key: string }>(gateway, 'POST', '/keys', { account: 'atlas', name: 'ci' });
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const run = await gateway.fetch('/v1/keys/ephemeral', { ...as(made.body.key), json: { minutes: 5 } });
  const { key } = (await run.json()) as { key: string };
  const json = { model: 'smart', messages: [{ role: 'user', content: 'Hi' }] };
  for (let i = 0; i < 3; i++) await (await gateway.fetch('/v1/chat/completions', { ...as(key), json })).text();

  const page = await openPage(t, gateway, `/dashboard/keys/${made.body.id}`);
  const runs = page.getByRole('region', { name: 'Runs' }).locator('tbody tr');
  await runs.first().waitFor();
  assert.equal(await runs.count(), 1);
  await assertLooksRight(page, 'key-runs');

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const budget = page.getByRole('group', { name: 'Budget, USD' }).getByRole('textbox').first();
  await budget.fill('20');
  const warns = page.getByRole('group', { name: 'Warn at, USD' }).getByRole('textbox').first();
  await warns.fill('25');
  await page.getByText('Nobody is warned at 25 USD in 5 hours, because the limit is 20 USD.').waitFor();
  await assertLooksRight(page, 'key-late-warning');
  await warns.fill('15');
  await page.getByText('Nobody is warned').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard' }).click();

  await runs.first().click();
  await settled(page);
  assert.match(page.url(), /session=run/);
  await page.getByText(/^run:/).first().waitFor();
});
